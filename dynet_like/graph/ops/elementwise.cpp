// The operations element by element.
#include "dynet_like/graph/recording.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/special_formulas.h"
#include "dynet_like/tape/views.h"

namespace dynet_like {

using namespace recording;

namespace {

using Binary = Expression (*)(const Expression&, const Expression&);

// Of many, two by two from the first.
Expression extreme(const char* name, Binary of_two, std::span<const Expression> xs) {
  graph_of(name, xs);
  Expression result = xs[0];
  for (const Expression& x : xs.subspan(1)) result = of_two(result, x);
  return result;
}

Expression number(const char* user, const Expression& x, float c) {
  return constant(graph_of(user, x), Dim({1}), c);
}

Expression compare(const Op& op, const Expression& a, const Expression& b) {
  return binary(op, nobackprop(a), nobackprop(b));
}

Expression rounded(const Op& op, const Expression& x, GradientMode mode) {
  return unary(op, mode == GradientMode::zero_gradient ? nobackprop(x) : x);
}

}  // namespace

Expression operator+(const Expression& a, const Expression& b) {
  return binary(elementwise<formulas::Add>, a, b);
}
Expression operator-(const Expression& a, const Expression& b) {
  return binary(elementwise<formulas::Subtract>, a, b);
}
Expression cmult(const Expression& a, const Expression& b) {
  return binary(elementwise<formulas::Cmult>, a, b);
}
Expression cdiv(const Expression& a, const Expression& b) {
  return binary(elementwise<formulas::Cdiv>, a, b);
}
Expression operator/(const Expression& a, const Expression& b) { return cdiv(a, b); }

Expression operator-(const Expression& x) { return unary(elementwise<formulas::Negate>, x); }
Expression operator+(const Expression& x, float c) {
  return with_number(elementwise<formulas::ScalarAdd>, x, c);
}
Expression operator+(float c, const Expression& x) { return x + c; }
Expression operator-(const Expression& x, float c) { return x + -c; }
Expression operator-(float c, const Expression& x) {
  return with_number(elementwise<formulas::ScalarSubtract>, x, c);
}
Expression operator*(const Expression& x, float c) {
  return with_number(elementwise<formulas::ScalarMultiply>, x, c);
}
Expression operator*(float c, const Expression& x) { return x * c; }
Expression operator/(const Expression& x, float c) {
  return with_number(elementwise<formulas::ScalarDivide>, x, c);
}

Expression& operator+=(Expression& a, const Expression& b) { return a = a + b; }
Expression& operator-=(Expression& a, const Expression& b) { return a = a - b; }
Expression& operator+=(Expression& x, float c) { return x = x + c; }
Expression& operator-=(Expression& x, float c) { return x = x - c; }
Expression& operator*=(Expression& x, float c) { return x = x * c; }
Expression& operator/=(Expression& x, float c) { return x = x / c; }

Expression tanh(const Expression& x) { return unary(elementwise<formulas::Tanh>, x); }
Expression logistic(const Expression& x) { return unary(elementwise<formulas::Logistic>, x); }
Expression rectify(const Expression& x) { return unary(elementwise<formulas::Rectify>, x); }
Expression exp(const Expression& x) { return unary(elementwise<formulas::Exp>, x); }
Expression log(const Expression& x) { return unary(elementwise<formulas::Log>, x); }
Expression sqrt(const Expression& x) { return unary(elementwise<formulas::Sqrt>, x); }
Expression square(const Expression& x) { return unary(elementwise<formulas::Square>, x); }

Expression abs(const Expression& x) { return unary(elementwise<formulas::Abs>, x); }
Expression erf(const Expression& x) { return unary(elementwise<formulas::Erf>, x); }
Expression sin(const Expression& x) { return unary(elementwise<formulas::Sin>, x); }
Expression cos(const Expression& x) { return unary(elementwise<formulas::Cos>, x); }
Expression tan(const Expression& x) { return unary(elementwise<formulas::Tan>, x); }
Expression asin(const Expression& x) { return unary(elementwise<formulas::Asin>, x); }
Expression acos(const Expression& x) { return unary(elementwise<formulas::Acos>, x); }
Expression atan(const Expression& x) { return unary(elementwise<formulas::Atan>, x); }
Expression sinh(const Expression& x) { return unary(elementwise<formulas::Sinh>, x); }
Expression cosh(const Expression& x) { return unary(elementwise<formulas::Cosh>, x); }
Expression asinh(const Expression& x) { return unary(elementwise<formulas::Asinh>, x); }
Expression acosh(const Expression& x) { return unary(elementwise<formulas::Acosh>, x); }
Expression atanh(const Expression& x) { return unary(elementwise<formulas::Atanh>, x); }
Expression cube(const Expression& x) { return unary(elementwise<formulas::Cube>, x); }
Expression log_sigmoid(const Expression& x) { return unary(elementwise<formulas::LogSigmoid>, x); }
Expression lgamma(const Expression& x) { return unary(elementwise<formulas::Lgamma>, x); }
Expression elu(const Expression& x, float alpha) {
  return with_number(elementwise<formulas::Elu>, x, alpha);
}
Expression selu(const Expression& x) { return unary(elementwise<formulas::Selu>, x); }
Expression silu(const Expression& x, float beta) {
  return with_number(elementwise<formulas::Silu>, x, beta);
}
Expression gelu(const Expression& x) { return unary(elementwise<formulas::Gelu>, x); }
Expression gelu_tanh(const Expression& x) { return unary(elementwise<formulas::GeluTanh>, x); }
Expression softplus(const Expression& x) { return unary(elementwise<formulas::Softplus>, x); }
Expression leaky_relu(const Expression& x, float slope) {
  return with_number(elementwise<formulas::LeakyRelu>, x, slope);
}
Expression relu(const Expression& x) { return rectify(x); }
Expression sigmoid(const Expression& x) { return logistic(x); }
Expression softsign(const Expression& x) { return unary(elementwise<formulas::Softsign>, x); }
Expression pow(const Expression& x, const Expression& y) {
  return binary(elementwise<formulas::Pow>, x, y);
}
Expression min(const Expression& x, const Expression& y) {
  return binary(elementwise<formulas::Min>, x, y);
}
Expression max(const Expression& x, const Expression& y) {
  return binary(elementwise<formulas::Max>, x, y);
}
Expression min(const Expression& x, float c) {
  return with_number(elementwise<formulas::ScalarMin>, x, c);
}
Expression max(const Expression& x, float c) {
  return with_number(elementwise<formulas::ScalarMax>, x, c);
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

Expression sign(const Expression& x) { return unary(elementwise<formulas::Sign>, nobackprop(x)); }
Expression less(const Expression& a, const Expression& b) {
  return compare(elementwise<formulas::Less>, a, b);
}
Expression less_equal(const Expression& a, const Expression& b) {
  return compare(elementwise<formulas::LessEqual>, a, b);
}
Expression greater(const Expression& a, const Expression& b) { return less(b, a); }
Expression greater_equal(const Expression& a, const Expression& b) { return less_equal(b, a); }
Expression equal(const Expression& a, const Expression& b) {
  return compare(elementwise<formulas::Equal>, a, b);
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
  return binary(elementwise<formulas::KeepWhere>, a, which) +
         binary(elementwise<formulas::DropWhere>, b, which);
}

Expression round(const Expression& x, GradientMode mode) {
  return rounded(elementwise<formulas::Round>, x, mode);
}
Expression ceil(const Expression& x, GradientMode mode) {
  return rounded(elementwise<formulas::Ceil>, x, mode);
}
Expression floor(const Expression& x, GradientMode mode) {
  return rounded(elementwise<formulas::Floor>, x, mode);
}
Expression scale_gradient(const Expression& x, float factor) {
  return with_number(elementwise<formulas::ScaleGradient>, x, factor);
}
Expression flip_gradient(const Expression& x) { return scale_gradient(x, -1); }

Expression nobackprop(const Expression& x) {
  ComputationGraph& graph = graph_of("nobackprop", x);
  return graph.expression(without_gradient(graph.tape(), x.i));
}

}  // namespace dynet_like
