// Shared by the public operations: checks the input expressions and records a node.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/op.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/tape/tape_writer.h"

namespace dynet_like::detail::recording {

using detail::Numbers, detail::RangeShape, detail::Tape, detail::TapeWriter, detail::ValueId;
using ops::Axis, ops::Op, ops::SharedGradient, ops::Signature;

using Integers = std::span<const std::uint32_t>;

/// The graph of the inputs that are not parameters. Throws for an invalid expression, and if no
/// input has a graph.
ComputationGraph& check_graph(std::string_view op, std::span<const Expression> xs);

/// The graph that an operation records in. No other thread may use it while this object lives.
class [[nodiscard]] Recorder {
 public:
  /// Throws UsageError if another thread uses the graph, or its nodes are being run.
  explicit Recorder(ComputationGraph& graph) : graph_(graph), use_(graph.record().tape().user()) {
    graph.record().tape().types().running.check();
  }
  /// The graph of expressions. `leader` is null, or the first with a graph, which is then that of
  /// all. Another thread may have cleared it just before, so it is checked again.
  Recorder(std::string_view op, std::span<const Expression> xs, const Expression* leader)
      : Recorder(leader == nullptr ? check_graph(op, xs) : *leader->pg) {
    if (leader == nullptr || !Handle::is_latest(*leader)) check_graph(op, xs);
  }

  TapeWriter& writer() const { return graph_.record().writer(); }
  const Tape& tape() const { return graph_.record().tape(); }
  Expression expression(ValueId value) const { return graph_.expression(value); }
  /// The value of an input. A parameter is recorded if need be.
  ValueId value(const Expression& x) const { return x.pg != nullptr ? x.i : record(x); }
  Expression expression_of(const Expression& x) const {
    return x.pg != nullptr ? x : expression(record(x));
  }
  operator ComputationGraph&() const { return graph_; }

 private:
  ValueId record(const Expression& parameter) const;

  ComputationGraph& graph_;
  OneThread::Use use_;
};

/// Calls throw_shape_error with the shapes and the labels of these expressions.
[[noreturn]] void refuse_shapes(std::string_view op, std::string_view rule,
                                std::initializer_list<Expression> xs);
/// The label of x, to append to a message.
std::string labels_of(const Expression& x);

/// Whether dropout of x with this probability does anything: not for p = 0, nor in inference.
/// Throws UsageError unless p is at least 0 and below 1.
bool drops(const char* user, const Expression& x, float p);

/// Throws UsageError for a list of one integer if x has several minibatch elements: each needs its
/// own. DyNet refuses this, too.
void check_one_each(std::string_view op, const Expression& x, std::size_t integers);
inline void check_one_each(std::string_view op, const Expression& x, const IntegersAt& integers) {
  if (!integers.is_one()) check_one_each(op, x, integers.size());
}

/// The first input with a graph, if that graph was not reverted since, and all others are of it or
/// parameters; else null.
inline const Expression* leader_of(std::span<const Expression> xs) {
  const Expression* leader = nullptr;
  for (const Expression& x : xs) {
    if (Handle::is_parameter(x)) continue;
    if (leader == nullptr) leader = &x;
    if (leader == &x ? !Handle::is_latest(x) : !Handle::is_of_same(x, *leader)) return nullptr;
  }
  return leader;
}

/// The graph of the inputs. Fast if all that are not parameters are of one graph that was not
/// reverted since.
[[nodiscard]] inline Recorder graph_of(std::string_view op, std::span<const Expression> xs) {
  return Recorder(op, xs, leader_of(xs));
}

[[nodiscard]] inline Recorder graph_of(std::string_view user, const Expression& x) {
  return Recorder(user, std::span(&x, 1), Handle::is_latest(x) ? &x : nullptr);
}

inline Expression unary(const Op& op, const Expression& x, Integers attributes = {}) {
  const Recorder graph = graph_of(op.name, x);
  return graph.expression(graph.writer().add(op, std::span(&x.i, 1), attributes));
}

inline Expression unary(const Op& op, const Expression& x, Integers attributes,
                        const Numbers& numbers) {
  const Recorder graph = graph_of(op.name, x);
  return graph.expression(graph.writer().add(op, std::span(&x.i, 1), attributes, numbers));
}

inline Expression with_number(const Op& op, const Expression& x, float c) {
  const double real = static_cast<double>(c);
  return unary(op, x, {}, {{}, std::span(&real, 1)});
}

inline Expression binary(const Op& op, const Expression& a, const Expression& b) {
  const Expression xs[] = {a, b};
  const Recorder graph = graph_of(op.name, xs);
  const ValueId values[] = {graph.value(a), graph.value(b)};
  return graph.expression(graph.writer().add(op, values));
}

/// The values of all inputs; needs no heap memory for a few.
class Values {
 public:
  Values(const Recorder& graph, std::span<const Expression> xs)
      : more_(xs.size() > kFew ? xs.size() : 0),
        all_(xs.size() > kFew ? more_.data() : few_, xs.size()) {
    for (std::size_t i = 0; i < xs.size(); ++i) all_[i] = graph.value(xs[i]);
  }
  std::span<ValueId> all() { return all_; }

 private:
  static constexpr std::size_t kFew = 32;
  ValueId few_[kFew];
  std::vector<ValueId> more_;
  std::span<ValueId> all_;
};

/// For an operation that is composed of others: its inputs, with parameters recorded as nodes.
template <class... Inputs>
std::array<Expression, sizeof...(Inputs)> of_one_graph(std::string_view op, const Inputs&... xs) {
  const std::array<Expression, sizeof...(Inputs)> all{xs...};
  const Recorder graph = graph_of(op, all);
  return {graph.expression_of(xs)...};
}

std::vector<Expression> of_one_graph(std::string_view op, std::span<const Expression> xs);

/// An op that reduces one dimension, applied along several dimensions (each at most once), along
/// the minibatch, and over all elements.
Expression reduce(const Op& op, const Expression& x, std::vector<unsigned> dimensions);
Expression reduce_batches(const Op& op, const Expression& x);
Expression reduce_elements(const Op& op, const Expression& x);

/// Calls f(own) for every minibatch element, where own(x) is that element of x, and joins the
/// results: for operations whose inputs of any length have an element each.
template <class F>
Expression by_element(unsigned elements, const F& f) {
  std::vector<Expression> results;
  for (unsigned element = 0; element < elements; ++element) {
    results.push_back(
        f([&](const Expression& x) { return x.dim().bd == 1 ? x : pick_batch_elem(x, element); }));
  }
  return concatenate_to_batch(results);
}

inline Expression many(const Op& op, std::span<const Expression> xs, Integers attributes = {}) {
  const Recorder graph = graph_of(op.name, xs);
  return graph.expression(graph.writer().add(op, Values(graph, xs).all(), attributes));
}

}  // namespace dynet_like::detail::recording
