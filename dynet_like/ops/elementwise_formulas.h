// The formulas of all elementwise ops, over any lane type. Each target includes this file once.
//
// The includer provides a namespace, the macro LANE (the function attributes of its target) and,
// for its lane type T: the arithmetic operators, the comparison <, exp, exp_of_negative and expm1
// (of x <= 0), log, log1p (of x >= 0), sqrt, tanh, sigmoid, normal_tail (of x >= 0), abs, square,
// is_nan and select(condition, a, b). T(c) is the constant c in all lanes.
//
// A formula has value(inputs..., reals...) and, for input j, slope_j(inputs..., y, reals...) =
// dy/dx_j. This file has the arithmetic; activation functions, comparisons and losses are in files
// of their own.

/// y = f(x).
struct UnaryFormula {
  static constexpr unsigned inputs = 1, reals = 0;
  static constexpr bool is_derivative = true;  ///< the slopes are, and tests check it
};
/// y = f(x, a) with a real number a, which every node has for itself.
struct UnaryRealFormula : UnaryFormula {
  static constexpr unsigned reals = 1;
};
/// y = f(a, b), where dimensions of size 1 are stretched to the size of the other input.
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
  static constexpr Needs needs = Needs::output;
  template <class T>
  LANE static T value(T x) {
    return sqrt(x);
  }
  // sqrt(-0) is -0, and has the same slope as sqrt(0).
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

#include "dynet_like/ops/activation_formulas.h"
#include "dynet_like/ops/comparison_formulas.h"
#include "dynet_like/ops/loss_formulas.h"

/// The list of elementwise ops: adding a formula here creates its op.
using ElementwiseFormulas =
    TypeList<Negate, Add, Subtract, Cmult, Cdiv, ScalarAdd, ScalarSubtract, ScalarMultiply,
             ScalarDivide, Tanh, TanhOfSum, Sigmoid, Relu, Exp, Log, Sqrt, Square, Abs, Cube,
             LogSigmoid, Elu, Selu, Silu, Gelu, GeluTanh, Softplus, LeakyRelu, Softsign, Min, Max,
             ScalarMin, ScalarMax, Sign, Less, LessEqual, Equal, KeepWhere, DropWhere, LogitLoss,
             DivergenceTerm, ScaleGradient>;

// These call any formula with all arguments; the formula ignores those that it does not read.
template <class F>
inline constexpr bool reads_inputs =
    F::needs == Needs::inputs || F::needs == Needs::inputs_and_output;
template <class F>
inline constexpr bool reads_output =
    F::needs == Needs::output || F::needs == Needs::inputs_and_output;

template <class F, class T>
LANE T value_of(T a, T b, T real) {
  if constexpr (F::inputs == 2) {
    return F::value(a, b);
  } else if constexpr (F::reals == 1) {
    return F::value(a, real);
  } else {
    return F::value(a);
  }
}

template <class F, unsigned j, class T>
LANE T slope_of(T a, T b, T y, T real) {
  if constexpr (F::inputs == 2 && j == 0) {
    return F::slope_0(a, b, y);
  } else if constexpr (F::inputs == 2) {
    return F::slope_1(a, b, y);
  } else if constexpr (F::reals == 1) {
    return F::slope_0(a, y, real);
  } else {
    return F::slope_0(a, y);
  }
}
