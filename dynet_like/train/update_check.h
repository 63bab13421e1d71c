// Whether the gradients of an update may be used, and what clips them: asked of their device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/device/updates.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like::detail {

/// The check of one update after the other.
class UpdateCheck {
 public:
  using Storages = std::span<const std::shared_ptr<ParameterStorage>>;
  static constexpr const char* kFiniteMoments = "moments of their squares stay finite";

  /// Throws NumericError, which names the first element whose size is not below the limit, which
  /// may be infinity. `reason`: what is so below it.
  static void need_below(double limit, const Gradients& gradients, Storages storages,
                         const char* reason = kFiniteMoments);

  /// Asks a device that goes on meanwhile; false if theirs does not.
  bool begin(double limit, const Gradients& gradients, Storages storages, double clip_threshold);
  /// What passes may depend on from then on.
  const GradientCheck* condition() const { return check_.get(); }
  /// Waits for the answer. Returns whether gradients were clipped; throws NumericError, as above.
  bool finish();

 private:
  /// Which parameter numbers are of, and the rows of a table.
  struct Checked {
    std::shared_ptr<ParameterStorage> storage;
    std::size_t count, first_row;
    bool is_of_rows;
  };

  std::unique_ptr<GradientCheck> check_;
  double limit_ = 0;
  std::vector<Checked> checked_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace dynet_like::detail
