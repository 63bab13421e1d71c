// The states of the hypotheses that a search follows: one state for each, or one for all.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "dynet_like/graph/computation_graph.h"
#include "nn/decode/choices.h"
#include "nn/decode/options.h"
#include "nn/decode/search_memory.h"
#include "nn/decode/state_expressions.h"
#include "nn/decode/steps.h"

namespace dynet_like::nn {

/// The result of `allowed` for a state, if there is such a function.
template <class State>
std::optional<std::vector<unsigned>> allowed_in(const State& state, const Steps<State>& steps) {
  if (!steps.allowed) return std::nullopt;
  return steps.allowed(state);
}

/// One state per hypothesis. The steps must outlive it.
template <class S>
class SeparateStates {
 public:
  using State = S;
  /// A hypothesis whose next action is a word. It continues later, or not at all.
  struct Later {
    State before;
    SearchMemory::Path path;
    unsigned word;
  };

  explicit SeparateStates(const Steps<State>& steps) : steps_(complete(steps)) {}

  bool knows_words() const { return steps_.is_word != nullptr; }
  bool is_word(std::size_t hypothesis, unsigned action) const {
    return steps_.is_word(states_[hypothesis], action);
  }

  /// Begins with `count` hypotheses. Returns whether their state is done.
  bool begin(const State& start, std::size_t count) {
    states_.assign(count, start);
    paths_.assign(count, SearchMemory::kStart);
    return is_done(start);
  }
  const State& at(std::size_t hypothesis) const { return states_[hypothesis]; }

  /// Removes hypotheses in whose state no action is allowed, here and in the search's list.
  template <class Open>
  void drop_dead_ends(std::vector<Open>& open) {
    allowed_.clear();
    if (!steps_.allowed) return;
    std::size_t kept = 0;
    for (std::size_t h = 0; h < states_.size(); ++h) {
      std::vector<unsigned> allowed = steps_.allowed(states_[h]);
      if (allowed.empty()) {
        memory_.close(paths_[h]);
        continue;
      }
      allowed_.push_back(std::move(allowed));
      if (kept != h) states_[kept] = std::move(states_[h]);
      paths_[kept] = paths_[h];
      open[kept++] = open[h];
    }
    paths_.resize(kept);
    states_.erase(states_.begin() + static_cast<std::ptrdiff_t>(kept), states_.end());
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(kept), open.end());
  }

  std::vector<Tensor> scores(const SearchOptions& options) {
    scores_.clear();
    memory_.begin_step();
    for (std::size_t h = 0; h < states_.size(); ++h) {
      memory_.begin_scores();
      std::optional<std::vector<unsigned>> allowed;
      if (steps_.allowed) allowed = std::move(allowed_[h]);
      scores_.push_back(scores_as_chosen(steps_.scores(states_[h]), 1, allowed, options));
      memory_.end_scores(paths_[h], scores_.back());
    }
    return values_of(scores_);
  }

  /// Adds an action to a hypothesis. If that ends it, returns its state; otherwise the state is
  /// among the states after the next `finish_step`.
  std::optional<State> follow(const Choice& choice) {
    return follow(states_[choice.hypothesis], paths_[choice.hypothesis], choice.action);
  }
  /// Each of `waiting` has a Later.
  template <class Waiting>
  void finish_step(const std::vector<Waiting>& waiting) {
    memory_.end_step(paths_, [&](const SearchMemory::Mark& mark) {
      for (const State& state : states_) visit_known_expressions(state, mark);
      for (const Waiting& one : waiting) visit_known_expressions(one.later.before, mark);
    });
    take_next();
  }

  Later wait(const Choice& choice) {
    memory_.hold(paths_[choice.hypothesis]);
    return {states_[choice.hypothesis], paths_[choice.hypothesis], choice.action};
  }
  std::optional<State> follow(const Later& later) {
    return follow(later.before, later.path, later.word);
  }
  /// Ends the open and the waiting hypotheses. Those that were followed are now open.
  template <class Waiting>
  void finish_word(const std::vector<Waiting>& waiting) {
    for (const auto path : paths_) memory_.close(path);
    for (const Waiting& one : waiting) memory_.close(one.later.path);
    take_next();
  }

 private:
  bool is_done(const State& state) const { return steps_.is_done && steps_.is_done(state); }

  std::optional<State> follow(const State& before, SearchMemory::Path path, unsigned action) {
    memory_.begin_advance();
    State next = steps_.advance(before, action);
    const auto next_path = memory_.end_advance(path);
    if (is_done(next)) return next;  // values that the state refers to are kept
    next_.push_back(std::move(next));
    next_paths_.push_back(next_path);
    return std::nullopt;
  }
  void take_next() {
    states_.swap(next_);
    next_.clear();
    paths_.swap(next_paths_);
    next_paths_.clear();
  }

  const Steps<State>& steps_;
  std::vector<State> states_, next_;
  std::vector<SearchMemory::Path> paths_, next_paths_;
  std::vector<std::vector<unsigned>> allowed_;
  std::vector<Expression> scores_;
  SearchMemory memory_{knows_expressions<State>()};
};

/// One state, whose minibatch elements belong to the hypotheses. The steps must outlive it.
///
/// A step reads only the state before it. So inference frees the memory of older steps, and a
/// search of any length needs memory for two.
template <class S>
class JointState {
 public:
  using State = S;
  struct Later {};  ///< empty: no hypothesis waits for words

  explicit JointState(const BatchedSteps<State>& steps) : steps_(complete(steps)) {}

  bool knows_words() const { return false; }
  bool is_word(std::size_t, unsigned) const { return false; }

  bool begin(const State& start, std::size_t count) {
    count_ = count;
    state_ = count == 1 ? start : steps_.pick(start, std::vector<unsigned>(count, 0));
    return false;
  }
  State at(std::size_t hypothesis) const {
    return steps_.pick(*state_, {static_cast<unsigned>(hypothesis)});
  }

  template <class Open>
  void drop_dead_ends(const std::vector<Open>&) {}

  std::vector<Tensor> scores(const SearchOptions& options) {
    const Expression scores =
        scores_as_chosen(steps_.scores(*state_), count_, std::nullopt, options);
    if (graph_ == nullptr) {
      graph_ = &scores.graph("decode");
      last_step_ = this_step_ = graph_->size();
    }
    return {scores.value()};
  }

  std::optional<State> follow(const Choice& choice) {
    from_.push_back(static_cast<unsigned>(choice.hypothesis));
    actions_.push_back(choice.action);
    return std::nullopt;
  }
  template <class Waiting>
  void finish_step(const std::vector<Waiting>&) {
    graph_->forget_values(last_step_, this_step_);
    last_step_ = std::exchange(this_step_, graph_->size());
    if (!from_.empty()) state_ = steps_.advance(steps_.pick(*state_, from_), actions_);
    count_ = from_.size();
    from_.clear();
    actions_.clear();
  }

  Later wait(const Choice&) { return {}; }
  std::optional<State> follow(const Later&) { return std::nullopt; }
  template <class Waiting>
  void finish_word(const std::vector<Waiting>&) {}

 private:
  const BatchedSteps<State>& steps_;
  std::optional<State> state_;
  std::size_t count_ = 0;
  std::vector<unsigned> from_, actions_;
  ComputationGraph* graph_ = nullptr;          ///< known after the first step
  std::size_t last_step_ = 0, this_step_ = 0;  ///< where they begin, among the graph's nodes
};

}  // namespace dynet_like::nn
