// Attention: ops and functions. Nodes with different numbers of keys share a batch.
#include "dynet_like/core/counted.h"
#include "dynet_like/graph/recording.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/views.h"

namespace dynet_like {

namespace {

bool can_share(std::uint32_t heads, const Dim& queries, const Dim& values) {
  return heads > 0 && queries.rows() % heads == 0 && values.rows() % heads == 0;
}
std::string rule_of_heads(std::uint32_t heads) {
  return "rows that " + detail::counted(heads, "head") + " can share";
}

}  // namespace

namespace ops {

namespace {

Dim attention_shape(Inputs in, Attributes attributes) {
  const Dim &q = in[0], &k = in[1], &v = in[2];
  const std::uint32_t heads = attributes.size() == 1 ? attributes[0] : 0;
  const bool fits = q.nd == 1 && k.nd == 2 && v.nd == 2 && q.rows() == k.rows();
  if (!fits || q.rows() == 0 || v.rows() == 0) {
    throw_shape_error("attention", "a query {d}, keys {d, n} and values {e, n}", in);
  }
  if (!can_share(heads, q, v)) throw_shape_error("attention", rule_of_heads(heads), in);
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
  op.batching.open_inputs = 0b110;
  op.numbers.integers = 3;
  op.gradient.needs = Needs::inputs_and_output;
  op.batching.shareable = false;
  op.shape = attention_shape;
  op.gradient.saved_size = [](const Signature& type) -> std::size_t { return type.attributes[0]; };
  // The number of keys is unknown here: assumes that of a sentence.
  op.cost = [](const Signature& type) {
    return 30.0 * 2 * (type.inputs[0].size() + type.output_size);
  };
  return op;
}();

// Every key is an item of the node, so that the number of keys is not part of the type.
const Op attention_weights = [] {
  Op op;
  op.name = "attention_weights";
  op.formula = "per head, e^(s_j) / sum e^s for key j, where s_j = q k_j / sqrt(rows of a head)";
  op.min_inputs = op.max_inputs = 2;
  op.batching.open_inputs = 0b10;
  op.batching.shareable = false;
  op.numbers.integers = 4;
  op.gradient.needs = Needs::inputs_and_output;
  op.shape = [](Inputs in, Attributes attributes) {
    const std::uint32_t heads = attributes.size() == 1 ? attributes[0] : 0;
    const Dim &q = in[0], &k = in[1];
    if (q.nd != 1 || k.nd != 2 || q.rows() != k.rows() || q.rows() == 0) {
      throw_shape_error("attention_weights", "a query {d} and keys {d, n}", in);
    }
    if (!can_share(heads, q, q)) throw_shape_error("attention_weights", rule_of_heads(heads), in);
    return Dim({heads});
  };
  op.gradient.saved_size = [](const Signature& type) { return type.output_size; };
  op.cost = [](const Signature& type) { return 8.0 * type.inputs[0].size(); };
  return op;
}();

std::span<const Op* const> attention_ops() {
  static const Op* const all[] = {&attention, &attention_weights};
  return all;
}

}  // namespace ops

using namespace detail::recording;

namespace {

// A single key may be a vector.
ValueId as_matrix(const Expression& x) {
  TapeWriter& writer = x.pg->record().writer();
  const bool is_whole = writer.tape().is_contiguous(x.i);
  const ValueId all = is_whole ? x.i : writer.add(ops::identity, std::span(&x.i, 1));
  return reshape(writer, all, Dim({x.dim().rows(), x.dim().cols()}));
}

// Calls f(element, own) for every minibatch element, where own(x) is that element of x, and joins
// the results.
template <class F>
Expression by_element(unsigned elements, const F& f) {
  std::vector<Expression> results;
  for (unsigned element = 0; element < elements; ++element) {
    results.push_back(
        f([&](const Expression& x) { return x.dim().bd == 1 ? x : pick_batch_elem(x, element); }));
  }
  return concatenate_to_batch(results);
}

// The weights of one query: {heads, n}.
Expression weigh(const Expression& q, const Expression& k, unsigned heads) {
  TapeWriter& writer = q.pg->record().writer();
  const unsigned keys = k.dim().cols();
  std::vector<std::uint32_t> integers;
  for (unsigned key = 0; key < keys; ++key) integers.insert(integers.end(), {keys, 0, keys, key});
  const ValueId inputs[] = {reshape(writer, q.i, Dim({q.dim().rows()})), as_matrix(k)};
  const ValueId result =
      writer.add(ops::attention_weights, inputs, std::span(&heads, 1), {integers});
  return q.pg->expression(reshape(writer, result, Dim({heads, keys})));
}

// Keys and values of one minibatch element; each query of each element is an item of the node.
Expression attend(const Expression& q, const Expression& k, const Expression& v, unsigned heads,
                  bool causal) {
  TapeWriter& writer = q.pg->record().writer();
  const Dim queries = q.dim(), keys = k.dim();
  std::vector<std::uint32_t> seen;
  for (unsigned i = 0; i < queries.cols() * queries.bd; ++i) {
    const unsigned column = i % queries.cols();
    const unsigned end = causal ? std::min(column + 1, keys.cols()) : keys.cols();
    seen.insert(seen.end(), {keys.cols(), 0, end});
  }
  const Dim items({queries.rows()}, queries.cols() * queries.bd);
  const ValueId inputs[] = {reshape(writer, q.i, items), as_matrix(k), as_matrix(v)};
  const ValueId result = writer.add(ops::attention, inputs, std::span(&heads, 1), {seen});
  Dim means = queries;
  means.d[0] = v.dim().rows();
  return q.pg->expression(reshape(writer, result, means));
}

}  // namespace

Expression attention(const Expression& query, const Expression& key, const Expression& value,
                     unsigned heads, bool causal) {
  const Recorder graph = graph_of("attention", std::array{query, key, value});
  const Expression q = graph.expression_of(query), k = graph.expression_of(key),
                   v = graph.expression_of(value);
  const Dim queries = q.dim(), keys = k.dim(), values = v.dim();
  const unsigned elements = std::max({queries.bd, keys.bd, values.bd});
  const auto fits = [&](const Dim& dim) {
    return dim.nd <= 2 && dim.cols() > 0 && (dim.bd == 1 || dim.bd == elements);
  };
  if (!fits(queries) || !fits(keys) || !fits(values) || queries.rows() != keys.rows() ||
      keys.cols() != values.cols()) {
    refuse_shapes("attention", "queries {d, m}, keys {d, n} and values {e, n}", {q, k, v});
  }
  // The op checks this too, but its message would not have the numbers of queries and keys.
  if (!can_share(heads, queries, values)) {
    refuse_shapes("attention", rule_of_heads(heads), {q, k, v});
  }
  if (keys.bd == 1 && values.bd == 1) return attend(q, k, v, heads, causal);
  return by_element(
      elements, [&](const auto& own) { return attention(own(q), own(k), own(v), heads, causal); });
}

Expression attention_weights(const Expression& query, const Expression& key, unsigned heads) {
  const Recorder graph = graph_of("attention_weights", std::array{query, key});
  const Expression q = graph.expression_of(query), k = graph.expression_of(key);
  const Dim queries = q.dim(), keys = k.dim();
  const unsigned elements = std::max(queries.bd, keys.bd);
  const auto fits = [&](const Dim& dim) {
    return dim.nd <= 2 && dim.cols() > 0 && (dim.bd == 1 || dim.bd == elements);
  };
  if (!fits(queries) || !fits(keys) || queries.rows() != keys.rows()) {
    refuse_shapes("attention_weights", "queries {d, m} and keys {d, n}", {q, k});
  }
  if (!can_share(heads, queries, queries)) {
    refuse_shapes("attention_weights", rule_of_heads(heads), {q, k});
  }
  if (elements > 1) {
    return by_element(elements,
                      [&](const auto& own) { return attention_weights(own(q), own(k), heads); });
  }
  if (queries.nd <= 1) return weigh(q, k, heads);
  std::vector<Expression> results;
  for (unsigned i = 0; i < queries.cols(); ++i) results.push_back(weigh(pick(q, i, 1), k, heads));
  return reshape(concatenate(results, 1), Dim({heads, keys.cols(), queries.cols()}));
}

}  // namespace dynet_like
