// The operations that multiply: matrix products, inverses, affine maps, cells.
#include "dynet_like/graph/recording.h"

#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/views.h"

namespace dynet_like {

using namespace recording;

Expression operator*(const Expression& a, const Expression& b) {
  return binary(ops::matrix_product, a, b);
}
Expression affine_transform(Expressions xs) {
  return xs.size() == 1 ? *xs.begin() : many(ops::affine_transform, xs);
}
Expression inverse(const Expression& x) { return unary(ops::inverse, x); }
Expression logdet(const Expression& x) { return unary(ops::logdet, x); }
CellState lstm_cell(const Expression& b, Expressions xs, Expressions cells, bool input_first) {
  std::vector<Expression> inputs = {b};
  inputs.insert(inputs.end(), cells.begin(), cells.end());
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  const std::uint32_t attributes[] = {static_cast<std::uint32_t>(cells.size()), input_first};
  const Expression both = many(ops::lstm_cell, inputs, attributes);
  ComputationGraph& graph = *both.pg;
  const std::uint32_t hidden = graph.tape().shape_of(both.i).size / 2;
  const std::uint32_t start[] = {0, hidden};
  return {graph.expression(pick_range(graph.tape(), both.i, std::span(start, 1), hidden, 0)),
          graph.expression(pick_range(graph.tape(), both.i, std::span(start + 1, 1), hidden, 0))};
}
Expression gru_cell(const Expression& b_h, const Expression& u, const Expression& h) {
  const Expression inputs[] = {b_h, u, h};
  return many(ops::gru_cell, inputs);
}
Expression gru_cell(const Expression& b_h, const Expression& u, const Expression& h,
                    const Expression& b_x, const Expression& w, const Expression& x) {
  const Expression inputs[] = {b_h, u, h, b_x, w, x};
  return many(ops::gru_cell, inputs);
}
Expression colwise_add(const Expression& x, const Expression& bias) { return x + bias; }

Expression contract3d_1d(const Expression& x, const Expression& y) {
  const Dim dim = x.dim();
  if (dim.nd != 3 || y.dim().batch_size() != dim[2]) {
    refuse_shapes("contract3d_1d", "{m, n, k} and {k}", {x, y});
  }
  const Expression columns = reshape(x, Dim({dim[0] * dim[1], dim[2]}, dim.bd)) * y;
  return reshape(columns, Dim({dim[0], dim[1]}, columns.dim().bd));
}
Expression contract3d_1d(const Expression& x, const Expression& y, const Expression& b) {
  return contract3d_1d(x, y) + b;
}
Expression contract3d_1d_1d(const Expression& x, const Expression& y, const Expression& z) {
  return contract3d_1d(x, y) * z;
}
Expression contract3d_1d_1d(const Expression& x, const Expression& y, const Expression& z,
                            const Expression& b) {
  return contract3d_1d_1d(x, y, z) + b;
}

Expression dot_product(const Expression& a, const Expression& b) {
  return binary(ops::dot_product, a, b);
}
Expression squared_distance(const Expression& a, const Expression& b) {
  return binary(ops::squared_distance, a, b);
}

}  // namespace dynet_like
