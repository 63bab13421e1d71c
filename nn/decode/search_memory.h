// Which memory a search gives back, in inference: that of values that no later step reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like::nn {

/// Whether states are expressions and nothing else: an Expression, a CellState, or a range of
/// these. Of others nobody knows what they refer to.
template <class State>
constexpr bool is_made_of_expressions() {
  if constexpr (std::is_same_v<State, Expression> || std::is_same_v<State, CellState>) {
    return true;
  } else if constexpr (std::ranges::forward_range<const State>) {
    using Element = std::ranges::range_value_t<const State>;
    if constexpr (!std::is_same_v<Element, State>) return is_made_of_expressions<Element>();
  }
  return false;
}

/// The first node of its graph that such a state refers to.
template <class State>
std::size_t first_node_of(const State& state) {
  if constexpr (std::is_same_v<State, Expression>) {
    return state.graph("decode").tape().value(state.i).node;
  } else if constexpr (std::is_same_v<State, CellState>) {
    return std::min(first_node_of(state.h), first_node_of(state.c));
  } else {
    std::size_t first = std::numeric_limits<std::size_t>::max();
    for (const auto& part : state) first = std::min(first, first_node_of(part));
    return first;
  }
}

/// What a search whose hypotheses have a state each gives back step by step: the values of scores,
/// once they are read, and what is older than all that the states refer to. It knows its graph
/// behind the first step, and leaves alone what was recorded before.
template <class State>
class SearchMemory {
 public:
  /// Around the recording of every hypothesis's scores.
  void begin_scores() {
    if (graph_ != nullptr) begin_ = graph_->size();
  }
  void end_scores(const Expression& scores) {
    if (graph_ == nullptr) {
      graph_ = &scores.graph("decode");
      first_kept_ = begin_ = graph_->size();
    }
    if (scores.dim().rows() >= kManyActions) scores_.emplace_back(begin_, graph_->size());
  }
  /// The scores of these states have been read, and no step after them was recorded.
  void end_step(const std::ranges::range auto& states) {
    for (const auto& [begin, end] : scores_) graph_->forget_values(begin, end);
    scores_.clear();
    if constexpr (is_made_of_expressions<State>()) {
      std::size_t first = graph_->size();
      for (const State& state : states) first = std::min(first, first_node_of(state));
      if (first < first_kept_ + kManyNodes) return;
      graph_->forget_values(first_kept_, first);
      first_kept_ = first;
    }
  }

 private:
  // Fewer are not worth a call.
  static constexpr unsigned kManyActions = 256;
  static constexpr std::size_t kManyNodes = 64;

  ComputationGraph* graph_ = nullptr;
  std::size_t begin_ = 0, first_kept_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> scores_;  ///< of this step: their nodes
};

}  // namespace dynet_like::nn
