// Sums over gradients: whether they are below a limit, their norm, and the clipping factor that
// updates use.
#pragma once

#include <memory>
#include <span>

#include "dynet_like/device/cuda/cuda_device.h"
#include "dynet_like/device/cuda/pieces.h"

namespace dynet_like::detail::cuda {

/// Sums that the host waits for.
class GradientSums {
 public:
  explicit GradientSums(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  bool all_below(DType dtype, std::span<const Stretch> stretches, double limit) const;
  double sum_of_squares(DType dtype, std::span<const Stretch> stretches) const;

 private:
  template <class Term>
  Verdict wait_for_verdict(DType dtype, std::span<const Stretch> stretches, Term term,
                           double limit) const;

  const std::shared_ptr<Shared> shared_;
};

std::unique_ptr<GradientCheck> make_gradient_check(std::shared_ptr<Shared> shared);
/// Where the device stores the result of such a check.
const Verdict* verdict_of(const GradientCheck& check);

}  // namespace dynet_like::detail::cuda
