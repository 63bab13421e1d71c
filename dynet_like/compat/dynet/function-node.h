// Base of the node classes: each stands for a function of expr.h.
#pragma once

#include <concepts>
#include <functional>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/expr.h"
#include "dynet_like/core/counted.h"

namespace dynet::detail {

/// A node class whose function takes expressions. Its constructor has the parameters of DyNet's
/// class of that name, except the arguments, which are given when it is called. Throws UsageError
/// for a wrong number of arguments.
class FunctionNode {
 public:
  using Arguments = std::vector<Expression>;
  using Function = std::function<Expression(const Arguments&)>;

  Expression operator()(ComputationGraph&, const Arguments& xs) const {
    if (xs.size() < least_ || xs.size() > most_) {
      DYNET_LIKE_THROW(UsageError, "[add_function] need "
                                       << dynet_like::detail::counted(least_, "argument")
                                       << (most_ > least_ ? " or more" : "") << "; got "
                                       << xs.size());
    }
    return function_(xs);
  }

 protected:
  /// Takes at least one argument, exactly `arguments`, or between `least` and `most`.
  explicit FunctionNode(Function function)
      : FunctionNode(1, std::numeric_limits<std::size_t>::max(), std::move(function)) {}
  FunctionNode(std::size_t arguments, Function function)
      : FunctionNode(arguments, arguments, std::move(function)) {}
  FunctionNode(std::size_t least, std::size_t most, Function function)
      : least_(least), most_(most), function_(std::move(function)) {}

 private:
  std::size_t least_, most_;
  Function function_;
};

template <Expression (*function)(const Expression&)>
struct UnaryNode : FunctionNode {
  UnaryNode() : FunctionNode(1, [](const Arguments& xs) { return function(xs[0]); }) {}
};
template <Expression (*function)(const Expression&, const Expression&)>
struct BinaryNode : FunctionNode {
  BinaryNode() : FunctionNode(2, [](const Arguments& xs) { return function(xs[0], xs[1]); }) {}
};
template <Expression (*function)(dynet_like::Expressions)>
struct ListNode : FunctionNode {
  ListNode() : FunctionNode(Function(function)) {}
};

/// A node class without arguments.
class SourceNode {
 public:
  using Function = std::function<Expression(ComputationGraph&)>;

  Expression operator()(ComputationGraph& graph, const std::vector<Expression>& xs) const {
    if (!xs.empty()) {
      DYNET_LIKE_THROW(UsageError, "[add_function] need no arguments; got " << xs.size());
    }
    return function_(graph);
  }

 protected:
  explicit SourceNode(Function function) : function_(std::move(function)) {}

 private:
  Function function_;
};

/// An integer, several integers, or a pointer to one or several, which is read when the graph runs.
template <class T>
concept Integers = std::integral<T> || std::same_as<T, std::vector<unsigned>> ||
                   std::convertible_to<T, const unsigned*> || std::convertible_to < T,
        const std::vector<unsigned>
* > ;

/// The same, in the form that functions of expr.h take.
template <Integers T>
auto integers(const T& index) {
  if constexpr (std::integral<T>) {
    return static_cast<unsigned>(index);
  } else if constexpr (std::is_pointer_v<T>) {
    return dynet_like::IntegersAt(index);
  } else {
    return index;
  }
}

inline GradientMode gradient_mode(bool straight_through) {
  return straight_through ? straight_through_gradient : zero_gradient;
}

/// Calls the function of a node class: f<Tanh>(xs), f<Softmax>(xs, d).
template <class Node, class Expressions, class... Side>
Expression f(const Expressions& xs, Side&&... side) {
  const std::vector<Expression> all(std::begin(xs), std::end(xs));
  if (all.empty()) DYNET_LIKE_THROW(UsageError, "[detail::f] need arguments; got none");
  ComputationGraph& graph = all.front().graph("detail::f");
  return Node(std::forward<Side>(side)...)(graph, all);
}

}  // namespace dynet::detail
