// The public operations: each checks its handles and records a node or a view.
#include "dynet_like/ops/ops.h"

#include <algorithm>
#include <array>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/elementwise.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/views.h"

namespace dynet_like {

namespace {

using Integers = std::span<const std::uint32_t>;

// Finds out which of the handles is no good, if any is.
ComputationGraph& check_graph(std::string_view op, std::span<const Expression> xs) {
  if (xs.empty()) throw_shape_error(op, "at least one input", {});
  ComputationGraph& graph = xs[0].graph(op.data());
  for (const Expression& x : xs) {
    if (&x.graph(op.data()) != &graph) {
      throw UsageError("[" + std::string(op) + "] need inputs of one graph; got inputs of two");
    }
    if (!graph.is_recorded(x)) Expression::throw_reverted(op.data());
  }
  return graph;
}

// The graph of the inputs. They are handles of one graph if they have one slot and generation.
ComputationGraph& graph_of(std::string_view op, std::span<const Expression> xs) {
  bool good = !xs.empty() && xs[0].is_latest();
  for (const Expression& x : xs.subspan(good ? 1 : 0)) {
    good = good && x.slot == xs[0].slot && x.generation == xs[0].generation;
  }
  return good ? *xs[0].pg : check_graph(op, xs);
}

ComputationGraph& graph_of(std::string_view user, const Expression& x) {
  return x.is_latest() ? *x.pg : check_graph(user, std::span(&x, 1));
}

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

Expression unary(const Op& op, const Expression& x, Integers attributes = {},
                 const Numbers& numbers = {}) {
  ComputationGraph& graph = graph_of(op.name, x);
  return graph.expression(graph.tape().add(op, std::span(&x.i, 1), attributes, numbers));
}

Expression with_number(const Op& op, const Expression& x, float c) {
  const double real = static_cast<double>(c);
  return unary(op, x, {}, {{}, std::span(&real, 1)});
}

Expression binary(const Op& op, const Expression& a, const Expression& b) {
  const bool good = a.is_latest() && b.slot == a.slot && b.generation == a.generation;
  ComputationGraph& graph = good ? *a.pg : check_graph(op.name, std::array{a, b});
  const ValueId values[] = {a.i, b.i};
  return graph.expression(graph.tape().add(op, values));
}

// The values of many inputs, without the heap if they are few.
class Values {
 public:
  explicit Values(std::span<const Expression> xs)
      : more_(xs.size() > kFew ? xs.size() : 0),
        all_(xs.size() > kFew ? more_.data() : few_, xs.size()) {
    for (std::size_t i = 0; i < xs.size(); ++i) all_[i] = xs[i].i;
  }
  std::span<ValueId> all() { return all_; }

 private:
  static constexpr std::size_t kFew = 32;
  ValueId few_[kFew];
  std::vector<ValueId> more_;
  std::span<ValueId> all_;
};

Expression many(const Op& op, std::span<const Expression> xs, Integers attributes = {}) {
  ComputationGraph& graph = graph_of(op.name, xs);
  return graph.expression(graph.tape().add(op, Values(xs).all(), attributes));
}

Expression add_lookup(ComputationGraph& graph, const LookupParameter& table, Integers rows,
                      bool constant) {
  if (table.p == nullptr) table.get_storage();  // throws
  Tape& tape = graph.tape();
  const ValueId values[] = {tape.add_parameter(table.p, constant)};
  return graph.expression(tape.add(ops::lookup, values, {}, {rows}));
}

template <class Handle>
Expression add_parameter(ComputationGraph& graph, const Handle& handle, bool constant) {
  if (handle.p == nullptr) handle.get_storage();  // throws
  return graph.expression(graph.tape().add_parameter(handle.p, constant));
}

// Long sums are made of short ones, so that sums of different lengths have the same few types and
// run together: a minibatch of trees rarely has two with the same number of losses.
constexpr std::size_t kGroup = 4;

Expression sum_in_groups(std::span<const Expression> xs) {
  ComputationGraph& graph = graph_of(ops::sum.name, xs);
  Tape& tape = graph.tape();
  Values values(xs);
  std::span<ValueId> left = values.all();
  while (left.size() > kGroup) {
    std::size_t groups = 0;
    for (std::size_t begin = 0; begin < left.size(); begin += kGroup) {
      const auto group = left.subspan(begin, std::min(kGroup, left.size() - begin));
      left[groups++] = group.size() == 1 ? group[0] : tape.add(ops::sum, group);
    }
    left = left.first(groups);
  }
  return graph.expression(tape.add(ops::sum, left));
}

Expression average_of(std::span<const Expression> xs) {
  if (xs.size() <= kGroup) return many(ops::average, xs);
  return sum_in_groups(xs) / static_cast<float>(xs.size());
}

// Sums or means over dimensions one after the other, the last first: the others keep their number.
Expression reduce(const Op& op, const Expression& x, std::vector<unsigned> dimensions,
                  bool batches) {
  std::sort(dimensions.rbegin(), dimensions.rend());
  if (std::adjacent_find(dimensions.begin(), dimensions.end()) != dimensions.end()) {
    throw UsageError("[" + std::string(op.name) + "] need every dimension once; got dimension " +
                     std::to_string(*std::adjacent_find(dimensions.begin(), dimensions.end())) +
                     " twice");
  }
  Expression result = x;
  for (unsigned d : dimensions) result = unary(op, result, std::span(&d, 1));
  if (!batches) return result;
  return &op == &ops::sum_dim ? sum_batches(result) : mean_batches(result);
}

// A minibatch as one more dimension of a single value.
Expression reduce_batches(const Op& op, const Expression& x) {
  const Dim dim = x.dim();
  if (dim.bd == 1) return x;
  const Expression columns = reshape(x, Dim({dim.batch_size(), dim.bd}));
  const unsigned last = 1;
  return reshape(unary(op, columns, std::span(&last, 1)), dim.single_batch());
}

Expression reduce_elements(const Op& op, const Expression& x) {
  const Dim dim = x.dim();
  const unsigned first = 0;
  return unary(op, reshape(x, Dim({dim.batch_size()}, dim.bd)), std::span(&first, 1));
}

}  // namespace

Expression input(ComputationGraph& graph, float value) {
  return graph.expression(graph.tape().add_input(Dim({1}), std::span(&value, 1)));
}
Expression input(ComputationGraph& graph, const float* value) {
  return graph.expression(graph.tape().add_input_at(Dim({1}), value));
}
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<float>& values) {
  return graph.expression(graph.tape().add_input(dim, values));
}
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<float>* values) {
  return graph.expression(graph.tape().add_input_at(dim, values));
}

Expression constant(ComputationGraph& graph, const Dim& dim, float value) {
  return graph.expression(graph.tape().add_constant(dim, static_cast<double>(value)));
}
Expression zeros(ComputationGraph& graph, const Dim& dim) { return constant(graph, dim, 0.0f); }
Expression ones(ComputationGraph& graph, const Dim& dim) { return constant(graph, dim, 1.0f); }

Expression parameter(ComputationGraph& graph, const Parameter& parameter) {
  return add_parameter(graph, parameter, false);
}
Expression parameter(ComputationGraph& graph, const LookupParameter& table) {
  return add_parameter(graph, table, false);
}
Expression const_parameter(ComputationGraph& graph, const Parameter& parameter) {
  return add_parameter(graph, parameter, true);
}
Expression const_parameter(ComputationGraph& graph, const LookupParameter& table) {
  return add_parameter(graph, table, true);
}

Expression lookup(ComputationGraph& graph, const LookupParameter& table, unsigned row) {
  return add_lookup(graph, table, std::span(&row, 1), false);
}
Expression lookup(ComputationGraph& graph, const LookupParameter& table,
                  const std::vector<unsigned>& rows) {
  return add_lookup(graph, table, rows, false);
}
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table, unsigned row) {
  return add_lookup(graph, table, std::span(&row, 1), true);
}
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table,
                        const std::vector<unsigned>& rows) {
  return add_lookup(graph, table, rows, true);
}

Expression operator+(const Expression& a, const Expression& b) {
  return binary(elementwise<formulas::Add>, a, b);
}
Expression operator-(const Expression& a, const Expression& b) {
  return binary(elementwise<formulas::Subtract>, a, b);
}
Expression cmult(const Expression& a, const Expression& b) {
  return binary(elementwise<formulas::Cmult>, a, b);
}
Expression cdiv(const Expression& a, const Expression& b) {
  return binary(elementwise<formulas::Cdiv>, a, b);
}
Expression operator/(const Expression& a, const Expression& b) { return cdiv(a, b); }

Expression operator-(const Expression& x) { return unary(elementwise<formulas::Negate>, x); }
Expression operator+(const Expression& x, float c) {
  return with_number(elementwise<formulas::ScalarAdd>, x, c);
}
Expression operator+(float c, const Expression& x) { return x + c; }
Expression operator-(const Expression& x, float c) { return x + -c; }
Expression operator-(float c, const Expression& x) {
  return with_number(elementwise<formulas::ScalarSubtract>, x, c);
}
Expression operator*(const Expression& x, float c) {
  return with_number(elementwise<formulas::ScalarMultiply>, x, c);
}
Expression operator*(float c, const Expression& x) { return x * c; }
Expression operator/(const Expression& x, float c) {
  return with_number(elementwise<formulas::ScalarDivide>, x, c);
}

Expression operator*(const Expression& a, const Expression& b) {
  return binary(ops::matrix_product, a, b);
}
Expression affine_transform(std::initializer_list<Expression> xs) {
  return xs.size() == 1 ? *xs.begin() : many(ops::affine_transform, xs);
}
Expression affine_transform(const std::vector<Expression>& xs) {
  return xs.size() == 1 ? xs[0] : many(ops::affine_transform, xs);
}
CellState lstm_cell(const Expression& b, std::span<const Expression> xs,
                    std::span<const Expression> cells, bool input_first) {
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
Expression dot_product(const Expression& a, const Expression& b) {
  return binary(ops::dot_product, a, b);
}
Expression squared_distance(const Expression& a, const Expression& b) {
  return binary(ops::squared_distance, a, b);
}

Expression sum(std::initializer_list<Expression> xs) { return sum_in_groups(xs); }
Expression sum(const std::vector<Expression>& xs) { return sum_in_groups(xs); }
Expression average(std::initializer_list<Expression> xs) { return average_of(xs); }
Expression average(const std::vector<Expression>& xs) { return average_of(xs); }
Expression sum_elems(const Expression& x) { return reduce_elements(ops::sum_dim, x); }
Expression mean_elems(const Expression& x) { return reduce_elements(ops::mean_dim, x); }
Expression sum_dim(const Expression& x, const std::vector<unsigned>& dimensions, bool batches) {
  return reduce(ops::sum_dim, x, dimensions, batches);
}
Expression mean_dim(const Expression& x, const std::vector<unsigned>& dimensions, bool batches) {
  return reduce(ops::mean_dim, x, dimensions, batches);
}
Expression sum_batches(const Expression& x) { return reduce_batches(ops::sum_dim, x); }
Expression mean_batches(const Expression& x) { return reduce_batches(ops::mean_dim, x); }

Expression tanh(const Expression& x) { return unary(elementwise<formulas::Tanh>, x); }
Expression logistic(const Expression& x) { return unary(elementwise<formulas::Logistic>, x); }
Expression rectify(const Expression& x) { return unary(elementwise<formulas::Rectify>, x); }
Expression exp(const Expression& x) { return unary(elementwise<formulas::Exp>, x); }
Expression log(const Expression& x) { return unary(elementwise<formulas::Log>, x); }
Expression sqrt(const Expression& x) { return unary(elementwise<formulas::Sqrt>, x); }
Expression square(const Expression& x) { return unary(elementwise<formulas::Square>, x); }

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

Expression softmax(const Expression& x, unsigned d) {
  return unary(ops::softmax, x, std::span(&d, 1));
}
Expression log_softmax(const Expression& x, unsigned d) {
  return unary(ops::log_softmax, x, std::span(&d, 1));
}
Expression pickneglogsoftmax(const Expression& x, unsigned v) {
  return unary(ops::pickneglogsoftmax, x, {}, {std::span(&v, 1)});
}
Expression pickneglogsoftmax(const Expression& x, const std::vector<unsigned>& v) {
  return unary(ops::pickneglogsoftmax, x, {}, {v});
}

Expression dropout(const Expression& x, float p) {
  if (!(p >= 0 && p < 1)) {
    throw UsageError("[dropout] need a probability of at least 0 and below 1; got " +
                     std::to_string(p));
  }
  if (p == 0) return x;
  if (!graph_of("dropout", x).has_random()) {
    throw UsageError(
        "[dropout] need random numbers; got a graph without: set "
        "GraphOptions::random");
  }
  return with_number(ops::dropout, x, p);
}
Expression nobackprop(const Expression& x) {
  ComputationGraph& graph = graph_of("nobackprop", x);
  return graph.expression(without_gradient(graph.tape(), x.i));
}

Expression apply_op(const Op& op, std::span<const Expression> inputs, Integers attributes,
                    Integers integers, std::span<const double> reals) {
  ComputationGraph& graph = graph_of(op.name, inputs);
  return graph.expression(
      graph.tape().add(op, Values(inputs).all(), attributes, {integers, reals}));
}

}  // namespace dynet_like
