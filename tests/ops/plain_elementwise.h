// Every elementwise op and its slopes as anybody would write them down, in long double and of the
// inputs alone, limits included: what kernels are compared with.
#pragma once

#include <numbers>

#include "tests/support/precompiled.h"

namespace dynet_like::op_cases {

using Long = long double;

/// Of inputs a and b and the number c, as far as the op has them. Slopes are not asked for at NaN.
struct PlainElementwise {
  using Function = Long (*)(Long a, Long b, Long c);
  std::string_view name;
  Function value, slope_0, slope_1 = nullptr;
  /// Results are as exact as those of this size, where differences cancel out.
  double value_scale = 0, slope_scale = 0;
};

namespace plain {

constexpr Long kNan = std::numeric_limits<Long>::quiet_NaN();
constexpr Long kPi = std::numbers::pi_v<Long>;

inline Long one(Long, Long, Long) { return 1; }
inline Long minus_one(Long, Long, Long) { return -1; }
inline Long number(Long, Long, Long c) { return c; }

inline Long sigmoid(Long z) { return 1 / (1 + std::exp(-z)); }
inline Long silu(Long x, Long c) {
  if (c * x == -std::numeric_limits<Long>::infinity()) return 0;
  return x * sigmoid(c * x);
}
inline Long slope_of_silu(Long z) {
  return std::isinf(z) ? Long(z > 0) : sigmoid(z) * (1 + z * sigmoid(-z));
}
inline Long normal_cdf(Long x) { return std::erfc(-x / std::sqrt(Long(2))) / 2; }
inline Long gelu(Long x) {
  return x == -std::numeric_limits<Long>::infinity() ? 0 : x * normal_cdf(x);
}
inline Long slope_of_gelu(Long x) {
  return normal_cdf(x) + (std::isinf(x) ? 0 : x * std::exp(-x * x / 2) / std::sqrt(2 * kPi));
}
inline Long tanh_argument(Long x) { return std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x); }
inline Long gelu_tanh(Long x) {
  return x == -std::numeric_limits<Long>::infinity() ? 0 : x * sigmoid(2 * tanh_argument(x));
}
inline Long slope_of_gelu_tanh(Long x) {
  if (std::abs(x) > 1000) return Long(x > 0);
  const Long z = 2 * tanh_argument(x), w = 2 * std::sqrt(2 / kPi) * (x + 3 * 0.044715L * x * x * x);
  return sigmoid(z) * (1 + w * sigmoid(-z));
}
inline Long zero(Long, Long, Long) { return 0; }
inline Long elu(Long x, Long c) { return x > 0 ? x : c * std::expm1(x); }
inline Long slope_of_elu(Long x, Long c) { return x > 0 ? 1 : c * std::exp(x); }

inline constexpr Long kSeluScale = 1.0507009873554804934193349852946L;
inline constexpr Long kSeluAlpha = 1.6732632423543772848170429916717L;

// A NaN is smaller and larger than all numbers; of equal ones the first is taken.
inline bool takes_second(bool second_is_better, Long a, Long b) {
  return !std::isnan(a) && (std::isnan(b) || second_is_better);
}
inline Long min(Long a, Long b) { return takes_second(b < a, a, b) ? b : a; }
inline Long max(Long a, Long b) { return takes_second(a < b, a, b) ? b : a; }

// By recurrence to where the asymptotic series is exact, and by reflection.
inline Long digamma(Long x) {
  if (x <= 0 && x == std::floor(x)) return kNan;
  if (x < 0) return digamma(1 - x) - kPi / std::tan(kPi * (x - std::round(x)));
  Long shift = 0;
  for (; x < 40; ++x) shift -= 1 / x;
  const Long s = 1 / (x * x);
  const Long series =
      s * (1.0L / 12 - s * (1.0L / 120 - s * (1.0L / 252 - s * (1.0L / 240 - s * (1.0L / 132)))));
  return shift + std::log(x) - 1 / (2 * x) - series;
}

inline Long binary_log_loss(Long a, Long b) {
  const Long happens = b == 0 ? 0 : b * std::log(a), not_so = b == 1 ? 0 : (1 - b) * std::log1p(-a);
  return -(happens + not_so);
}
inline Long slope_of_loss(Long a, Long b) {
  return (b == 1 ? 0 : (1 - b) / (1 - a)) - (b == 0 ? 0 : b / a);
}

inline Long softplus(Long x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
inline Long logit_loss(Long a, Long b) {
  return (b == 0 ? 0 : b * softplus(-a)) + (b == 1 ? 0 : (1 - b) * softplus(a));
}

// a^b ln a, and its limits.
inline Long slope_to_exponent(Long a, Long b) {
  if (a == 0 && b >= 0) return 0;
  if (std::isinf(a) && a > 0 && b < 0) return 0;
  return std::pow(a, b) * std::log(a);
}

}  // namespace plain

/// By the op's name.
inline const std::map<std::string_view, PlainElementwise>& plain_elementwise() {
  using namespace plain;
  using L = Long;
  static const PlainElementwise list[] = {
      {"negate", [](L a, L, L) { return -a; }, minus_one},
      {"add", [](L a, L b, L) { return a + b; }, one, one},
      {"subtract", [](L a, L b, L) { return a - b; }, one, minus_one},
      {"cmult", [](L a, L b, L) { return a * b; }, [](L, L b, L) { return b; },
       [](L a, L, L) { return a; }},
      {"cdiv", [](L a, L b, L) { return a / b; }, [](L, L b, L) { return 1 / b; },
       [](L a, L b, L) { return -(a / b) / b; }},
      {"scalar_add", [](L a, L, L c) { return a + c; }, one},
      {"scalar_subtract", [](L a, L, L c) { return c - a; }, minus_one},
      {"scalar_multiply", [](L a, L, L c) { return a * c; }, number},
      {"scalar_divide", [](L a, L, L c) { return a / c; }, [](L, L, L c) { return 1 / c; }},
      {"tanh", [](L a, L, L) { return std::tanh(a); },
       [](L a, L, L) { return 1 / (std::cosh(a) * std::cosh(a)); }, nullptr, 0, 1},
      {"tanh_of_sum", [](L a, L b, L) { return std::tanh(a + b); },
       [](L a, L b, L) { return 1 / (std::cosh(a + b) * std::cosh(a + b)); },
       [](L a, L b, L) { return 1 / (std::cosh(a + b) * std::cosh(a + b)); }, 0, 1},
      {"sigmoid", [](L a, L, L) { return sigmoid(a); },
       [](L a, L, L) { return sigmoid(a) * sigmoid(-a); }, nullptr, 0, 1},
      {"relu", [](L a, L, L) { return plain::max(a, 0); }, [](L a, L, L) { return L(a > 0); }},
      {"exp", [](L a, L, L) { return std::exp(a); }, [](L a, L, L) { return std::exp(a); }},
      {"log", [](L a, L, L) { return std::log(a); }, [](L a, L, L) { return 1 / a; }},
      {"sqrt", [](L a, L, L) { return std::sqrt(a); },
       [](L a, L, L) { return 1 / (2 * std::abs(std::sqrt(a))); }},
      {"square", [](L a, L, L) { return a * a; }, [](L a, L, L) { return 2 * a; }},
      {"abs", [](L a, L, L) { return std::abs(a); }, [](L a, L, L) { return L(a > 0) - L(a < 0); }},
      {"cube", [](L a, L, L) { return a * a * a; }, [](L a, L, L) { return 3 * a * a; }},
      {"log_sigmoid",
       [](L a, L, L) { return a < 0 ? a - std::log1p(std::exp(a)) : -std::log1p(std::exp(-a)); },
       [](L a, L, L) { return sigmoid(-a); }},
      {"elu", [](L a, L, L c) { return elu(a, c); },
       [](L a, L, L c) { return slope_of_elu(a, c); }},
      {"selu", [](L a, L, L) { return kSeluScale * elu(a, kSeluAlpha); },
       [](L a, L, L) { return kSeluScale * slope_of_elu(a, kSeluAlpha); }},
      {"silu", [](L a, L, L c) { return silu(a, c); },
       [](L a, L, L c) { return slope_of_silu(c * a); }},
      {"gelu", [](L a, L, L) { return gelu(a); }, [](L a, L, L) { return slope_of_gelu(a); },
       nullptr, 0, 1},
      {"gelu_tanh", [](L a, L, L) { return gelu_tanh(a); },
       [](L a, L, L) { return slope_of_gelu_tanh(a); }, nullptr, 1, 1},
      {"softplus", [](L a, L, L) { return softplus(a); }, [](L a, L, L) { return sigmoid(a); }},
      {"leaky_relu", [](L a, L, L c) { return a > 0 ? a : c * a; },
       [](L a, L, L c) { return a > 0 ? 1 : c; }},
      {"softsign",
       [](L a, L, L) { return std::isinf(a) ? std::copysign(L(1), a) : a / (1 + std::abs(a)); },
       [](L a, L, L) { return 1 / ((1 + std::abs(a)) * (1 + std::abs(a))); }},
      {"min", [](L a, L b, L) { return plain::min(a, b); }, [](L a, L b, L) { return L(!(b < a)); },
       [](L a, L b, L) { return L(b < a); }},
      {"max", [](L a, L b, L) { return plain::max(a, b); }, [](L a, L b, L) { return L(!(a < b)); },
       [](L a, L b, L) { return L(a < b); }},
      {"scalar_min", [](L a, L, L c) { return plain::min(a, c); },
       [](L a, L, L c) { return L(a <= c); }},
      {"scalar_max", [](L a, L, L c) { return plain::max(a, c); },
       [](L a, L, L c) { return L(a >= c); }},
      {"sign", [](L a, L, L) { return std::isnan(a) ? a : L(a > 0) - L(a < 0); }, plain::zero},
      {"less", [](L a, L b, L) { return L(a < b); }, plain::zero, plain::zero},
      {"less_equal", [](L a, L b, L) { return L(a <= b); }, plain::zero, plain::zero},
      {"equal", [](L a, L b, L) { return L(a == b); }, plain::zero, plain::zero},
      {"keep_where", [](L a, L b, L) { return std::isnan(b) ? b
                                              : b != 0      ? a
                                                            : 0; },
       [](L, L b, L) { return L(b != 0); }, plain::zero},
      {"drop_where", [](L a, L b, L) { return std::isnan(b) ? b
                                              : b == 0      ? a
                                                            : 0; },
       [](L, L b, L) { return L(b == 0); }, plain::zero},
      {"logit_loss", [](L a, L b, L) { return logit_loss(a, b); },
       [](L a, L b, L) { return sigmoid(a) - b; }, [](L a, L, L) { return -a; }, 0, 1},
      {"divergence_term", [](L a, L b, L) { return std::exp(a) == 0 ? 0 : std::exp(a) * (a - b); },
       [](L a, L b, L) { return std::exp(a) == 0 ? 0 : std::exp(a) * (a - b + 1); },
       [](L a, L, L) { return -std::exp(a); }, 0, 1},
      {"scale_gradient", [](L a, L, L) { return a; }, number},
      {"erf", [](L a, L, L) { return std::erf(a); },
       [](L a, L, L) { return 2 / std::sqrt(kPi) * std::exp(-a * a); }},
      {"sin", [](L a, L, L) { return std::sin(a); }, [](L a, L, L) { return std::cos(a); }},
      {"cos", [](L a, L, L) { return std::cos(a); }, [](L a, L, L) { return -std::sin(a); }},
      {"tan", [](L a, L, L) { return std::tan(a); },
       [](L a, L, L) { return 1 / (std::cos(a) * std::cos(a)); }},
      {"asin", [](L a, L, L) { return std::asin(a); },
       [](L a, L, L) { return 1 / std::sqrt(1 - a * a); }},
      {"acos", [](L a, L, L) { return std::acos(a); },
       [](L a, L, L) { return -1 / std::sqrt(1 - a * a); }},
      {"atan", [](L a, L, L) { return std::atan(a); }, [](L a, L, L) { return 1 / (1 + a * a); }},
      {"sinh", [](L a, L, L) { return std::sinh(a); }, [](L a, L, L) { return std::cosh(a); }},
      {"cosh", [](L a, L, L) { return std::cosh(a); }, [](L a, L, L) { return std::sinh(a); }},
      {"asinh", [](L a, L, L) { return std::asinh(a); },
       [](L a, L, L) { return 1 / std::sqrt(a * a + 1); }},
      {"acosh", [](L a, L, L) { return std::acosh(a); },
       [](L a, L, L) { return a < 1 ? kNan : 1 / std::sqrt(a * a - 1); }},
      {"atanh", [](L a, L, L) { return std::atanh(a); }, [](L a, L, L) { return 1 / (1 - a * a); }},
      {"lgamma", [](L a, L, L) { return std::lgamma(a); }, [](L a, L, L) { return digamma(a); },
       nullptr, 1, 1},
      {"round", [](L a, L, L) { return std::round(a); }, one},
      {"ceil", [](L a, L, L) { return std::ceil(a); }, one},
      {"floor", [](L a, L, L) { return std::floor(a); }, one},
      {"pow", [](L a, L b, L) { return std::pow(a, b); },
       [](L a, L b, L) { return b == 0 ? 0 : b * std::pow(a, b - 1); },
       [](L a, L b, L) { return slope_to_exponent(a, b); }},
      {"binary_log_loss", [](L a, L b, L) { return binary_log_loss(a, b); },
       [](L a, L b, L) { return slope_of_loss(a, b); },
       [](L a, L, L) { return std::log1p(-a) - std::log(a); }},
  };
  static const auto all = [] {
    std::map<std::string_view, PlainElementwise> by_name;
    for (const PlainElementwise& op : list) by_name.emplace(op.name, op);
    return by_name;
  }();
  return all;
}

}  // namespace dynet_like::op_cases
