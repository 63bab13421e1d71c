// Cells of recurrent and recursive networks: products of gates and the pointwise part as one node.
#include "dynet_like/graph/recording.h"

#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/views.h"

namespace dynet_like {

namespace ops {

namespace {

constexpr std::size_t kMostProducts = 16;  // as in affine_transform
constexpr std::string_view kLstmRule =
    "{b, c of every child, W1, x1, ...} with a block of rows for every gate of b and W and at most "
    "16 products";

// Inputs: b, the cells of the children, then pairs (W, x).
struct LstmInputs {
  std::size_t children, gates;
  explicit LstmInputs(Attributes attributes)
      : children(attributes.size() == 2 ? attributes[0] : 0), gates(3 + children) {}
  bool is_weight(unsigned j) const { return j > children && (j - children) % 2 == 1; }
};

bool is_vector(const Dim& dim) { return dim.size() == dim.rows(); }

Dim lstm_shape(Inputs in, Attributes attributes) {
  const LstmInputs inputs(attributes);
  const auto require = [&](bool holds) {
    if (!holds) throw_shape_error("lstm_cell", kLstmRule, in);
  };
  require(attributes.size() == 2);
  require(in.size() >= inputs.children + 3 && (in.size() - inputs.children) % 2 == 1);
  require((in.size() - inputs.children - 1) / 2 <= kMostProducts);
  const unsigned rows = in[0].rows(), hidden = rows / static_cast<unsigned>(inputs.gates);
  require(is_vector(in[0]) && hidden > 0 && hidden * inputs.gates == rows);
  for (unsigned j = 1; j <= inputs.children; ++j) require(in[j] == Dim({hidden}));
  for (std::size_t j = inputs.children + 1; j < in.size(); j += 2) {
    require(in[j].nd <= 2 && in[j].rows() == rows);
    require(is_vector(in[j + 1]) && in[j + 1].rows() == in[j].cols());
  }
  return Dim({2 * hidden});
}

constexpr std::string_view kGruRule =
    "{b_h, U, h} or {b_h, U, h, b_x, W, x} with three blocks of rows in b, U and W";

Dim gru_shape(Inputs in, Attributes) {
  const auto require = [&](bool holds) {
    if (!holds) throw_shape_error("gru_cell", kGruRule, in);
  };
  require(in.size() == 3 || in.size() == 6);
  const unsigned hidden = in[2].rows();
  for (std::size_t j = 0; j < in.size(); j += 3) {
    require(is_vector(in[j]) && in[j].rows() == 3 * hidden);
    require(in[j + 1].nd <= 2 && in[j + 1].rows() == 3 * hidden);
    require(is_vector(in[j + 2]) && in[j + 2].rows() == in[j + 1].cols());
  }
  return Dim({hidden});
}

double cost_of_cell(const Signature& type) {
  double flops = 20.0 * static_cast<double>(type.output_size);
  for (std::size_t j = 0; j < type.inputs.size(); ++j) {
    const bool weight =
        type.op->gradient.shared(type, static_cast<unsigned>(j)) == SharedGradient::outer_product;
    if (weight) flops += 2.0 * type.inputs[j].size();
  }
  return flops;
}

}  // namespace

const Op lstm_cell = [] {
  Op op;
  op.name = "lstm_cell";
  op.formula =
      "f_1, f_2, ..., i, o = sigmoid and u = tanh of the blocks of b + W1 x1 + ..., which are in "
      "the "
      "order f_1, f_2, ..., i, o, u; c = i u + f_1 c_1 + ...; h = o tanh c (Hochreiter and "
      "Schmidhuber 1997; Gers et al. 2000; Tai et al. 2015)";
  op.min_inputs = 3;
  op.max_inputs = 64;
  op.batching.join = [](unsigned input, Attributes attributes) {
    return input == 0 || LstmInputs(attributes).is_weight(input) ? Join::broadcast : Join::stacked;
  };
  op.gradient.needs = Needs::inputs;
  op.shape = lstm_shape;
  op.parts = 2;
  op.gradient.shared = [](const Signature& type, unsigned input) {
    if (input == 0) return SharedGradient::sum;
    return LstmInputs(type.attributes).is_weight(input) ? SharedGradient::outer_product
                                                        : SharedGradient::dense;
  };
  // The gates and tanh c.
  op.gradient.saved_size = [](const Signature& type) -> std::size_t {
    return type.inputs[0].size() + type.output_size / 2;
  };
  op.gradient.deferred_size = [](const Signature& type) -> std::size_t {
    return type.inputs[0].size();
  };
  op.early = [](const Signature& type, std::uint64_t ready) -> EarlyProducts {
    return {leading_pairs(type, type.attributes[0] + 1, ready), type.inputs[0].size()};
  };
  op.cost = cost_of_cell;
  return op;
}();

const Op gru_cell = [] {
  Op op;
  op.name = "gru_cell";
  op.formula =
      "r, z = sigmoid(b_x + W x + b_h + U h) in their blocks; n = tanh(b_x + W x + r (b_h + U "
      "h)); "
      "(1 - z) n + z h (Cho et al. 2014, with the reset gate behind the product)";
  op.min_inputs = 3;
  op.max_inputs = 6;
  op.batching.join = [](unsigned input, Attributes) {
    return input % 3 == 2 ? Join::stacked : Join::broadcast;
  };
  op.gradient.needs = Needs::inputs;
  op.shape = gru_shape;
  op.gradient.shared = [](const Signature&, unsigned input) {
    constexpr SharedGradient kinds[] = {SharedGradient::sum, SharedGradient::outer_product,
                                        SharedGradient::dense};
    return kinds[input % 3];
  };
  // r, z, n and the factor of r.
  op.gradient.saved_size = [](const Signature& type) -> std::size_t {
    return 4 * type.output_size;
  };
  // Gradients of the sums with h, then of those with x.
  op.gradient.deferred_size = [](const Signature& type) -> std::size_t {
    return type.inputs.size() * type.output_size;
  };
  op.gradient.deferred_offset = [](const Signature& type, unsigned input) -> std::size_t {
    return input < 3 ? 0 : 3 * type.output_size;
  };
  // All of b_x + W x.
  op.early = [](const Signature& type, std::uint64_t ready) -> EarlyProducts {
    const bool is_ready = type.inputs.size() == 6 && (ready >> 5 & 1) != 0 && type.shared[3] != 0 &&
                          type.shared[4] != 0;
    return {std::uint64_t{is_ready} << 5, 3 * type.output_size};
  };
  op.cost = cost_of_cell;
  return op;
}();

std::span<const Op* const> cell_ops() {
  static const Op* const all[] = {&lstm_cell, &gru_cell};
  return all;
}

}  // namespace ops

using namespace detail::recording;

CellState lstm_cell(const Expression& b, Expressions xs, Expressions cells, bool input_first) {
  std::vector<Expression> inputs = {b};
  inputs.insert(inputs.end(), cells.begin(), cells.end());
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  const std::uint32_t attributes[] = {static_cast<std::uint32_t>(cells.size()), input_first};
  const Expression both = many(ops::lstm_cell, inputs, attributes);
  const Recorder graph(*both.pg);
  const std::uint32_t hidden = graph.tape().shape_of(both.i).size / 2;
  const std::uint32_t start[] = {0, hidden};
  return {graph.expression(pick_range(graph.writer(), both.i, std::span(start, 1), hidden, 0)),
          graph.expression(pick_range(graph.writer(), both.i, std::span(start + 1, 1), hidden, 0))};
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

}  // namespace dynet_like
