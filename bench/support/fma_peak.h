// The speed of multiplying and adding on one core: the yardstick for products.
#pragma once

namespace dynet_like::bench {

/// Single-precision GFLOP/s of fused multiply-adds in registers, the best of a few short runs.
double measure_fma_peak();

}  // namespace dynet_like::bench
