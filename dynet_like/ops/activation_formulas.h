// The formulas of activation functions, included by elementwise_formulas.h.

struct Tanh : UnaryFormula {
  static constexpr std::string_view name = "tanh", formula = "tanh(x); dy/dx = 1 - y^2";
  static constexpr Needs needs = Needs::output;
  template <class T>
  LANE static T value(T x) {
    return tanh(x);
  }
  template <class T>
  LANE static T slope_0(T, T y) {
    return T(1) - y * y;
  }
};

struct TanhOfSum : BinaryFormula {
  static constexpr std::string_view name = "tanh_of_sum",
                                    formula = "tanh(a + b); dy/da = dy/db = 1 - y^2";
  static constexpr Needs needs = Needs::output;
  template <class T>
  LANE static T value(T a, T b) {
    return tanh(a + b);
  }
  template <class T>
  LANE static T slope_0(T, T, T y) {
    return T(1) - y * y;
  }
  template <class T>
  LANE static T slope_1(T, T, T y) {
    return T(1) - y * y;
  }
};

struct Sigmoid : UnaryFormula {
  static constexpr std::string_view name = "sigmoid", formula = "1 / (1 + e^-x); dy/dx = y (1 - y)";
  static constexpr Needs needs = Needs::output;
  template <class T>
  LANE static T value(T x) {
    return sigmoid(x);
  }
  template <class T>
  LANE static T slope_0(T, T y) {
    return y * (T(1) - y);
  }
};

// Uses select, because max would lose a NaN.
struct Relu : UnaryFormula {
  static constexpr std::string_view name = "relu", formula = "max(x, 0); dy/dx = 0 at 0";
  static constexpr Needs needs = Needs::output;
  template <class T>
  LANE static T value(T x) {
    return select(x < T(0), T(0), x);
  }
  template <class T>
  LANE static T slope_0(T, T y) {
    return select(T(0) < y, T(1), T(0));
  }
};

// min(x, 0) minus a term in which e^-x cannot overflow.
struct LogSigmoid : UnaryFormula {
  static constexpr std::string_view name = "log_sigmoid", formula = "-ln(1 + e^-x)";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return -(log1p(exp(-abs(x))) - select(x < T(0), x, T(0)));
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return sigmoid(-x);
  }
};

struct Elu : UnaryRealFormula {
  static constexpr std::string_view name = "elu",
                                    formula = "x > 0: x, else c (e^x - 1) (Clevert et al. 2016)";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x, T c) {
    return select(T(0) < x, x, c * expm1(select(T(0) < x, T(0), x)));
  }
  template <class T>
  LANE static T slope_0(T x, T, T c) {
    return select(T(0) < x, T(1), c * exp(x));
  }
};

struct Selu : UnaryFormula {
  static constexpr std::string_view name = "selu",
                                    formula = "1.0507 elu(x, 1.6733) (Klambauer et al. 2017)";
  static constexpr double scale = 1.0507009873554804934, alpha = 1.6732632423543772848;
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return select(T(0) < x, T(scale) * x, T(scale * alpha) * expm1(select(T(0) < x, T(0), x)));
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return select(T(0) < x, T(scale), T(scale * alpha) * exp(x));
  }
};

// x sigmoid(z), where z has the sign of x: sigmoid(z) = 1 / (1 + e^-z) is the square of e^(z/2)
// over 1 + e^z. For a negative z the two factors e^(z/2) are multiplied one after the other, so
// that no factor underflows before the result does.
struct Gate {
  template <class T>
  LANE static T value(T x, T z) {
    const T root = exp_of_negative(T(-0.5) * abs(z)), share = x / (T(1) + root * root);
    return select(z < T(0), select(T(0) < root, share * root * root, T(0)), share);
  }
  // sigmoid(z) (1 + w sigmoid(-z)), where w is x dz/dx and z is no larger than 2000.
  template <class T>
  LANE static T slope(T z, T w) {
    const T one(1), root = exp_of_negative(T(-0.5) * abs(z)), small = root * root,
                    share = one / (one + small);
    return select(z < T(0), (one + w * share) * share * root * root,
                  (one + w * share * small) * share);
  }
  // x clamped to [-most, most].
  template <class T>
  LANE static T within(T most, T x) {
    return select(x < -most, -most, select(most < x, most, x));
  }
};

struct Silu : UnaryRealFormula {
  static constexpr std::string_view name = "silu",
                                    formula = "x / (1 + e^(-c x)) (Elfwing et al. 2018)";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x, T c) {
    return Gate::value(x, c * x);
  }
  // At |z| = 2000 sigmoid is 0 or 1 in any type.
  template <class T>
  LANE static T slope_0(T x, T, T c) {
    const T z = Gate::within(T(2000), c * x);
    return Gate::slope(z, z);
  }
};

struct Gelu : UnaryFormula {
  static constexpr std::string_view name = "gelu",
                                    formula =
                                        "x (1 + erf(x / sqrt 2)) / 2: x times the probability of a "
                                        "normal number below x (Hendrycks and Gimpel 2016)";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    const T tail = normal_tail(abs(x));
    return select(x < T(0), select(T(0) < tail, x * tail, T(0)), x * (T(1) - tail));
  }
  // The probability, plus x times its density. The density is 0 beyond 40.
  template <class T>
  LANE static T slope_0(T x, T) {
    const T tail = normal_tail(abs(x)), z = Gate::within(T(40), x);
    const T density = T(0.398942280401432677940) * exp(T(-0.5) * z * z);
    return select(x < T(0), tail, T(1) - tail) + z * density;
  }
};

// (1 + tanh u) / 2 is sigmoid(2u).
struct GeluTanh : UnaryFormula {
  static constexpr std::string_view name = "gelu_tanh",
                                    formula =
                                        "x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 "
                                        "(Hendrycks and Gimpel 2016)";
  static constexpr double twice_root = 1.59576912160573071176, cubic = 0.044715;
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return Gate::value(x, T(twice_root) * (x + T(cubic) * x * x * x));
  }
  // At |x| = 30 sigmoid is 0 or 1 in any type.
  template <class T>
  LANE static T slope_0(T any, T) {
    const T x = Gate::within(T(30), any), cube = T(cubic) * x * x * x;
    return Gate::slope(T(twice_root) * (x + cube), T(twice_root) * (x + T(3) * cube));
  }
};

struct Softplus : UnaryFormula {
  static constexpr std::string_view name = "softplus", formula = "ln(1 + e^x)";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return log1p(exp(-abs(x))) + select(x < T(0), T(0), x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return sigmoid(x);
  }
};

struct LeakyRelu : UnaryRealFormula {
  static constexpr std::string_view name = "leaky_relu", formula = "x > 0: x, else c x";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x, T c) {
    return select(T(0) < x, x, c * x);
  }
  template <class T>
  LANE static T slope_0(T x, T, T c) {
    return select(T(0) < x, T(1), c);
  }
};

struct Softsign : UnaryFormula {
  static constexpr std::string_view name = "softsign", formula = "x / (1 + |x|)";
  static constexpr Needs needs = Needs::inputs;
  // Beyond `far` the value is 1 or -1 in any type.
  template <class T>
  LANE static T value(T x) {
    const T far(1e18), y = x / (T(1) + abs(x));
    return select(x < -far, T(-1), select(far < x, T(1), y));
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return T(1) / square(T(1) + abs(x));
  }
};
