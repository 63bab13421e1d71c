// Products: matrix times matrix, affine maps, contractions.
#include "dynet_like/graph/recording.h"

#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

namespace {

// The shape of W x, as a vector if x is one.
Dim product_shape(std::string_view op, const Dim& w, const Dim& x, Inputs all) {
  if (w == x && w.nd == 1 && w.rows() > 1) {
    throw_shape_error(op, "a matrix on the left (element by element it is cmult)", all);
  }
  if (w.nd > 2 || x.nd > 2 || w.cols() != x.rows()) {
    throw_shape_error(op, "as many columns on the left as rows on the right", all);
  }
  return x.nd == 2 ? Dim({w.rows(), x.cols()}) : Dim({w.rows()});
}

// Weights are the even inputs of a product W x, and the odd inputs of b + W x + ...
bool is_weight(const Signature& type, unsigned input) {
  const bool has_bias = type.inputs.size() % 2 == 1;
  return has_bias ? input % 2 == 1 : input % 2 == 0;
}

SharedGradient product_gradient(const Signature& type, unsigned input) {
  if (is_weight(type, input)) return SharedGradient::outer_product;
  const bool bias = type.inputs.size() % 2 == 1 && input == 0;
  return bias ? SharedGradient::sum : SharedGradient::dense;
}

double product_cost(const Signature& type) {
  double flops = 0;
  for (unsigned j = 0; j < type.inputs.size(); ++j) {
    if (is_weight(type, j)) flops += 2.0 * type.inputs[j].size() * type.inputs[j + 1].cols();
  }
  return flops;
}

Dim affine_shape(Inputs in, Attributes) {
  if (in.size() % 2 == 0) {
    throw_shape_error("affine_transform", "a bias and pairs of a matrix and a right side", in);
  }
  Dim result = product_shape("affine_transform", in[1], in[2], in);
  for (std::size_t j = 3; j < in.size(); j += 2) {
    if (product_shape("affine_transform", in[j], in[j + 1], in) != result) {
      throw_shape_error("affine_transform", "products of one shape", in);
    }
  }
  const Dim& bias = in[0];
  if (bias.nd > 2 || bias.rows() != result.rows() ||
      (bias.cols() != 1 && bias.cols() != result.cols())) {
    throw_shape_error("affine_transform", "a bias with the rows of the products", in);
  }
  return result;
}

}  // namespace

const Op matrix_product = [] {
  Op op;
  op.name = "matrix_product";
  op.role = Role::product;
  op.formula =
      "W x, a chain of fused multiply-adds over the columns of W per element, on GPUs up to four";
  op.min_inputs = op.max_inputs = 2;
  op.batching.join = [](unsigned input, Attributes) {
    return input == 0 ? Join::broadcast : Join::stacked;
  };
  op.batching.by_column = [](unsigned input, unsigned, Attributes) { return input == 1; };
  op.gradient.needs = Needs::inputs;
  op.shape = [](Inputs in, Attributes) {
    return product_shape("matrix_product", in[0], in[1], in);
  };
  op.gradient.shared = product_gradient;
  op.cost = product_cost;
  return op;
}();

const Op affine_transform = [] {
  Op op;
  op.name = "affine_transform";
  op.role = Role::product;
  op.formula =
      "(W1 x1 + W2 x2 + ...) + b, a chain over the columns of all W per element, on GPUs up to "
      "four";
  op.min_inputs = 3;
  op.max_inputs = 33;  // sixteen products
  op.batching.join = [](unsigned input, Attributes) {
    return input == 0 || input % 2 == 1 ? Join::broadcast : Join::stacked;
  };
  op.batching.by_column = [](unsigned input, unsigned, Attributes) { return input % 2 == 0; };
  op.gradient.needs = Needs::inputs;
  op.shape = affine_shape;
  op.gradient.shared = product_gradient;
  op.early = [](const Signature& type, std::uint64_t ready) -> EarlyProducts {
    return {leading_pairs(type, 1, ready), type.output_size};
  };
  op.cost = product_cost;
  return op;
}();

std::span<const Op* const> product_ops() {
  static const Op* const all[] = {&matrix_product, &affine_transform};
  return all;
}

}  // namespace ops

using namespace detail::recording;

Expression operator*(const Expression& a, const Expression& b) {
  return binary(ops::matrix_product, a, b);
}
Expression matmul(const Expression& a, const Expression& b) { return a * b; }
Expression affine_transform(Expressions xs) {
  return xs.size() == 1 ? *xs.begin() : many(ops::affine_transform, xs);
}
Expression colwise_add(const Expression& x, const Expression& bias) { return x + bias; }
Expression contract3d_1d(const Expression& tensor, const Expression& y) {
  const Expression x = of_one_graph("contract3d_1d", tensor, y)[0];
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

}  // namespace dynet_like
