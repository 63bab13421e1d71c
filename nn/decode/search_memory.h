// Which memory a search gives back, in inference: that of values that no later step reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/tape/tape.h"
#include "nn/decode/state_expressions.h"

namespace dynet_like::nn {

/// What a search whose hypotheses have a state each gives back step by step: the values of many
/// scores, once they are read, and what no open hypothesis refers to. If nobody knows what states
/// refer to, that is what was recorded on the way to hypotheses that have not stayed. It knows its
/// graph behind the first scores, and leaves alone what was recorded before.
template <class State>
class SearchMemory {
 public:
  /// The steps that have led to a hypothesis.
  using Path = std::uint32_t;
  static constexpr Path kStart = 0;

  void begin_step() {
    if (graph_ != nullptr) step_ = graph_->size();
  }
  /// Around the recording of the scores of a hypothesis.
  void begin_scores() {
    if (graph_ != nullptr) begin_ = graph_->size();
  }
  void end_scores(Path path, const Expression& scores) {
    if (graph_ == nullptr) {
      graph_ = &scores.graph("decode");
      first_ = swept_ = step_ = begin_ = graph_->size();
    }
    const Nodes nodes = {begin_, graph_->size()};
    if (scores.dim().rows() >= kManyActions) {
      scores_.push_back(nodes);
    } else if constexpr (!kIsKnown) {
      paths_[path].scores = nodes;
    }
  }
  /// Around the recording of a further step of it; returns where that leads.
  void begin_advance() { begin_ = graph_->size(); }
  Path end_advance(Path before) {
    if constexpr (kIsKnown) return kStart;
    ++paths_[before].open;
    paths_.push_back({before, 1, {begin_, graph_->size()}, {}});
    return static_cast<Path>(paths_.size() - 1);
  }
  /// A hypothesis waits for another step, and goes on or does not.
  void hold(Path path) {
    if (path != kStart) ++paths_[path].open;
  }
  /// It does not stay; nor do those before it to which no other goes back.
  void close(Path path) {
    while (path != kStart && --paths_[path].open == 0) {
      forget(paths_[path].advance);
      forget(paths_[path].scores);
      path = paths_[path].before;
    }
  }
  /// The scores of hypotheses with these paths have been read, and steps after those that stay were
  /// recorded. `for_each_state(visit)` goes through theirs and those of hypotheses that wait.
  template <class ForEachState>
  void end_step(std::span<const Path> paths, const ForEachState& for_each_state) {
    for (const Nodes& nodes : scores_) forget(nodes);
    scores_.clear();
    if constexpr (kIsKnown) {
      if (step_ >= swept_ + std::max(kManyNodes, 4 * kept_.size())) sweep(for_each_state);
    } else {
      for (const Path path : paths) close(path);
    }
  }

 private:
  // Fewer are not worth a call.
  static constexpr unsigned kManyActions = 256;
  static constexpr std::size_t kManyNodes = 64;
  static constexpr bool kIsKnown = knows_expressions<State>();

  struct Nodes {
    std::size_t begin = 0, end = 0;
  };
  struct Steps {
    Path before = kStart;
    std::uint32_t open = 1;  ///< hypotheses: itself, and those that a further step leads to
    Nodes advance, scores;
  };

  void forget(const Nodes& nodes) {
    if (nodes.begin < nodes.end) graph_->forget_values(nodes.begin, nodes.end);
  }
  /// What was recorded before this step, and not before the search, stays if a state refers to it.
  template <class ForEachState>
  void sweep(const ForEachState& for_each_state) {
    ++sweeps_;
    last_sweep_.resize(step_ - first_, 0);
    const auto mark = [&](const Expression& e) {
      const std::size_t node = e.graph("decode").tape().value(e.i).node;
      if (node >= first_ && node < step_) last_sweep_[node - first_] = sweeps_;
    };
    for_each_state([&](const State& state) { visit_expressions(state, mark); });
    const auto stays = [&](std::size_t node) { return last_sweep_[node - first_] == sweeps_; };
    std::erase_if(kept_, [&](std::size_t node) {
      if (!stays(node)) forget({node, node + 1});
      return !stays(node);
    });
    for (std::size_t node = swept_; node < step_; ++node) {
      if (!stays(node)) continue;
      forget({swept_, node});
      kept_.push_back(node);
      swept_ = node + 1;
    }
    forget({swept_, step_});
    swept_ = step_;
  }

  ComputationGraph* graph_ = nullptr;
  std::size_t step_ = 0, begin_ = 0;  ///< where this step begins, and what is being recorded
  std::vector<Nodes> scores_;         ///< of this step
  // If it is known what states refer to:
  std::size_t swept_ = 0;  ///< of the nodes before it, only those that are kept have values
  std::vector<std::size_t> kept_;
  std::size_t first_ = 0;                  ///< node of the search
  std::uint32_t sweeps_ = 0;               ///< so far
  std::vector<std::uint32_t> last_sweep_;  ///< in which a state referred to a node, from the first
  // If it is not:
  std::vector<Steps> paths_{Steps{}};
};

}  // namespace dynet_like::nn
