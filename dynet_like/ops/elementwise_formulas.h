// The formulas of all elementwise ops, over any lane type: included anew for every target.
//
// The includer provides a namespace, the macro LANE (how a function is marked for its target) and,
// for its lane type T, the arithmetic operators, the comparison <, and exp, exp_of_negative and
// expm1 (of x <= 0), log, log1p (of x >= 0), sqrt, tanh, logistic, abs, square, is_nan and
// select(condition, a, b). T(c) is the constant c in all lanes.
//
// A formula has value(inputs..., reals...) and for input j slope_j(inputs..., y, reals...) =
// dy/dx_j.

/// y = f(x). Test inputs are drawn from [low, high], away from `kink`.
struct UnaryFormula {
  static constexpr unsigned inputs = 1, reals = 0;
  static constexpr double low = -1.5, high = 1.5, kink = -100;
  static constexpr bool is_derivative = true;  ///< the slopes are, as the tests can tell
};
/// y = f(x, a) with a real number a that every node has for itself.
struct UnaryRealFormula : UnaryFormula {
  static constexpr unsigned reals = 1;
};
/// y = f(a, b), where dimensions of size 1 stretch to those of the other input.
struct BinaryFormula : UnaryFormula {
  static constexpr unsigned inputs = 2;
};

struct Negate : UnaryFormula {
  static constexpr std::string_view name = "negate", formula = "-x";
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T x) {
    return -x;
  }
  template <class T>
  LANE static T slope_0(T, T) {
    return T(-1);
  }
};

struct Add : BinaryFormula {
  static constexpr std::string_view name = "add", formula = "a + b";
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T a, T b) {
    return a + b;
  }
  template <class T>
  LANE static T slope_0(T, T, T) {
    return T(1);
  }
  template <class T>
  LANE static T slope_1(T, T, T) {
    return T(1);
  }
};

struct Subtract : BinaryFormula {
  static constexpr std::string_view name = "subtract", formula = "a - b";
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T a, T b) {
    return a - b;
  }
  template <class T>
  LANE static T slope_0(T, T, T) {
    return T(1);
  }
  template <class T>
  LANE static T slope_1(T, T, T) {
    return T(-1);
  }
};

struct Cmult : BinaryFormula {
  static constexpr std::string_view name = "cmult", formula = "a * b, element by element";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T a, T b) {
    return a * b;
  }
  template <class T>
  LANE static T slope_0(T, T b, T) {
    return b;
  }
  template <class T>
  LANE static T slope_1(T a, T, T) {
    return a;
  }
};

struct Cdiv : BinaryFormula {
  static constexpr std::string_view name = "cdiv", formula = "a / b, element by element";
  static constexpr double low = 0.3, high = 1.5;
  static constexpr Needs needs = Needs::inputs_and_output;
  template <class T>
  LANE static T value(T a, T b) {
    return a / b;
  }
  template <class T>
  LANE static T slope_0(T, T b, T) {
    return T(1) / b;
  }
  template <class T>
  LANE static T slope_1(T, T b, T y) {
    return -y / b;
  }
};

struct ScalarAdd : UnaryRealFormula {
  static constexpr std::string_view name = "scalar_add", formula = "x + c";
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T x, T c) {
    return x + c;
  }
  template <class T>
  LANE static T slope_0(T, T, T) {
    return T(1);
  }
};

struct ScalarSubtract : UnaryRealFormula {
  static constexpr std::string_view name = "scalar_subtract", formula = "c - x";
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T x, T c) {
    return c - x;
  }
  template <class T>
  LANE static T slope_0(T, T, T) {
    return T(-1);
  }
};

struct ScalarMultiply : UnaryRealFormula {
  static constexpr std::string_view name = "scalar_multiply", formula = "x * c";
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T x, T c) {
    return x * c;
  }
  template <class T>
  LANE static T slope_0(T, T, T c) {
    return c;
  }
};

struct ScalarDivide : UnaryRealFormula {
  static constexpr std::string_view name = "scalar_divide", formula = "x / c";
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T x, T c) {
    return x / c;
  }
  template <class T>
  LANE static T slope_0(T, T, T c) {
    return T(1) / c;
  }
};

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

struct Logistic : UnaryFormula {
  static constexpr std::string_view name = "logistic",
                                    formula = "1 / (1 + e^-x); dy/dx = y (1 - y)";
  static constexpr Needs needs = Needs::output;
  template <class T>
  LANE static T value(T x) {
    return logistic(x);
  }
  template <class T>
  LANE static T slope_0(T, T y) {
    return y * (T(1) - y);
  }
};

// select and not max: a NaN stays one.
struct Rectify : UnaryFormula {
  static constexpr std::string_view name = "rectify", formula = "max(x, 0); dy/dx = 0 at 0";
  static constexpr double kink = 0;
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

struct Exp : UnaryFormula {
  static constexpr std::string_view name = "exp", formula = "e^x";
  static constexpr Needs needs = Needs::output;
  template <class T>
  LANE static T value(T x) {
    return exp(x);
  }
  template <class T>
  LANE static T slope_0(T, T y) {
    return y;
  }
};

struct Log : UnaryFormula {
  static constexpr std::string_view name = "log", formula = "natural logarithm of x";
  static constexpr double low = 0.2, high = 3;
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return log(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return T(1) / x;
  }
};

struct Sqrt : UnaryFormula {
  static constexpr std::string_view name = "sqrt", formula = "square root of x; dy/dx = 1 / (2 y)";
  static constexpr double low = 0.2, high = 3;
  static constexpr Needs needs = Needs::output;
  template <class T>
  LANE static T value(T x) {
    return sqrt(x);
  }
  // The root of -0 is -0, and as steep.
  template <class T>
  LANE static T slope_0(T, T y) {
    return T(0.5) / abs(y);
  }
};

struct Square : UnaryFormula {
  static constexpr std::string_view name = "square", formula = "x^2";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return x * x;
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return x + x;
  }
};

struct Abs : UnaryFormula {
  static constexpr std::string_view name = "abs", formula = "|x|; dy/dx = 0 at 0";
  static constexpr double kink = 0;
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return abs(x);
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return select(x < T(0), T(-1), select(T(0) < x, T(1), T(0)));
  }
};

struct Cube : UnaryFormula {
  static constexpr std::string_view name = "cube", formula = "x^3";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return x * x * x;
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return T(3) * x * x;
  }
};

// The smaller of x and 0, and what no large e^-x can spoil.
struct LogSigmoid : UnaryFormula {
  static constexpr std::string_view name = "log_sigmoid", formula = "-ln(1 + e^-x)";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x) {
    return -(log1p(exp(-abs(x))) - select(x < T(0), x, T(0)));
  }
  template <class T>
  LANE static T slope_0(T x, T) {
    return logistic(-x);
  }
};

struct Elu : UnaryRealFormula {
  static constexpr std::string_view name = "elu",
                                    formula = "x > 0: x, else c (e^x - 1) (Clevert et al. 2016)";
  static constexpr double kink = 0;
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
  static constexpr double kink = 0;
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

// logistic(z) = 1 / (1 + e^-z) is the square of e^(z/2) over 1 + e^z: where z is negative, one
// factor e^(z/2) is multiplied before the other, so that nothing vanishes before the result does.
struct Silu : UnaryRealFormula {
  static constexpr std::string_view name = "silu",
                                    formula = "x / (1 + e^(-c x)) (Elfwing et al. 2018)";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x, T c) {
    const T z = c * x, root = exp_of_negative(T(-0.5) * abs(z)), share = x / (T(1) + root * root);
    return select(z < T(0), select(T(0) < root, share * root * root, T(0)), share);
  }
  // logistic(z) (1 + z logistic(-z)); at |z| = 2000 both factors are 0 or 1 in any type.
  template <class T>
  LANE static T slope_0(T x, T, T c) {
    const T far(2000), zero(0), one(1), product = c * x;
    const T z = select(product < -far, -far, select(far < product, far, product));
    const T root = exp_of_negative(T(-0.5) * abs(z)), small = root * root,
            share = one / (one + small);
    return select(z < zero, (one + z * share) * share * root * root,
                  (one + z * share * small) * share);
  }
};

struct Softsign : UnaryFormula {
  static constexpr std::string_view name = "softsign", formula = "x / (1 + |x|)";
  static constexpr Needs needs = Needs::inputs;
  // Beyond `far` it is 1 or -1 in any type.
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

// The first of two equal numbers, and of a NaN and a number the NaN.
struct Min : BinaryFormula {
  static constexpr std::string_view name = "min",
                                    formula = "the smaller of a and b; dy/da = 1 if a = b";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T a, T b) {
    return select(is_nan(b), b, select(b < a, b, a));
  }
  template <class T>
  LANE static T slope_0(T a, T b, T) {
    return T(1) - slope_1(a, b, a);
  }
  template <class T>
  LANE static T slope_1(T a, T b, T) {
    return select(b < a, T(1), select(is_nan(a), T(0), select(is_nan(b), T(1), T(0))));
  }
};

// As min: max(a, b) = -min(-a, -b).
struct Max : BinaryFormula {
  static constexpr std::string_view name = "max",
                                    formula = "the larger of a and b; dy/da = 1 if a = b";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T a, T b) {
    return select(is_nan(b), b, select(a < b, b, a));
  }
  template <class T>
  LANE static T slope_0(T a, T b, T) {
    return T(1) - slope_1(a, b, a);
  }
  template <class T>
  LANE static T slope_1(T a, T b, T) {
    return select(a < b, T(1), select(is_nan(a), T(0), select(is_nan(b), T(1), T(0))));
  }
};

struct ScaleGradient : UnaryRealFormula {
  static constexpr std::string_view name = "scale_gradient",
                                    formula = "x, whose gradient is multiplied by c";
  static constexpr bool is_derivative = false;
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T x, T) {
    return x;
  }
  template <class T>
  LANE static T slope_0(T, T, T c) {
    return c;
  }
};

/// The table: an elementwise op exists once its formula stands here.
using ElementwiseFormulas =
    TypeList<Negate, Add, Subtract, Cmult, Cdiv, ScalarAdd, ScalarSubtract, ScalarMultiply,
             ScalarDivide, Tanh, Logistic, Rectify, Exp, Log, Sqrt, Square, Abs, Cube, LogSigmoid,
             Elu, Selu, Silu, Softsign, Min, Max, ScaleGradient>;
