// Passes over parameters and their gradients, on a device or on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <variant>

#include "dynet_like/core/dtype.h"
#include "dynet_like/core/host_device.h"

namespace dynet_like::detail {

/// The factors of one update: the gradient is multiplied by `scale`, the change by `rate`, and then
/// the changed value by `keep`.
struct Step {
  double rate = 0;
  double scale = 1;
  double keep = 1;
};

/// A range of one parameter: `count` values, their gradient, and each of their moments. A null
/// gradient counts as zeros.
struct Elements {
  static constexpr std::size_t kMaxMoments = 4;

  DType dtype = DType::f32;
  std::size_t count = 0;
  void* values = nullptr;
  const void* gradient = nullptr;
  void* moments[kMaxMoments] = {};

  /// For a table: values and moments begin with row 0, `count` is the size of a row, and
  /// `row_count` rows are updated. If `rows` is null, these are all rows: row r has gradient
  /// slots[r] - 1, or none if that is -1 or `slots` is null. Otherwise row i of the list has
  /// gradient i. The lists are in memory of this process.
  std::size_t row_count = 0;
  const std::uint32_t* rows = nullptr;
  const std::uint32_t* slots = nullptr;

  /// Rows without a gradient are only multiplied by `keep`, not updated with a gradient of zeros.
  bool only_kept = false;

  /// One of the updated rows: its first element, and its gradient or null.
  template <class E>
  struct Row {
    std::size_t first;
    const E* gradient;
  };
  template <class E>
  DYNET_LIKE_HOST_DEVICE Row<E> row(std::size_t i) const {
    const E* const gradients = static_cast<const E*>(gradient);
    if (row_count == 0) return {0, gradients};
    if (rows != nullptr) return {rows[i] * count, gradients + i * count};
    const std::size_t slot = slots == nullptr ? 0 : slots[i];
    return {i * count, slot == 0 ? nullptr : gradients + (slot - 1) * count};
  }
  /// The number of rows to update; a parameter that is no table counts as one row.
  DYNET_LIKE_HOST_DEVICE std::size_t places() const { return row_count == 0 ? 1 : row_count; }
};

/// Consecutive numbers.
struct Stretch {
  const void* begin = nullptr;
  std::size_t count = 0;
};

/// Numbers to change, and as many to change them by. Pairs do not overlap.
struct Pair {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t count = 0;
  double share = 1;  ///< of an average
};

// The formulas are in update_formulas.h. Here are the names of the moments that they keep per
// element; moments begin as zeros.
struct Descend {
  static constexpr std::array<const char*, 0> moments = {};
};
struct DescendWithMomentum {
  static constexpr std::array moments = {"velocity"};
};
struct Adam {
  static constexpr std::array moments = {"mean", "square"};
};
struct Amsgrad {
  static constexpr std::array moments = {"mean", "square", "largest_square"};
};
struct Adagrad {
  static constexpr std::array moments = {"square"};
};
struct RmsProp {
  static constexpr std::array moments = {"square"};
};
struct Adadelta {
  static constexpr std::array moments = {"square", "square_of_change"};
};

/// One of these formulas with its constants; it reads only those that it has.
struct UpdateFormula {
  std::variant<Descend, DescendWithMomentum, Adam, Amsgrad, Adagrad, RmsProp, Adadelta> kind;
  float decay = 0;         ///< of the velocity, and of means of gradients
  float square_decay = 0;  ///< of means of squares
  float epsilon = 0;
};

/// Checks on the device whether gradients are below a limit, and computes the factor that clips
/// them. This process goes on meanwhile; the passes of an update may depend on the result.
class GradientCheck {
 public:
  struct Result {
    double factor = 1;  ///< of the gradients; NaN: refused, so that dependent passes change nothing
    double norm = 0;    ///< if there is a threshold
    /// The first fault, if there is one: its index among all numbers, and its value.
    bool has_fault = false;
    std::size_t fault_at = 0;
    double fault = 0;
  };

  virtual ~GradientCheck() = default;
  /// Starts the check. A number is a fault unless its absolute value is below `limit`, which may be
  /// infinity. If the norm of the gradients is larger than `threshold`, they are scaled down to it;
  /// 0 means no threshold.
  virtual void begin(DType dtype, std::span<const Stretch> stretches, double limit,
                     double threshold) = 0;
  /// Waits for this check, not for later calls.
  virtual Result wait() = 0;
};

/// The passes of a device over its own memory. Every operation is rounded, so that all devices
/// agree. Lists may change after a call.
class Updates {
 public:
  virtual ~Updates() = default;

  /// Updates several ranges of one element type: applies the formula, then values *= step.keep.
  virtual void apply(const UpdateFormula& formula, std::span<const Elements> all,
                     Step step) const = 0;

  /// values *= factor, with one factor after the other.
  virtual void scale(const Elements& e, std::span<const double> factors) const = 0;
  /// to += share * (from - to). An infinite number stays, unless it is averaged with its opposite.
  virtual void average(DType dtype, std::span<const Pair> pairs) const = 0;
  /// to += from, element by element.
  virtual void add(DType dtype, std::span<const Pair> pairs) const = 0;

  /// Whether the absolute values of all these numbers are below a limit, which may be infinity.
  /// Never true for a NaN.
  virtual bool all_below(DType dtype, std::span<const Stretch> stretches, double limit) const = 0;
  /// The sum of the squares of all these numbers, in double; not finite if one of them is not.
  virtual double sum_of_squares(DType dtype, std::span<const Stretch> stretches) const = 0;

  /// Null if passes run at once, so that a check could not overlap with them.
  virtual std::unique_ptr<GradientCheck> make_gradient_check() const { return nullptr; }

  /// Runs these passes. If one throws, none of them changes anything: a device begins only after
  /// all of them were called. With a check, which must have begun, gradients are multiplied by its
  /// factor; if it refuses the gradients, nothing changes.
  virtual void together(const std::function<void()>& passes,
                        const GradientCheck* /*check*/ = nullptr) const {
    passes();
  }
};

/// The updates of the CPU, with the best instruction set of this machine.
const Updates& cpu_updates();

}  // namespace dynet_like::detail
