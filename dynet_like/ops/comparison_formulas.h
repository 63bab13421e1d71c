// The formulas that compare and choose, included by elementwise_formulas.h.

// The first of two equal numbers. If one operand is a NaN, the result is a NaN.
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

// Like min: max(a, b) = -min(-a, -b).
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

// The same with a number c. The tests keep their inputs away from c.
struct ScalarMin : UnaryRealFormula {
  static constexpr std::string_view name = "scalar_min",
                                    formula = "the smaller of x and c; dy/dx = 1 if x = c";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x, T c) {
    return Min::value(x, c);
  }
  template <class T>
  LANE static T slope_0(T x, T y, T c) {
    return Min::slope_0(x, c, y);
  }
};

struct ScalarMax : UnaryRealFormula {
  static constexpr std::string_view name = "scalar_max",
                                    formula = "the larger of x and c; dy/dx = 1 if x = c";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T x, T c) {
    return Max::value(x, c);
  }
  template <class T>
  LANE static T slope_0(T x, T y, T c) {
    return Max::slope_0(x, c, y);
  }
};

struct Sign : UnaryFormula {
  static constexpr std::string_view name = "sign", formula = "-1, 0 or 1; dy/dx = 0";
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T value(T x) {
    return select(x < T(0), T(-1), select(T(0) < x, T(1), x));
  }
  template <class T>
  LANE static T slope_0(T, T) {
    return T(0);
  }
};

// 1 or 0, or NaN if an operand is a NaN.
struct ComparisonFormula : BinaryFormula {
  static constexpr bool is_derivative = false;
  static constexpr Needs needs = Needs::nothing;
  template <class T>
  LANE static T unless_nan(T a, T b, T result) {
    return select(is_nan(a), T(0), select(is_nan(b), T(0), result));
  }
  template <class T>
  LANE static T slope_0(T, T, T) {
    return T(0);
  }
  template <class T>
  LANE static T slope_1(T, T, T) {
    return T(0);
  }
};

struct Less : ComparisonFormula {
  static constexpr std::string_view name = "less", formula = "a < b: 1, else 0; no gradient";
  template <class T>
  LANE static T value(T a, T b) {
    return select(a < b, T(1), T(0));
  }
};

struct LessEqual : ComparisonFormula {
  static constexpr std::string_view name = "less_equal", formula = "a <= b: 1, else 0; no gradient";
  template <class T>
  LANE static T value(T a, T b) {
    return unless_nan(a, b, select(b < a, T(0), T(1)));
  }
};

struct Equal : ComparisonFormula {
  static constexpr std::string_view name = "equal", formula = "a = b: 1, else 0; no gradient";
  template <class T>
  LANE static T value(T a, T b) {
    return unless_nan(a, b, select(a < b, T(0), select(b < a, T(0), T(1))));
  }
};

// The two halves of where(condition, a, b). The value that is not chosen has no effect, even if it
// is a NaN. If the condition is a NaN, so is the result.
struct KeepWhere : BinaryFormula {
  static constexpr std::string_view name = "keep_where", formula = "b = 0: 0, else a; db = 0";
  static constexpr Needs needs = Needs::inputs;
  template <class T>
  LANE static T value(T a, T b) {
    return if_zero(b, T(0), a);
  }
  template <class T>
  LANE static T slope_0(T, T b, T) {
    return if_zero(b, T(0), T(1));
  }
  template <class T>
  LANE static T slope_1(T, T, T) {
    return T(0);
  }
  template <class T>
  LANE static T if_zero(T b, T zero, T other) {
    return select(b < T(0), other, select(T(0) < b, other, select(is_nan(b), b, zero)));
  }
};

struct DropWhere : KeepWhere {
  static constexpr std::string_view name = "drop_where", formula = "b = 0: a, else 0; db = 0";
  template <class T>
  LANE static T value(T a, T b) {
    return if_zero(b, a, T(0));
  }
  template <class T>
  LANE static T slope_0(T, T b, T) {
    return if_zero(b, T(1), T(0));
  }
};
