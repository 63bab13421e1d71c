// Which memory a search gives back, in inference: that of values that no later step reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

/// What a search whose hypotheses have a state each gives back step by step: the values of many
/// scores, once they are read, and what no open hypothesis refers to. If nobody knows what states
/// refer to, that is what was recorded on the way to hypotheses that have not stayed. It knows its
/// graph behind the first scores, and leaves alone what was recorded before.
class SearchMemory {
 public:
  /// The steps that have led to a hypothesis.
  using Path = std::uint32_t;
  static constexpr Path kStart = 0;

  using Mark = std::function<void(const Expression&)>;
  /// Marks every expression that a state refers to which goes on or waits.
  using MarkAll = std::function<void(const Mark& mark)>;

  /// Whether it is known to which expressions states refer: see state_expressions.h.
  explicit SearchMemory(bool is_known) : is_known_(is_known) {}

  void begin_step();
  /// Around the recording of the scores of a hypothesis.
  void begin_scores();
  void end_scores(Path path, const Expression& scores);
  /// Around the recording of a further step of it; returns where that leads.
  void begin_advance();
  Path end_advance(Path before);
  /// A hypothesis waits for another step, and goes on or does not.
  void hold(Path path);
  /// It does not stay; nor do those before it to which no other goes back.
  void close(Path path);
  /// The scores of hypotheses with these paths have been read, and steps after those that stay were
  /// recorded.
  void end_step(std::span<const Path> paths, const MarkAll& mark_all);

 private:
  struct Nodes {
    std::size_t begin = 0, end = 0;
  };
  struct Steps {
    Path before = kStart;
    std::uint32_t open = 1;  ///< hypotheses: itself, and those that a further step leads to
    Nodes advance, scores;
  };

  void forget(const Nodes& nodes);
  void sweep(const MarkAll& mark_all);

  bool is_known_;
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
