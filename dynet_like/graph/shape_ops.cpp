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
                     (length == 1 ? "" : " to " + std::to_string(start + length - 1)));
  }
}

Expression select(const Expression& x, const std::vector<unsigned>& elements, unsigned d) {
  const std::uint32_t attributes[] = {d, static_cast<std::uint32_t>(elements.size())};
  return unary(ops::select, x, attributes, {elements});
}

}  // namespace

Expression concatenate(std::initializer_list<Expression> xs, unsigned d) {
  return many(ops::concatenate, xs, std::span(&d, 1));
}
Expression concatenate(const std::vector<Expression>& xs, unsigned d) {
  return many(ops::concatenate, xs, std::span(&d, 1));
}
Expression concatenate_cols(std::initializer_list<Expression> xs) { return concatenate(xs, 1); }
Expression concatenate_cols(const std::vector<Expression>& xs) { return concatenate(xs, 1); }

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
Expression select_cols(const Expression& x, const std::vector<unsigned>& columns) {
  return select(x, columns, 1);
}
Expression pick_batch_elem(const Expression& x, unsigned v) {
  ComputationGraph& graph = graph_of("pick_batch_elem", x);
  return graph.expression(pick_minibatch_elements(graph.tape(), x.i, v, 1));
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
