// Kernels that compare with counts, in double throughout: large terms cancel out.
#include <cmath>

#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/ops/special_formulas.h"

namespace dynet_like {

namespace {

template <class E>
void poisson_forward(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    const double x = static_cast<double>(*call.in[0].at<E>(i)), count = call.integers[i];
    const double rate = std::exp(x);  // where it is infinite, nothing makes up for it
    const bool is_alone = count == 0 || std::isinf(rate);
    const double rest = is_alone ? 0 : formulas::special::log_gamma(count + 1) - count * x;
    static_cast<E*>(call.out)[i] = static_cast<E>(rate + rest);
  }
}
template <class E>
void poisson_backward(const BackwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const double x = static_cast<double>(*call.in[0].at<E>(i)), count = call.integers[i];
    const E result = *call.dy.at<E>(i) * static_cast<E>(std::exp(x) - count);
    *dx = call.dx[0].add[i] != 0 ? *dx + result : result;
  }
}

}  // namespace

std::span<const cpu::KernelEntry> cpu::count_kernels() {
  static const KernelEntry table[] = {{"poisson_loss",
                                       {{poisson_forward<float>, poisson_forward<double>},
                                        {poisson_backward<float>, poisson_backward<double>}}}};
  return table;
}

}  // namespace dynet_like
