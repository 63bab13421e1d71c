// Memory that a search frees during inference: values that no later step reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

/// Frees values step by step, for a search with one state per hypothesis: large score vectors, once
/// they have been read, and values that no open hypothesis refers to. If it is not known what
/// states refer to, it frees instead what was recorded for hypotheses that have been dropped. It
/// leaves nodes unchanged that were recorded before the first scores.
class SearchMemory {
 public:
  /// The steps that led to a hypothesis.
  using Path = std::uint32_t;
  static constexpr Path kStart = 0;

  using Mark = std::function<void(const Expression&)>;
  /// Marks all expressions to which the states of open and waiting hypotheses refer.
  using MarkAll = std::function<void(const Mark& mark)>;

  /// Whether it is known which expressions states refer to: see state_expressions.h.
  explicit SearchMemory(bool is_known) : is_known_(is_known) {}

  void begin_step();
  /// Call these before and after recording the scores of a hypothesis.
  void begin_scores();
  void end_scores(Path path, const Expression& scores);
  /// Call these before and after recording its next step; the latter returns the new path.
  void begin_advance();
  Path end_advance(Path before);
  /// The hypothesis waits for another step. Later it continues, or is closed.
  void hold(Path path);
  /// The hypothesis is dropped, with all earlier ones that only led to it.
  void close(Path path);
  /// Call it when the scores of these hypotheses have been read, and the steps of the kept ones
  /// recorded.
  void end_step(std::span<const Path> paths, const MarkAll& mark_all);

 private:
  struct Nodes {
    std::size_t begin = 0, end = 0;
  };
  struct Steps {
    Path before = kStart;
    std::uint32_t open = 1;  ///< number of hypotheses: itself, and those that follow it
    Nodes advance, scores;
  };

  void forget(const Nodes& nodes);
  void sweep(const MarkAll& mark_all);

  bool is_known_;
  ComputationGraph* graph_ = nullptr;
  std::size_t step_ = 0, begin_ = 0;  ///< where this step, and this recording, begin
  std::vector<Nodes> scores_;         ///< of this step
  // If it is known what states refer to:
  std::size_t swept_ = 0;  ///< before this node, only kept nodes have values
  std::vector<std::size_t> kept_;
  std::size_t first_ = 0;                  ///< first node of the search
  std::uint32_t sweeps_ = 0;               ///< number so far
  std::vector<std::uint32_t> last_sweep_;  ///< by node from first_: the last sweep that marked it
  // If it is not known:
  std::vector<Steps> paths_{Steps{}};
};

}  // namespace dynet_like::nn
