// A trainer's data for one parameter: its moments, and the steps that rows of a table lack.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "dynet_like/params/gradients.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like::detail {

inline std::size_t bytes_of(const ParameterStorage& storage) {
  return storage.size() * size_of(storage.dtype);
}

/// The moments of a parameter. For a table with exact updates, or with weight decay, it is also the
/// table's refresher: a row without a gradient is left behind, and catches up when it is read or
/// updated next, with the same arithmetic in the same order.
class ParameterState final : public RowRefresher,
                             public std::enable_shared_from_this<ParameterState> {
 public:
  ParameterState(std::shared_ptr<const UpdateRule> rule, std::shared_ptr<ParameterStorage> storage);

  ParameterStorage& storage() const { return storage_; }
  /// Makes the moments, as zeros, if there are none.
  void prepare();
  /// Allocates all that an update needs, so that the update cannot fail half way.
  void prepare(Step step, bool exact);
  bool prepared() const { return prepared_; }
  /// The address of a moment on the device, in the shape of the parameter.
  std::byte* moment(std::size_t i) const { return moment_data(i, 0); }

  /// The work of an update of all elements, if there is any. A null gradient is zero.
  std::optional<Elements> all_elements(const void* gradient, Step step) const;
  /// The work of an update of these rows; null stands for no rows. The other rows decay; if
  /// `exact`, they get a zero gradient, too. On a device no rows are left behind, because its
  /// kernels could not wait for them.
  std::optional<Elements> row_elements(const Gradients::Rows* rows, Step step, bool exact) const;
  /// Updates these rows on the CPU. The others catch up later.
  void update_rows(const Gradients::Rows* rows, Step step, bool exact);

  void refresh(std::span<const std::uint32_t> rows) override;
  void refresh_all() override;
  /// Brings the rows up to date and drops the moments.
  void forget();
  /// Brings the rows up to date and stops being the table's refresher.
  void detach();

 private:
  // Steps without a gradient, one after the other: each applies the rule to a zero gradient, or
  // only decays.
  struct Steps {
    std::span<const double> rates, keeps;
    bool apply_rule = false;
  };

  bool leaves_behind(Step step, bool exact) const {
    return step.keep != 1 || (exact && acts_without_gradient_);
  }
  void refresh_others();
  Elements elements(std::size_t first, std::size_t count) const;
  void apply(std::size_t first, std::size_t count, const void* gradient, Step step);
  void make_up(std::size_t first, std::size_t count, const Steps& steps);
  void apply_rows(const Gradients::Rows* rows, Step step);
  const Updates& updates() const { return storage_.device().updates(); }
  bool is_zero(std::size_t first, std::size_t count) const;
  void catch_up(std::uint32_t row);
  void catch_up_all();
  std::byte* moment_data(std::size_t i, std::size_t first) const;

  const std::shared_ptr<const UpdateRule> rule_;
  // A plain reference, since the storage owns this refresher. The trainer's collection keeps the
  // storage alive.
  ParameterStorage& storage_;
  const std::size_t moment_count_, moment_bytes_;
  const bool acts_without_gradient_;
  bool prepared_ = false;
  Block moments_;

  std::mutex mutex_;                   // guards the members below, and rows that catch up
  std::vector<double> rates_, keeps_;  // for the steps that some row may lack
  bool apply_rule_ = false;            // whether these steps apply the rule, to a zero gradient
  bool decay_ = false;                 // whether some of them decay
  std::vector<std::uint32_t> done_;    // per row: how many of these steps it has made
};

}  // namespace dynet_like::detail
