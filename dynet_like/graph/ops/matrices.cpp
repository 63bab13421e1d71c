// Ops on square matrices as a whole: the inverse, and the logarithm of the determinant.
#include "dynet_like/graph/recording.h"

#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

namespace {

void check_square(std::string_view op, const Dim& dim) {
  const unsigned n = dim.rows();
  if (dim.cols() != n || dim.size() != n * n) {
    throw_shape_error(op, "a square matrix", std::span(&dim, 1));
  }
}

// The test matrices are far from singular, and their determinants are positive.
Op on_square_matrix(std::string_view name, std::string_view formula, Needs needs) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.gradient.needs = needs;
  op.cost = [](const Signature& type) {
    const double n = type.inputs[0].rows();
    return 2 * n * n * n;
  };
  return op;
}

}  // namespace

const Op inverse = [] {
  Op op = on_square_matrix("inverse", "the inverse Y of a matrix; dX = -Y' dY Y'", Needs::output);
  op.shape = [](Inputs in, Attributes) {
    check_square("inverse", in[0]);
    return in[0];
  };
  return op;
}();

const Op logdet = [] {
  Op op = on_square_matrix(
      "logdet", "ln of the determinant of a matrix: NaN if that is negative; dX = dy (X^-1)'",
      Needs::inputs);
  op.shape = [](Inputs in, Attributes) {
    check_square("logdet", in[0]);
    return Dim({1});
  };
  return op;
}();

std::span<const Op* const> matrix_ops() {
  static const Op* const all[] = {&inverse, &logdet};
  return all;
}

}  // namespace ops

using namespace detail::recording;

Expression inverse(const Expression& x) { return unary(ops::inverse, x); }
Expression logdet(const Expression& x) { return unary(ops::logdet, x); }

}  // namespace dynet_like
