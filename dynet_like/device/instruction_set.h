// The instruction set that the CPU's kernels use. It determines the bits of results.
#pragma once

#include <string>

namespace dynet_like {

/// For example "AVX2", "AVX3" (AVX-512) or "NEON".
std::string instruction_set();

}  // namespace dynet_like
