// Passes over parameters and their gradients: those of a device, and the CPU's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "dynet_like/core/dtype.h"

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

struct AdamConstants {
  float beta_1, beta_2, epsilon;
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

  /// Updates of several stretches, all of one type. The formulas are those of the functions of the
  /// same name in namespace updates, with the moments in that order, then values *= step.keep.
  virtual void descend(std::span<const Elements> all, Step step) const = 0;
  virtual void descend_with_momentum(std::span<const Elements> all, double momentum,
                                     Step step) const = 0;
  virtual void adam(std::span<const Elements> all, const AdamConstants& constants,
                    Step step) const = 0;
  virtual void amsgrad(std::span<const Elements> all, const AdamConstants& constants,
                       Step step) const = 0;
  virtual void adagrad(std::span<const Elements> all, double epsilon, Step step) const = 0;
  virtual void rmsprop(std::span<const Elements> all, double rho, double epsilon,
                       Step step) const = 0;
  virtual void adadelta(std::span<const Elements> all, double rho, double epsilon,
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

/// The CPU's passes, with the best instruction set of this machine.
namespace updates {

/// w -= rate * (scale * g), rounded after every operation, for n elements; so are those below.
void descend(DType dtype, void* w, const void* g, std::size_t n, double rate, double scale);

/// v = momentum * v + rate * (scale * g); w -= v.
void descend_with_momentum(DType dtype, void* w, void* v, const void* g, std::size_t n,
                           double momentum, double rate, double scale);

/// With h = scale * g: m = b1 m + (1 - b1) h; v = b2 v + (1 - b2) h^2;
/// w -= rate * m / (sqrt(v) + epsilon).
void adam(DType dtype, void* w, void* m, void* v, const void* g, std::size_t n,
          const AdamConstants& constants, double rate, double scale);

/// The same with the largest v so far: top = max(top, v); w -= rate * m / (sqrt(top) + epsilon).
void amsgrad(DType dtype, void* w, void* m, void* v, void* top, const void* g, std::size_t n,
             const AdamConstants& constants, double rate, double scale);

/// With h = scale * g: s += h^2, at most the largest number; w -= rate * h / sqrt(s + epsilon).
void adagrad(DType dtype, void* w, void* s, const void* g, std::size_t n, double epsilon,
             double rate, double scale);

/// With h = scale * g: s = rho s + (1 - rho) h^2; w -= rate * h / sqrt(s + epsilon).
void rmsprop(DType dtype, void* w, void* s, const void* g, std::size_t n, double rho,
             double epsilon, double rate, double scale);

/// With h = scale * g: s = rho s + (1 - rho) h^2; x = h * sqrt(d + epsilon) / sqrt(s + epsilon);
/// d = rho d + (1 - rho) x^2; w -= rate * x.
void adadelta(DType dtype, void* w, void* s, void* d, const void* g, std::size_t n, double rho,
              double epsilon, double rate, double scale);

/// x *= factor, with one factor after the other; elements stay in registers meanwhile.
void scale(DType dtype, void* x, std::size_t n, std::span<const double> factors);

/// mean += share * (x - mean); an infinite mean += share * x.
void average(DType dtype, void* mean, const void* x, std::size_t n, double share);

/// Whether the size of all n numbers is below the limit; that of NaN is not.
bool all_below(DType dtype, const void* x, std::size_t n, double limit);

/// x_1^2 + x_2^2 + ... in double, in an order that depends on n and the instruction set alone. Not
/// finite if one of the numbers is not.
double sum_of_squares(DType dtype, const void* x, std::size_t n);

}  // namespace updates

/// All of them together.
const Updates& cpu_updates();

}  // namespace dynet_like::detail
