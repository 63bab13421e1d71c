// Projections onto the simplex, with or without bounds, and a loss.
#include "dynet_like/graph/recording.h"

#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

namespace {

Dim vector_shape(std::string_view op, Inputs in) {
  for (const Dim& dim : in) {
    if (dim.size() != dim.rows() || dim != in[0]) throw_shape_error(op, "equal vectors", in);
  }
  return in[0];
}

Op on_vectors(std::string_view name, std::string_view formula, Needs needs) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.gradient.needs = needs;
  op.cost = [](const Signature& type) { return 30.0 * type.inputs[0].size(); };
  return op;
}

}  // namespace

const Op sparsemax = [] {
  Op op = on_vectors("sparsemax",
                     "max(0, x - t), with t such that the sum is 1 (Martins and Astudillo 2016)",
                     Needs::output);
  op.shape = [](Inputs in, Attributes) { return vector_shape("sparsemax", in); };
  return op;
}();

const Op sparsemax_loss = [] {
  Op op = on_vectors("sparsemax_loss",
                     "q'q / 2 - q'x + the sum of (x^2 - t^2) / 2 over the support of sparsemax(x), "
                     "where q shares 1 equally among the integers (Martins and Astudillo 2016)",
                     Needs::inputs);
  op.numbers.integer_count = [](Attributes attributes) {
    return attributes.size() == 1 ? attributes[0] : 0;
  };
  op.numbers.integer_limit = [](const Signature& type) { return type.inputs[0].rows(); };
  op.gradient.saved_size = [](const Signature&) -> std::size_t { return 2; };  // max x, t
  op.shape = [](Inputs in, Attributes attributes) {
    vector_shape("sparsemax_loss", in);
    if (attributes.size() != 1 || attributes[0] == 0) {
      throw_shape_error("sparsemax_loss", "at least one class in the target", in);
    }
    return Dim({1});
  };
  return op;
}();

const Op constrained_softmax = [] {
  Op op = on_vectors("constrained_softmax",
                     "the softmax of x with no element above its bound; bounds must add up to 1 or "
                     "more (Martins and Kreutzer 2017)",
                     Needs::inputs_and_output);
  op.min_inputs = op.max_inputs = 2;
  op.shape = [](Inputs in, Attributes) { return vector_shape("constrained_softmax", in); };
  return op;
}();

std::span<const Op* const> projection_ops() {
  static const Op* const all[] = {&sparsemax, &sparsemax_loss, &constrained_softmax};
  return all;
}

}  // namespace ops

using namespace detail::recording;

Expression sparsemax(const Expression& x) { return unary(ops::sparsemax, x); }
Expression sparsemax_loss(const Expression& x, const std::vector<unsigned>& target) {
  const auto count = static_cast<std::uint32_t>(target.size());
  return unary(ops::sparsemax_loss, x, std::span(&count, 1), {target});
}
Expression sparsemax_loss(const Expression& x, IntegersAt target) {
  const auto count = static_cast<std::uint32_t>(target.size());
  return unary(ops::sparsemax_loss, x, std::span(&count, 1), {{}, {}, target});
}
Expression constrained_softmax(const Expression& x, const Expression& y) {
  return binary(ops::constrained_softmax, x, y);
}

}  // namespace dynet_like
