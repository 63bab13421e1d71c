// Recording: checks of expressions and shapes, and their messages.
#include "dynet_like/graph/recording.h"

#include <algorithm>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail::recording {

ComputationGraph& check_graph(std::string_view op, std::span<const Expression> xs) {
  if (xs.empty()) throw_shape_error(op, "at least one input", {});
  const auto with_graph = std::find_if(
      xs.begin(), xs.end(), [](const Expression& x) { return Handle::parameter(x) == nullptr; });
  ComputationGraph& graph = (with_graph == xs.end() ? xs[0] : *with_graph).graph(op.data());
  for (const Expression& x : xs) {
    if (Handle::parameter(x) != nullptr) continue;
    if (&x.graph(op.data()) != &graph) {
      const bool records =
          graph.record().records_a_function() || x.pg->record().records_a_function();
      throw UsageError(
          "[" + std::string(op) + "] need inputs of one graph; got inputs of two" +
          (records ? ": what a function of vertices reads must be one of its arguments" : ""));
    }
    if (!graph.record().is_recorded(x)) Handle::throw_reverted(op.data());
  }
  return graph;
}

ValueId Recorder::record(const Expression& parameter) const {
  ParameterStorage* const storage = Handle::parameter(parameter);
  if (storage == nullptr) parameter.graph("Expression");  // throws: it is empty
  const ValueId whole = writer().add_parameter(*storage);
  if (parameter.i == Handle::kWhole) return whole;
  return writer().add(ops::lookup, std::span(&whole, 1), {}, {std::span(&parameter.i, 1)});
}

std::vector<Expression> of_one_graph(std::string_view op, std::span<const Expression> xs) {
  const Recorder graph = graph_of(op, xs);
  std::vector<Expression> all;
  for (const Expression& x : xs) all.push_back(graph.expression_of(x));
  return all;
}

void refuse_shapes(std::string_view op, std::string_view rule,
                   std::initializer_list<Expression> xs) {
  std::vector<Dim> dims;
  std::vector<ValueId> values;
  for (const Expression& x : xs) {
    dims.push_back(x.dim());
    if (x.pg != nullptr) values.push_back(x.i);
  }
  try {
    throw_shape_error(op, rule, dims);
  } catch (const ShapeError& error) {
    throw ShapeError(error.what() + labels_of(graph_of(op, xs).tape(), values));
  }
}

std::string labels_of(const Expression& x) {
  return x.pg == nullptr ? "" : labels_of(x.pg->record().tape(), std::span(&x.i, 1));
}

void check_one_each(std::string_view op, const Expression& x, std::size_t integers) {
  const unsigned elements = graph_of(op, x).tape().dim_of(x.i).bd;
  if (integers != 1 || elements == 1) return;
  throw UsageError("[" + std::string(op) + "] need an integer for each of " +
                   counted(elements, "minibatch element") +
                   "; got a list of 1: give the integer itself if it is for all" + labels_of(x));
}

}  // namespace dynet_like::detail::recording

namespace dynet_like {

Expression apply_op(const ops::Op& op, Expressions inputs, ListOf<std::uint32_t> attributes,
                    ListOf<std::uint32_t> integers, ListOf<double> reals) {
  const detail::recording::Recorder graph = detail::recording::graph_of(op.name, inputs);
  return graph.expression(graph.writer().add(op, detail::recording::Values(graph, inputs).all(),
                                             attributes, {integers, reals}));
}

}  // namespace dynet_like
