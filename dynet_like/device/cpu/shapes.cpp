// Kernels that move elements: copies, concatenation, ranges.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/shapes.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/groups-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

template <class E>
void identity_forward(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    copy_elements(call.in[0].at<E>(i), call.out.at<E>(i), size);
  }
}

template <class E>
void identity_backward(const BackwardCall& call) {
  for_gradients<E>(call, 0, [&](std::size_t i, E* to, bool add) DYNET_LIKE_BODY {
    put_elements(call.dy.at<E>(i), to, call.type->output_size, add);
  });
}

// An item of input j fills `outer` blocks of the output, each `inner * n_j` elements long.
template <class E>
void concatenate_forward(const ForwardCall& call) {
  const unsigned d = call.type->attributes[0];
  const Axis whole(call.type->output, d);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* const out = call.out.at<E>(i);
    std::size_t offset = 0;
    for (std::size_t j = 0; j < call.type->inputs.size(); ++j) {
      const std::size_t block = whole.inner * call.type->inputs[j][d];
      const E* from = call.in[j].at<E>(i);
      for (std::size_t o = 0; o < whole.outer; ++o) {
        copy_elements(from + o * block, out + o * whole.inner * whole.n + offset, block);
      }
      offset += block;
    }
  }
}

template <class E>
void concatenate_backward(const BackwardCall& call) {
  const unsigned d = call.type->attributes[0];
  const Axis whole(call.type->output, d);
  std::size_t offset = 0;
  for (std::size_t j = 0; j < call.type->inputs.size(); ++j) {
    const std::size_t block = whole.inner * call.type->inputs[j][d];
    for_gradients<E>(call, j, [&](std::size_t i, E* to, bool add) DYNET_LIKE_BODY {
      const E* dy = call.dy.at<E>(i) + offset;
      for (std::size_t o = 0; o < whole.outer; ++o) {
        put_elements(dy + o * whole.inner * whole.n, to + o * block, block, add);
      }
    });
    offset += block;
  }
}

template <class E>
void pick_range_forward(const ForwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const std::size_t length = axis.inner * call.type->attributes[1];
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* from = call.in[0].at<E>(i) + axis.inner * call.integers[i];
    E* out = call.out.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, out += length) {
      copy_elements(from + o * axis.inner * axis.n, out, length);
    }
  }
}

// The zeros of a contribution are added, too, because -0 + 0 is 0.
template <class E>
HWY_INLINE void put_zeros(E* to, std::size_t n, bool add) {
  put_groups(n, to, add, []<class T>(std::size_t, std::size_t) DYNET_LIKE_BODY { return T(0); });
}

template <class E>
void pick_range_backward(const BackwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const std::size_t length = axis.inner * call.type->attributes[1];
  const std::size_t stride = axis.inner * axis.n;
  for_gradients<E>(call, 0, [&](std::size_t i, E* to, bool add) DYNET_LIKE_BODY {
    const std::size_t before = axis.inner * call.integers[i], after = before + length;
    const E* dy = call.dy.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, to += stride, dy += length) {
      put_zeros(to, before, add);
      put_groups(length, to + before, add,
                 [&]<class T>(std::size_t at, std::size_t count)
                     DYNET_LIKE_BODY { return T(0) + load_as<T>(dy + at, count); });
      put_zeros(to + after, stride - after, add);
    }
  });
}

std::vector<KernelEntry> shape_kernels() {
  return {{"identity", DYNET_LIKE_KERNELS(identity_forward, identity_backward)},
          {"concatenate", DYNET_LIKE_KERNELS(concatenate_forward, concatenate_backward)},
          {"pick_range", DYNET_LIKE_KERNELS(pick_range_forward, pick_range_backward)},
          {"transpose", cpu::transpose_kernels()}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
