// Elementwise formulas over plain numbers: those without a vector function, also for GPUs.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "dynet_like/ops/elementwise.h"
#include "dynet_like/ops/gamma_function.h"

namespace dynet_like::ops::formulas {

#define LANE DYNET_LIKE_HOST_DEVICE

struct Erf : UnaryFormula {
  static constexpr std::string_view name = "erf", formula = "the error function";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::erf(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return T(2 * std::numbers::inv_sqrtpi) * std::exp(-x * x);
  }
};

struct Sin : UnaryFormula {
  static constexpr std::string_view name = "sin", formula = "sin x";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::sin(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return std::cos(x);
  }
};

struct Cos : UnaryFormula {
  static constexpr std::string_view name = "cos", formula = "cos x";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::cos(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return -std::sin(x);
  }
};

struct Tan : UnaryFormula {
  static constexpr std::string_view name = "tan", formula = "tan x; dy/dx = 1 + y^2";
  static constexpr Needs needs = Needs::output;
  template <class T>
  LANE static T value(T x) {
    return std::tan(x);
  }
  template <class T>
  LANE static T slope_0(T, T y) {
    return 1 + y * y;
  }
};

struct Asin : UnaryFormula {
  static constexpr std::string_view name = "asin",
                                    formula = "the angle in [-pi/2, pi/2] whose sine is x";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::asin(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return 1 / std::sqrt((1 - x) * (1 + x));
  }
};

struct Acos : UnaryFormula {
  static constexpr std::string_view name = "acos",
                                    formula = "the angle in [0, pi] whose cosine is x";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::acos(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return -1 / std::sqrt((1 - x) * (1 + x));
  }
};

struct Atan : UnaryFormula {
  static constexpr std::string_view name = "atan",
                                    formula = "the angle in [-pi/2, pi/2] whose tangent is x";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::atan(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return 1 / (1 + x * x);
  }
};

struct Sinh : UnaryFormula {
  static constexpr std::string_view name = "sinh", formula = "(e^x - e^-x) / 2";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::sinh(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return std::cosh(x);
  }
};

struct Cosh : UnaryFormula {
  static constexpr std::string_view name = "cosh", formula = "(e^x + e^-x) / 2";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::cosh(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return std::sinh(x);
  }
};

struct Asinh : UnaryFormula {
  static constexpr std::string_view name = "asinh", formula = "ln(x + sqrt(x^2 + 1))";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::asinh(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return 1 / std::hypot(x, T(1));
  }
};

struct Acosh : UnaryFormula {
  static constexpr std::string_view name = "acosh", formula = "ln(x + sqrt(x^2 - 1)), x >= 1";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::acosh(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return 1 / (std::sqrt(x - 1) * std::sqrt(x + 1));  // squares of large numbers are infinite
  }
};

struct Atanh : UnaryFormula {
  static constexpr std::string_view name = "atanh", formula = "ln((1 + x) / (1 - x)) / 2, |x| < 1";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return std::atanh(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return 1 / ((1 - x) * (1 + x));
  }
};

struct Lgamma : UnaryFormula {
  static constexpr std::string_view name = "lgamma",
                                    formula = "ln |gamma(x)|; dy/dx is the digamma function";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return special::log_gamma(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return special::digamma(x);
  }
};

struct Round : UnaryFormula {
  static constexpr std::string_view
      name = "round",
      formula = "the nearest integer, halves away from 0; its gradient is passed on as it is";
  static constexpr bool is_derivative = false;
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T x) {
    return std::round(x);
  }
  template <class T>
  LANE static T slope_0(T, T) {
    return T(1);
  }
};

struct Ceil : UnaryFormula {
  static constexpr std::string_view
      name = "ceil",
      formula = "the next integer above; its gradient is passed on as it is";
  static constexpr bool is_derivative = false;
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T x) {
    return std::ceil(x);
  }
  template <class T>
  LANE static T slope_0(T, T) {
    return T(1);
  }
};

struct Floor : UnaryFormula {
  static constexpr std::string_view
      name = "floor",
      formula = "the next integer below; its gradient is passed on as it is";
  static constexpr bool is_derivative = false;
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T x) {
    return std::floor(x);
  }
  template <class T>
  LANE static T slope_0(T, T) {
    return T(1);
  }
};

// The slope for the exponent, a^b ln a, is taken as a limit where one factor is 0 and the other
// infinite. At 0^0 it is 0, the limit from above.
struct Pow : BinaryFormula {
  static constexpr std::string_view name = "pow", formula = "a to the power of b";
  static constexpr Needs needs = Needs::inputs_and_output;
  template <class T>
  LANE static T value(T a, T b) {
    return std::pow(a, b);
  }
  // b a^(b - 1), as b (y / a) unless a number is too large or small: b - 1 would lose digits of b.
  template <class T>
  LANE static T slope_0(T a, T b, T y) {
    if (b == 0) return 0;
    const T quotient = y / a;
    if (std::isnan(y) || (is_normal(y) && is_normal(quotient))) return b * quotient;
    return b * std::pow(a, b - 1);
  }
  template <class T>
  LANE static T slope_1(T a, T b, T y) {
    const bool vanishes = a == 0 ? b >= 0 : a == std::numeric_limits<T>::infinity() && b < 0;
    return vanishes ? T(0) : y * std::log(a);
  }

 private:
  template <class T>
  LANE static bool is_normal(T x) {
    return std::abs(x) >= std::numeric_limits<T>::min() && !std::isinf(x);
  }
};

// A probability of 0 or 1 costs nothing if it is right. If it is wrong, it costs a finite number,
// as in DyNet: as much as the smallest normal number. The slopes are those of numbers just inside
// (0, 1).
struct BinaryLogLoss : BinaryFormula {
  static constexpr std::string_view name = "binary_log_loss",
                                    formula =
                                        "-(b ln a + (1 - b) ln(1 - a)), where 0 ln 0 = 0; -ln of "
                                        "the smallest normal number where that is infinite";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T a, T b) {
    const T of_one = b == 0 ? T(0) : b * std::log(a);
    const T of_zero = b == 1 ? T(0) : (1 - b) * std::log1p(-a);
    const T loss = -(of_one + of_zero);
    return loss == std::numeric_limits<T>::infinity() ? most<T>() : loss;
  }
  template <class T>
  LANE static T slope_0(T a, T b, T) {
    if (a == b) return 0;
    if (a == 0) a = std::numeric_limits<T>::min();
    if (a == 1) a = 1 - std::numeric_limits<T>::epsilon();
    if (b == 0) return 1 / (1 - a);
    return b == 1 ? -1 / a : (a - b) / (a * (1 - a));
  }
  template <class T>
  LANE static T slope_1(T a, T, T) {
    if (a == 0) return most<T>();
    return a == 1 ? -most<T>() : std::log1p(-a) - std::log(a);
  }

 private:
  template <class T>
  LANE static T most() {
    return -std::log(std::numeric_limits<T>::min());
  }
};

#undef LANE

using SpecialFormulas = TypeList<Erf, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh,
                                 Atanh, Lgamma, Round, Ceil, Floor, Pow, BinaryLogLoss>;

/// Walks over all elementwise formulas.
template <class Visitor>
constexpr void visit_all(Visitor&& visitor) {
  ElementwiseFormulas::visit(visitor);
  SpecialFormulas::visit(visitor);
}

}  // namespace dynet_like::ops::formulas
