// The formulas of losses, element by element, included by elementwise_formulas.h.

// softplus(-a) if b is 1, softplus(a) if b is 0. The factor of |a| is not negative, so nothing
// cancels out. A prediction that is right with certainty costs nothing.
struct LogitLoss : BinaryFormula {
  static constexpr std::string_view name = "logit_loss",
                                    formula =
                                        "-(b ln p + (1 - b) ln(1 - p)) with p = 1 / (1 + e^-a), "
                                        "where 0 infinity = 0";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T a, T b) {
    const T zero(0), one(1), wrong = select(a < zero, b, one - b), cost = wrong * abs(a);
    const T rest = log1p(exp(-abs(a)));
    return rest + select(wrong < zero, cost, select(zero < wrong, cost, wrong));
  }
  template <class T>
  LANE static T slope_0(T a, T b, T) {
    return sigmoid(a) - b;
  }
  template <class T>
  LANE static T slope_1(T a, T, T) {
    return -a;
  }
};

// An element with p = 0 contributes 0, whatever q is.
struct DivergenceTerm : BinaryFormula {
  static constexpr std::string_view name = "divergence_term",
                                    formula =
                                        "e^a (a - b), where 0 infinity = 0: p ln(p / q) of a = ln "
                                        "p, b = ln q (Kullback and Leibler 1951)";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T a, T b) {
    return of_probability(exp(a), a - b);
  }
  template <class T>
  LANE static T slope_0(T a, T b, T) {
    return of_probability(exp(a), a - b + T(1));
  }
  template <class T>
  LANE static T slope_1(T a, T, T) {
    return -exp(a);
  }
  template <class T>
  LANE static T of_probability(T p, T x) {
    return select(T(0) < p, p * x, p);
  }
};
