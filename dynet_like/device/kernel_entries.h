// Tables of kernels: each source file of kernels returns those of its ops.
#pragma once

#include <string_view>
#include <vector>

#include "dynet_like/device/kernel.h"
#include "dynet_like/ops/families.h"

namespace dynet_like::detail {

struct KernelEntry {
  std::string_view op;
  Kernels kernels;
};

/// The kernels of an op: two function templates over the type of numbers and, if given, further
/// arguments.
#define DYNET_LIKE_KERNELS(forward, backward, ...)                                             \
  {                                                                                            \
    {forward<float __VA_OPT__(, ) __VA_ARGS__>, forward<double __VA_OPT__(, ) __VA_ARGS__>}, { \
      backward<float __VA_OPT__(, ) __VA_ARGS__>, backward<double __VA_OPT__(, ) __VA_ARGS__>  \
    }                                                                                          \
  }

}  // namespace dynet_like::detail
