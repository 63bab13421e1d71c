// The operations that look at a number of positions which differs from sample to sample.
#include "dynet_like/graph/recording.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/views.h"

namespace dynet_like {

using namespace recording;

namespace {

// Keys and values of one minibatch element; each query is an item of the node.
Expression attend(const Expression& q, const Expression& k, const Expression& v, unsigned heads,
                  bool causal) {
  Tape& tape = q.pg->tape();
  const Dim queries = q.dim(), keys = k.dim();
  std::vector<std::uint32_t> seen;
  for (unsigned i = 0; i < queries.cols(); ++i) {
    const unsigned end = causal ? std::min(i + 1, keys.cols()) : keys.cols();
    seen.insert(seen.end(), {keys.cols(), 0, end});
  }
  const auto whole = [&](const Expression& x) {
    return tape.is_contiguous(x.i) ? x.i : tape.add(ops::identity, std::span(&x.i, 1));
  };
  const ValueId inputs[] = {reshape(tape, q.i, Dim({queries.rows()}, queries.cols())), whole(k),
                            whole(v)};
  const ValueId result = tape.add(ops::attention, inputs, std::span(&heads, 1), {seen});
  return q.pg->expression(reshape(tape, result, Dim({v.dim().rows(), queries.cols()})));
}

}  // namespace

Expression attention(const Expression& q, const Expression& k, const Expression& v, unsigned heads,
                     bool causal) {
  graph_of("attention", std::array{q, k, v});
  const Dim queries = q.dim(), keys = k.dim(), values = v.dim();
  const unsigned elements = std::max({queries.bd, keys.bd, values.bd});
  const auto fits = [&](const Dim& dim) {
    return dim.nd <= 2 && dim.cols() > 0 && (dim.bd == 1 || dim.bd == elements);
  };
  if (!fits(queries) || !fits(keys) || !fits(values) || keys.nd != 2 || values.nd != 2 ||
      keys.cols() != values.cols()) {
    refuse_shapes("attention", "queries {d, m}, keys {d, n} and values {e, n}", {q, k, v});
  }
  if (elements == 1) {
    const Expression result = attend(q, k, v, heads, causal);
    return queries.nd == 2 ? result : reshape(result, Dim({values.rows()}));
  }
  std::vector<Expression> results;
  for (unsigned element = 0; element < elements; ++element) {
    const auto own = [&](const Expression& x) {
      return x.dim().bd == 1 ? x : pick_batch_elem(x, element);
    };
    results.push_back(attention(own(q), own(k), own(v), heads, causal));
  }
  return concatenate_to_batch(results);
}

}  // namespace dynet_like
