// Attention: every query looks at as many keys as there are.
#include "dynet_like/ops/structured.h"

namespace dynet_like::ops {

namespace {

using Inputs = std::span<const Dim>;
using Attributes = std::span<const std::uint32_t>;

Dim attention_shape(Inputs in, Attributes attributes) {
  const Dim &q = in[0], &k = in[1], &v = in[2];
  const std::uint32_t heads = attributes.size() == 1 ? attributes[0] : 0;
  const bool fits = q.nd == 1 && k.nd == 2 && v.nd == 2 && q.rows() == k.rows();
  if (!fits || q.rows() == 0 || v.rows() == 0) {
    throw_shape_error("attention", "a query {d}, keys {d, n} and values {e, n}", in);
  }
  if (heads == 0 || q.rows() % heads != 0 || v.rows() % heads != 0) {
    throw_shape_error("attention", "rows that " + std::to_string(heads) + " heads can share", in);
  }
  return Dim({v.rows()});
}

}  // namespace

const Op attention = [] {
  Op op;
  op.name = "attention";
  op.formula =
      "per head, the sum over keys j of v_j e^(s_j) / sum e^s, where s_j = q k_j / sqrt(rows of a "
      "head) (Vaswani et al. 2017)";
  op.min_inputs = op.max_inputs = 3;
  op.open_inputs = 0b110;
  op.integers_per_item = 3;
  op.needs = Needs::inputs_and_output;
  op.shareable = false;
  op.shape = attention_shape;
  op.saved_size = [](const Signature& type) -> std::size_t { return type.attributes[0]; };
  // The number of keys is not known here; that of a sentence.
  op.cost = [](const Signature& type) {
    return 30.0 * 2 * (type.inputs[0].size() + type.output_size);
  };
  return op;
}();

}  // namespace dynet_like::ops
