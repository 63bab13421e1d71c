// Included first by kernels that are built for the CPU: it replaces these functions by those of
// libm.cpp, which are as inaccurate as a GPU's.
#pragma once

#define DYNET_LIKE_FUNCTION(name)                                                 \
  extern "C" float name##f(float) noexcept __asm__("dynet_like_host_" #name "f"); \
  extern "C" double name(double) noexcept __asm__("dynet_like_host_" #name);
DYNET_LIKE_FUNCTION(acos)
DYNET_LIKE_FUNCTION(acosh)
DYNET_LIKE_FUNCTION(asin)
DYNET_LIKE_FUNCTION(asinh)
DYNET_LIKE_FUNCTION(atan)
DYNET_LIKE_FUNCTION(atanh)
DYNET_LIKE_FUNCTION(cos)
DYNET_LIKE_FUNCTION(cosh)
DYNET_LIKE_FUNCTION(erf)
DYNET_LIKE_FUNCTION(erfc)
DYNET_LIKE_FUNCTION(exp)
DYNET_LIKE_FUNCTION(expm1)
DYNET_LIKE_FUNCTION(log)
DYNET_LIKE_FUNCTION(log1p)
DYNET_LIKE_FUNCTION(sin)
DYNET_LIKE_FUNCTION(sinh)
DYNET_LIKE_FUNCTION(tan)
DYNET_LIKE_FUNCTION(tanh)
#undef DYNET_LIKE_FUNCTION
#define DYNET_LIKE_FUNCTION(name)                                                        \
  extern "C" float name##f(float, float) noexcept __asm__("dynet_like_host_" #name "f"); \
  extern "C" double name(double, double) noexcept __asm__("dynet_like_host_" #name);
DYNET_LIKE_FUNCTION(hypot)
DYNET_LIKE_FUNCTION(pow)
#undef DYNET_LIKE_FUNCTION
