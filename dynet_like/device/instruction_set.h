// The instruction set that the CPU's kernels use: bits are the same where it is the same.
#pragma once

#include <string>

namespace dynet_like {

/// Such as "AVX2", "AVX3" (AVX-512) or "NEON".
std::string instruction_set();

}  // namespace dynet_like
