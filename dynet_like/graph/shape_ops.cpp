// The operations that move elements, most of them without a copy.
#include "dynet_like/graph/recording.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/views.h"

namespace dynet_like {

using namespace recording;

namespace {

// Elements of dimension d from `start` on, `length` of them.
void check_range(const char* user, const Expression& x, std::span<const unsigned> starts,
                 unsigned length, unsigned d) {
  const Dim& dim = x.pg->tape().shape_of(x.i).dim;
  for (unsigned start : starts) {
    if (d < dim.nd && start <= dim.d[d] && length <= dim.d[d] - start) continue;
    throw UsageError(std::string("[") + user + "] need elements of dimension " + std::to_string(d) +
                     " of " + to_string(x.dim()) + "; got " + std::to_string(start) +
                     (length == 1 ? "" : " to " + std::to_string(start + length - 1)) +
                     labels_of(x));
  }
}

Expression select(const Expression& x, Integers elements, unsigned d) {
  const std::uint32_t attributes[] = {d, static_cast<std::uint32_t>(elements.size())};
  return unary(ops::select, x, attributes, {elements});
}
Expression select(const Expression& x, IntegersAt elements, unsigned d) {
  const std::uint32_t attributes[] = {d, static_cast<std::uint32_t>(elements.size())};
  return unary(ops::select, x, attributes, {{}, {}, elements});
}

// Elements of the minibatch, which is one more dimension meanwhile.
template <class Elements>
Expression select_elements(const Expression& x, Elements elements, std::size_t count) {
  Dim dim = x.dim();
  const Expression columns = reshape(x, Dim({dim.batch_size(), dim.bd}));
  dim.bd = static_cast<unsigned>(count);
  return reshape(select(columns, elements, 1), dim);
}

Expression in_one_minibatch(std::span<const Expression> xs) {
  graph_of("concatenate_to_batch", xs);
  const Dim dim = xs[0].dim().single_batch();
  std::vector<Expression> columns;
  unsigned count = 0;
  for (const Expression& x : xs) {
    const Dim other = x.dim();
    if (other.single_batch() != dim) {
      refuse_shapes("concatenate_to_batch", "equal shapes but for the minibatch", {xs[0], x});
    }
    columns.push_back(reshape(x, Dim({dim.size(), other.bd})));
    count += other.bd;
  }
  Dim all = dim;
  all.bd = count;
  return reshape(concatenate_cols(columns), all);
}

// from, from + stride, ... below `to`.
std::vector<unsigned> strided(unsigned size, int stride, int from, int to) {
  if (stride < 1 || from < 0 || to > static_cast<int>(size) || from >= to) {
    throw UsageError("[strided_select] need a stride of at least 1 and a range in [0, " +
                     std::to_string(size) + "); got stride " + std::to_string(stride) + " from " +
                     std::to_string(from) + " to " + std::to_string(to));
  }
  std::vector<unsigned> result;
  for (std::int64_t i = from; i < to; i += stride) result.push_back(static_cast<unsigned>(i));
  return result;
}

}  // namespace

Expression concatenate(Expressions xs, unsigned d) {
  return many(ops::concatenate, xs, std::span(&d, 1));
}
Expression concatenate_cols(Expressions xs) { return concatenate(xs, 1); }

Expression pick(const Expression& x, unsigned v, unsigned d) {
  ComputationGraph& graph = graph_of("pick", x);
  check_range("pick", x, std::span(&v, 1), 1, d);
  return graph.expression(pick(graph.tape(), x.i, std::span(&v, 1), d));
}
Expression pick(const Expression& x, const std::vector<unsigned>& v, unsigned d) {
  ComputationGraph& graph = graph_of("pick", x);
  check_range("pick", x, v, 1, d);
  return graph.expression(pick(graph.tape(), x.i, v, d));
}
Expression pick(const Expression& x, IntegersAt v, unsigned d) {
  // One of every minibatch element.
  const std::uint32_t attributes[] = {d, 1};
  const Expression picked = unary(ops::select, x, attributes, {{}, {}, v});
  Dim dim = picked.dim();
  dim.delete_dim(d);
  return reshape(picked, dim);
}
Expression pick_range(const Expression& x, unsigned start, unsigned end, unsigned d) {
  ComputationGraph& graph = graph_of("pick_range", x);
  Tape& tape = graph.tape();
  const RangeShape* range = tape.cache().recent_range(tape.value(x.i).shape, d, end - start);
  if (range != nullptr && range->is_contiguous && start <= range->last_start) {
    return graph.expression(add_range(tape, x.i, *range, start));
  }
  if (end <= start) {
    throw UsageError("[pick_range] need a start before the end; got " + std::to_string(start) +
                     " and " + std::to_string(end));
  }
  check_range("pick_range", x, std::span(&start, 1), end - start, d);
  return graph.expression(pick_range(tape, x.i, std::span(&start, 1), end - start, d));
}
Expression select_rows(const Expression& x, const std::vector<unsigned>& rows) {
  return select(x, rows, 0);
}
Expression select_rows(const Expression& x, IntegersAt rows) { return select(x, rows, 0); }
Expression select_cols(const Expression& x, IntegersAt columns) { return select(x, columns, 1); }
Expression select_cols(const Expression& x, const std::vector<unsigned>& columns) {
  return select(x, columns, 1);
}
Expression pick_batch_elem(const Expression& x, unsigned v) {
  ComputationGraph& graph = graph_of("pick_batch_elem", x);
  return graph.expression(pick_minibatch_elements(graph.tape(), x.i, v, 1));
}
Expression pick_batch_elems(const Expression& x, const std::vector<unsigned>& v) {
  const Dim dim = x.dim();
  for (unsigned element : v) {
    if (element >= dim.bd) {
      throw UsageError("[pick_batch_elems] need elements of a minibatch of " +
                       std::to_string(dim.bd) + "; got " + std::to_string(element));
    }
  }
  return select_elements(x, Integers(v), v.size());
}
Expression pick_batch_elem(const Expression& x, IntegersAt v) { return pick_batch_elems(x, v); }
Expression pick_batch_elems(const Expression& x, IntegersAt v) {
  return select_elements(x, v, v.size());
}
Expression concatenate_to_batch(Expressions xs) { return in_one_minibatch(xs); }

Expression strided_select(const Expression& x, const std::vector<int>& strides,
                          const std::vector<int>& from, const std::vector<int>& to) {
  const Dim dim = x.dim();
  const auto entry = [](const std::vector<int>& list, std::size_t d, unsigned otherwise) {
    return d < list.size() ? list[d] : static_cast<int>(otherwise);
  };
  Expression result = x;
  for (unsigned d = 0; d <= dim.nd; ++d) {
    const unsigned size = d < dim.nd ? dim.d[d] : dim.bd;
    const auto chosen = strided(size, entry(strides, d, 1), entry(from, d, 0), entry(to, d, size));
    if (chosen.size() == size) continue;
    result = d < dim.nd ? select(result, chosen, d) : pick_batch_elems(result, chosen);
  }
  return result;
}

Expression kmh_ngram(const Expression& x, unsigned n) {
  const unsigned columns = x.dim().cols();
  if (n == 0 || n > columns) {
    throw UsageError("[kmh_ngram] need a width of 1 to " + std::to_string(columns) + "; got " +
                     std::to_string(n));
  }
  std::vector<Expression> shifted;
  for (unsigned i = 0; i < n; ++i) shifted.push_back(pick_range(x, i, columns - n + 1 + i, 1));
  return sum(shifted);
}
Expression fold_rows(const Expression& x, unsigned rows) {
  const Dim dim = x.dim();
  if (rows == 0 || dim.rows() % rows != 0) {
    throw UsageError("[fold_rows] need a divisor of " + std::to_string(dim.rows()) + " rows; got " +
                     std::to_string(rows));
  }
  return sum_dim(reshape(x, Dim({rows, dim.rows() / rows, dim.cols()}, dim.bd)), {0});
}

Expression reshape(const Expression& x, const Dim& dim) {
  ComputationGraph& graph = graph_of("reshape", x);
  return graph.expression(reshape(graph.tape(), x.i, dim));
}
Expression transpose(const Expression& x, const std::vector<unsigned>& dims) {
  ComputationGraph& graph = graph_of("transpose", x);
  return graph.expression(transpose(graph.tape(), x.i, dims));
}

}  // namespace dynet_like
