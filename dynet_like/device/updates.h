// Passes over parameters and their gradients: those of a device, and the CPU's.
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

/// The numbers of one update: the gradient is multiplied by `scale`, the change by `rate`, and then
/// the changed values by `keep`.
struct Step {
  double rate = 0;
  double scale = 1;
  double keep = 1;
};

/// A stretch of one parameter: `count` values, their gradient and each of their moments. A null
/// gradient is one of zeros.
struct Elements {
  static constexpr std::size_t kMaxMoments = 4;

  DType dtype = DType::f32;
  std::size_t count = 0;
  void* values = nullptr;
  const void* gradient = nullptr;
  void* moments[kMaxMoments] = {};

  /// Of a table: values and moments begin with row 0, `count` is the size of a row, and these are
  /// its `row_count` rows in question. Null stands for all; then row r has the gradient
  /// slots[r] - 1, or none if that is -1 or there are no slots. Else row i of the list has
  /// gradient i. The lists are this process's.
  std::size_t row_count = 0;
  const std::uint32_t* rows = nullptr;
  const std::uint32_t* slots = nullptr;

  /// What has no gradient is multiplied by `keep`, and is not updated with a gradient of zeros.
  bool only_kept = false;

  /// One of the rows in question: its first element, and its gradient or null.
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
  /// How many there are, where what is no table is one row.
  DYNET_LIKE_HOST_DEVICE std::size_t places() const { return row_count == 0 ? 1 : row_count; }
};

/// Numbers that lie one behind the other.
struct Stretch {
  const void* begin = nullptr;
  std::size_t count = 0;
};

/// Numbers to change, and as many to change them by. No other pair has a part of these.
struct Pair {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t count = 0;
  double share = 1;  ///< of an average
};

// What updates do to an element is in update_formulas.h. Here are the names of what they keep of
// it; these numbers begin as zeros.
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

/// One of them with its constants; it ignores the others.
struct UpdateFormula {
  std::variant<Descend, DescendWithMomentum, Adam, Amsgrad, Adagrad, RmsProp, Adadelta> kind;
  float decay = 0;         ///< of the velocity, and of means of gradients
  float square_decay = 0;  ///< of means of squares
  float epsilon = 0;
};

/// Whether gradients are below a limit, and the factor that clips them, as a device finds out while
/// this process goes on: the passes of an update may depend on it.
class GradientCheck {
 public:
  struct Result {
    double factor = 1;  ///< of the gradients; NaN: passes that depend on it have changed nothing
    double norm = 0;    ///< if there is a threshold
    /// The first fault, if there is one: which of all numbers, and what it is.
    bool has_fault = false;
    std::size_t fault_at = 0;
    double fault = 0;
  };

  virtual ~GradientCheck() = default;
  /// Asks for it. Numbers are faults unless their size is below `limit`, which may be infinity.
  /// Gradients whose norm is larger than `threshold` are scaled down to it; 0 is none.
  virtual void begin(DType dtype, std::span<const Stretch> stretches, double limit,
                     double threshold) = 0;
  /// Waits for it, and for nothing that was asked for later.
  virtual Result wait() = 0;
};

/// The passes of a device over its own memory. Every number is rounded after every operation, so
/// that all devices agree. Lists are of no use after a call.
class Updates {
 public:
  virtual ~Updates() = default;

  /// Updates of several stretches, all of one type: the formula, then values *= step.keep.
  virtual void apply(const UpdateFormula& formula, std::span<const Elements> all,
                     Step step) const = 0;

  /// values *= factor, with one factor after the other.
  virtual void scale(const Elements& e, std::span<const double> factors) const = 0;
  /// to += share * (from - to); what is infinite, and is not averaged with its opposite, stays.
  virtual void average(DType dtype, std::span<const Pair> pairs) const = 0;
  /// to += from, element by element.
  virtual void add(DType dtype, std::span<const Pair> pairs) const = 0;

  /// Whether the size of all these numbers is below a limit, which may be infinity; that of NaN is
  /// not.
  virtual bool all_below(DType dtype, std::span<const Stretch> stretches, double limit) const = 0;
  /// The sum of the squares of all these numbers, in double; not finite if one of them is not.
  virtual double sum_of_squares(DType dtype, std::span<const Stretch> stretches) const = 0;

  /// Null where passes happen at once, so that there is nothing to go on with.
  virtual std::unique_ptr<GradientCheck> make_gradient_check() const { return nullptr; }

  /// Makes these passes. If one throws, none of them changes anything: a device does not begin
  /// before all of them were asked for. With a check, which has begun, gradients are multiplied by
  /// its factor, and if they are refused nothing is changed.
  virtual void together(const std::function<void()>& passes,
                        const GradientCheck* /*check*/ = nullptr) const {
    passes();
  }
};

/// The CPU's, with the best instruction set of this machine.
const Updates& cpu_updates();

}  // namespace dynet_like::detail
