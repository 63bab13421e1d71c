// Checks whether the gradients of an update may be used, and finds the factor that clips them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dynet_like/params/gradients.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like::detail {

/// Checks one update after the other.
class UpdateCheck {
 public:
  using Storages = std::span<const std::shared_ptr<ParameterStorage>>;

  UpdateCheck(const UpdateRule& rule, DType dtype) : rule_(rule), dtype_(dtype) {}

  /// Throws NumericError that names the first element that is too large, as
  /// Trainer::refuse_unusable.
  void refuse_unusable(const Gradients& gradients, Storages storages, double clip_threshold,
                       unsigned summands) const;

  /// Checks the gradients of an update. Returns the factor that clips them, or 1 if a device will
  /// find it while the program goes on. Throws NumericError, as above. `own_norm`: the norm to clip
  /// by, if it is not that of these gradients.
  double begin(const Gradients& gradients, Storages storages, double clip_threshold,
               std::optional<double> own_norm);
  /// The condition of all further passes; null if `begin` knew the answer.
  const GradientCheck* condition() const { return device_decides_ ? device_check_.get() : nullptr; }
  /// Waits for the answer. Returns whether gradients were clipped; throws NumericError, as above.
  bool finish();

 private:
  /// The parameter that the numbers belong to, and the rows of a table.
  struct Checked {
    std::shared_ptr<ParameterStorage> storage;
    std::size_t count, first_row;
    bool is_of_rows;
  };

  double moment_limit() const;
  double limit(double clip_threshold) const;
  bool ask_device(const Gradients& gradients, Storages storages, double clip_threshold);

  const UpdateRule& rule_;
  const DType dtype_;
  std::unique_ptr<GradientCheck> device_check_;
  bool device_decides_ = false, is_clipped_ = false;
  double limit_ = 0;  ///< the limit that the device was given
  std::vector<Checked> checked_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace dynet_like::detail
