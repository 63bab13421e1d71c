// Included first by kernels that are built for the CPU: it replaces these functions by those of
// libm.cpp, which are as inaccurate as a GPU's.
#pragma once

#define DYNET_LIKE_FUNCTION(name)                                                 \
  extern "C" float name##f(float) noexcept __asm__("dynet_like_host_" #name "f"); \
  extern "C" double name(double) noexcept __asm__("dynet_like_host_" #name);
DYNET_LIKE_FUNCTION(exp)
DYNET_LIKE_FUNCTION(expm1)
DYNET_LIKE_FUNCTION(log)
DYNET_LIKE_FUNCTION(log1p)
DYNET_LIKE_FUNCTION(tanh)
#undef DYNET_LIKE_FUNCTION
extern "C" float powf(float, float) noexcept __asm__("dynet_like_host_powf");
extern "C" double pow(double, double) noexcept __asm__("dynet_like_host_pow");
