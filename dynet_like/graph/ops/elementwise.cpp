// Elementwise operations.
#include "dynet_like/graph/recording.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/special_formulas.h"
#include "dynet_like/tape/views.h"

namespace dynet_like {

using namespace detail::recording;

namespace {

using Binary = Expression (*)(const Expression&, const Expression&);

// The extreme of many expressions, folded from the first on.
Expression extreme(const char* name, Binary of_two, std::span<const Expression> all) {
  const std::vector<Expression> xs = of_one_graph(name, all);
  Expression result = xs[0];
  for (std::size_t i = 1; i < xs.size(); ++i) result = of_two(result, xs[i]);
  return result;
}

Expression number(const char* user, const Expression& x, float c) {
  return constant(graph_of(user, x), Dim({1}), c);
}

Expression compare(const Op& op, const Expression& a, const Expression& b) {
  const auto [x, y] = of_one_graph(op.name, a, b);
  return binary(op, nobackprop(x), nobackprop(y));
}

Expression rounded(const Op& op, const Expression& x, GradientMode mode) {
  return unary(op, mode == GradientMode::zero_gradient ? nobackprop(x) : x);
}

}  // namespace

Expression operator+(const Expression& a, const Expression& b) {
  return binary(ops::elementwise<ops::formulas::Add>, a, b);
}
Expression operator-(const Expression& a, const Expression& b) {
  return binary(ops::elementwise<ops::formulas::Subtract>, a, b);
}
Expression cmult(const Expression& a, const Expression& b) {
  return binary(ops::elementwise<ops::formulas::Cmult>, a, b);
}
Expression mul(const Expression& a, const Expression& b) { return cmult(a, b); }
Expression cdiv(const Expression& a, const Expression& b) {
  return binary(ops::elementwise<ops::formulas::Cdiv>, a, b);
}
Expression operator/(const Expression& a, const Expression& b) { return cdiv(a, b); }

Expression operator-(const Expression& x) {
  return unary(ops::elementwise<ops::formulas::Negate>, x);
}
Expression operator+(const Expression& x, float c) {
  return with_number(ops::elementwise<ops::formulas::ScalarAdd>, x, c);
}
Expression operator+(float c, const Expression& x) { return x + c; }
Expression operator-(const Expression& x, float c) { return x + -c; }
Expression operator-(float c, const Expression& x) {
  return with_number(ops::elementwise<ops::formulas::ScalarSubtract>, x, c);
}
Expression operator*(const Expression& x, float c) {
  return with_number(ops::elementwise<ops::formulas::ScalarMultiply>, x, c);
}
Expression operator*(float c, const Expression& x) { return x * c; }
Expression operator/(const Expression& x, float c) {
  return with_number(ops::elementwise<ops::formulas::ScalarDivide>, x, c);
}

Expression& operator+=(Expression& a, const Expression& b) { return a = a + b; }
Expression& operator-=(Expression& a, const Expression& b) { return a = a - b; }
Expression& operator+=(Expression& x, float c) { return x = x + c; }
Expression& operator-=(Expression& x, float c) { return x = x - c; }
Expression& operator*=(Expression& x, float c) { return x = x * c; }
Expression& operator/=(Expression& x, float c) { return x = x / c; }

Expression tanh(const Expression& x) { return unary(ops::elementwise<ops::formulas::Tanh>, x); }
Expression tanh_of_sum(const Expression& a, const Expression& b) {
  return binary(ops::elementwise<ops::formulas::TanhOfSum>, a, b);
}
Expression sigmoid(const Expression& x) {
  return unary(ops::elementwise<ops::formulas::Sigmoid>, x);
}
Expression relu(const Expression& x) { return unary(ops::elementwise<ops::formulas::Relu>, x); }
Expression exp(const Expression& x) { return unary(ops::elementwise<ops::formulas::Exp>, x); }
Expression log(const Expression& x) { return unary(ops::elementwise<ops::formulas::Log>, x); }
Expression sqrt(const Expression& x) { return unary(ops::elementwise<ops::formulas::Sqrt>, x); }
Expression square(const Expression& x) { return unary(ops::elementwise<ops::formulas::Square>, x); }

Expression abs(const Expression& x) { return unary(ops::elementwise<ops::formulas::Abs>, x); }
Expression erf(const Expression& x) { return unary(ops::elementwise<ops::formulas::Erf>, x); }
Expression sin(const Expression& x) { return unary(ops::elementwise<ops::formulas::Sin>, x); }
Expression cos(const Expression& x) { return unary(ops::elementwise<ops::formulas::Cos>, x); }
Expression tan(const Expression& x) { return unary(ops::elementwise<ops::formulas::Tan>, x); }
Expression asin(const Expression& x) { return unary(ops::elementwise<ops::formulas::Asin>, x); }
Expression acos(const Expression& x) { return unary(ops::elementwise<ops::formulas::Acos>, x); }
Expression atan(const Expression& x) { return unary(ops::elementwise<ops::formulas::Atan>, x); }
Expression sinh(const Expression& x) { return unary(ops::elementwise<ops::formulas::Sinh>, x); }
Expression cosh(const Expression& x) { return unary(ops::elementwise<ops::formulas::Cosh>, x); }
Expression asinh(const Expression& x) { return unary(ops::elementwise<ops::formulas::Asinh>, x); }
Expression acosh(const Expression& x) { return unary(ops::elementwise<ops::formulas::Acosh>, x); }
Expression atanh(const Expression& x) { return unary(ops::elementwise<ops::formulas::Atanh>, x); }
Expression cube(const Expression& x) { return unary(ops::elementwise<ops::formulas::Cube>, x); }
Expression log_sigmoid(const Expression& x) {
  return unary(ops::elementwise<ops::formulas::LogSigmoid>, x);
}
Expression lgamma(const Expression& x) { return unary(ops::elementwise<ops::formulas::Lgamma>, x); }
Expression elu(const Expression& x, float alpha) {
  return with_number(ops::elementwise<ops::formulas::Elu>, x, alpha);
}
Expression selu(const Expression& x) { return unary(ops::elementwise<ops::formulas::Selu>, x); }
Expression silu(const Expression& x, float beta) {
  return with_number(ops::elementwise<ops::formulas::Silu>, x, beta);
}
Expression gelu(const Expression& x) { return unary(ops::elementwise<ops::formulas::Gelu>, x); }
Expression gelu_tanh(const Expression& x) {
  return unary(ops::elementwise<ops::formulas::GeluTanh>, x);
}
Expression softplus(const Expression& x) {
  return unary(ops::elementwise<ops::formulas::Softplus>, x);
}
Expression leaky_relu(const Expression& x, float slope) {
  return with_number(ops::elementwise<ops::formulas::LeakyRelu>, x, slope);
}
Expression softsign(const Expression& x) {
  return unary(ops::elementwise<ops::formulas::Softsign>, x);
}
Expression pow(const Expression& x, const Expression& y) {
  return binary(ops::elementwise<ops::formulas::Pow>, x, y);
}
Expression pow(const Expression& x, float y) { return pow(x, number("pow", x, y)); }
Expression min(const Expression& x, const Expression& y) {
  return binary(ops::elementwise<ops::formulas::Min>, x, y);
}
Expression max(const Expression& x, const Expression& y) {
  return binary(ops::elementwise<ops::formulas::Max>, x, y);
}
Expression min(const Expression& x, float c) {
  return with_number(ops::elementwise<ops::formulas::ScalarMin>, x, c);
}
Expression max(const Expression& x, float c) {
  return with_number(ops::elementwise<ops::formulas::ScalarMax>, x, c);
}
Expression min(Expressions xs) { return extreme("min", min, xs); }
Expression max(Expressions xs) { return extreme("max", max, xs); }
Expression clip(const Expression& x, float low, float high) {
  if (!(low <= high)) {
    throw UsageError("[clip] need a lower end that is not above the upper one; got " +
                     std::to_string(low) + " and " + std::to_string(high) + labels_of(x));
  }
  return min(max(x, low), high);
}

Expression sign(const Expression& x) {
  return unary(ops::elementwise<ops::formulas::Sign>, nobackprop(x));
}
Expression less(const Expression& a, const Expression& b) {
  return compare(ops::elementwise<ops::formulas::Less>, a, b);
}
Expression less_equal(const Expression& a, const Expression& b) {
  return compare(ops::elementwise<ops::formulas::LessEqual>, a, b);
}
Expression greater(const Expression& a, const Expression& b) { return less(b, a); }
Expression greater_equal(const Expression& a, const Expression& b) { return less_equal(b, a); }
Expression equal(const Expression& a, const Expression& b) {
  return compare(ops::elementwise<ops::formulas::Equal>, a, b);
}
Expression less(const Expression& a, float b) { return less(a, number("less", a, b)); }
Expression less_equal(const Expression& a, float b) {
  return less_equal(a, number("less_equal", a, b));
}
Expression greater(const Expression& a, float b) { return greater(a, number("greater", a, b)); }
Expression greater_equal(const Expression& a, float b) {
  return greater_equal(a, number("greater_equal", a, b));
}
Expression equal(const Expression& a, float b) { return equal(a, number("equal", a, b)); }
Expression where(const Expression& condition, const Expression& a, const Expression& b) {
  const Expression which = nobackprop(condition);
  return binary(ops::elementwise<ops::formulas::KeepWhere>, a, which) +
         binary(ops::elementwise<ops::formulas::DropWhere>, b, which);
}

Expression round(const Expression& x, GradientMode mode) {
  return rounded(ops::elementwise<ops::formulas::Round>, x, mode);
}
Expression ceil(const Expression& x, GradientMode mode) {
  return rounded(ops::elementwise<ops::formulas::Ceil>, x, mode);
}
Expression floor(const Expression& x, GradientMode mode) {
  return rounded(ops::elementwise<ops::formulas::Floor>, x, mode);
}
Expression scale_gradient(const Expression& x, float factor) {
  return with_number(ops::elementwise<ops::formulas::ScaleGradient>, x, factor);
}
Expression flip_gradient(const Expression& x) { return scale_gradient(x, -1); }

Expression nobackprop(const Expression& x) {
  const Recorder graph = graph_of("nobackprop", x);
  return graph.expression(without_gradient(graph.writer(), x.i));
}

}  // namespace dynet_like
