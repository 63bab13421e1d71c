// Measures the peak of fused multiply-adds, with the widest vectors of this machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/support/fma_peak.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <chrono>

#include "bench/support/fma_peak.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Ten independent chains hide the latency of an addition. Returns GFLOP/s. They begin with
// different numbers, since a compiler would keep only one of equal chains.
double run_fma_chains(float factor) {
  constexpr long kSteps = 2'000'000;
  const hn::ScalableTag<float> tag;
  const auto x = hn::Set(tag, factor), y = hn::Set(tag, 1e-9f);
  const auto start = [&](float value) HWY_ATTR { return hn::Set(tag, value); };
  auto a = start(1), b = start(2), c = start(3), d = start(4), e = start(5), f = start(6);
  auto g = start(7), h = start(8), i = start(9), j = start(10);
  const auto begin = std::chrono::steady_clock::now();
  for (long step = 0; step < kSteps; ++step) {
    a = hn::MulAdd(a, x, y), b = hn::MulAdd(b, x, y), c = hn::MulAdd(c, x, y);
    d = hn::MulAdd(d, x, y), e = hn::MulAdd(e, x, y), f = hn::MulAdd(f, x, y);
    g = hn::MulAdd(g, x, y), h = hn::MulAdd(h, x, y), i = hn::MulAdd(i, x, y);
    j = hn::MulAdd(j, x, y);
  }
  const auto end = std::chrono::steady_clock::now();
  const auto sum = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, d)),
                           hn::Add(hn::Add(e, f), hn::Add(hn::Add(g, h), hn::Add(i, j))));
  volatile float keep = hn::GetLane(sum);
  static_cast<void>(keep);
  const double operations = 2.0 * 10 * static_cast<double>(kSteps * hn::Lanes(tag));
  return operations / std::chrono::duration<double>(end - begin).count() / 1e9;
}

}  // namespace dynet_like::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::bench {

HWY_EXPORT(run_fma_chains);

double measure_fma_peak() {
  double best = 0;
  for (int run = 0; run < 20; ++run) {
    best = std::max(best, HWY_DYNAMIC_DISPATCH(run_fma_chains)(0.999f));
  }
  return best;
}

}  // namespace dynet_like::bench
#endif
