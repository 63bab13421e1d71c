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

namespace {

Op attention_op(std::string_view name, std::string_view formula) {
  Op op;
  op.name = name;
  op.formula = formula;
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
}

}  // namespace

const Op attention = attention_op(
    "attention",
    "per head, the sum over keys j of v_j e^(s_j) / sum e^s, where s_j = q k_j / sqrt(rows of a "
    "head) (Vaswani et al. 2017)");

const Op attention_dropout = [] {
  Op op =
      attention_op("attention_dropout",
                   "the same, where each weight is 0 with probability p, else divided by 1 - p");
  op.numbers.integers = 6;
  op.numbers.reals = 1;
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
  static const Op* const all[] = {&attention, &attention_dropout, &attention_weights};
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

// The number of keys, and the first and the end of those that a query at this place sees.
std::array<std::uint32_t, 3> seen_keys(unsigned place, unsigned keys,
                                       const AttentionOptions& options) {
  const bool is_local = options.reach > 0;
  const unsigned first =
      is_local && place > options.reach ? std::min(place - options.reach, keys - 1) : 0;
  const std::uint64_t last = options.causal ? place
                             : is_local     ? std::uint64_t{place} + options.reach
                                            : keys - 1;
  const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(last + 1, keys));
  return {keys, first, std::max(first + 1, end)};
}

// Keys and values of one minibatch element; each query of each element is an item of the node.
// Random numbers give the seed of dropout.
Expression attend(const Expression& q, const Expression& k, const Expression& v,
                  const AttentionOptions& options, Random* random) {
  TapeWriter& writer = q.pg->record().writer();
  const Dim queries = q.dim();
  const unsigned keys = k.dim().cols(), count = queries.cols() * queries.bd;
  const std::uint32_t seed[] = {random == nullptr ? 0 : (*random)(),
                                random == nullptr ? 0 : (*random)()};
  const std::uint32_t blocks = options.heads * ((keys + 3) / 4);
  std::vector<std::uint32_t> integers;
  integers.reserve(count * (random == nullptr ? 3 : 6));
  for (unsigned i = 0; i < count; ++i) {
    const auto seen = seen_keys(i % queries.cols(), keys, options);
    integers.insert(integers.end(), seen.begin(), seen.end());
    if (random != nullptr) integers.insert(integers.end(), {seed[0], seed[1], i * blocks});
  }
  const ValueId inputs[] = {reshape(writer, q.i, Dim({queries.rows()}, count)), as_matrix(k),
                            as_matrix(v)};
  const double rate = static_cast<double>(options.dropout);
  const Op& op = random == nullptr ? ops::attention : ops::attention_dropout;
  const ValueId result = writer.add(op, inputs, std::span(&options.heads, 1),
                                    {integers, std::span(&rate, random == nullptr ? 0 : 1)});
  Dim means = queries;
  means.d[0] = v.dim().rows();
  return q.pg->expression(reshape(writer, result, means));
}

}  // namespace

Expression attention(const Expression& query, const Expression& key, const Expression& value,
                     const AttentionOptions& options) {
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
  if (!can_share(options.heads, queries, values)) {
    refuse_shapes("attention", rule_of_heads(options.heads), {q, k, v});
  }
  Random random;
  const bool is_random = drops("attention", q, options.dropout);
  if (is_random) random = static_cast<ComputationGraph&>(graph).random();
  Random* const own_random = is_random ? &random : nullptr;
  if (keys.bd == 1 && values.bd == 1) return attend(q, k, v, options, own_random);
  return by_element(elements, [&](const auto& own) {
    return attend(own(q), own(k), own(v), options, own_random);
  });
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
