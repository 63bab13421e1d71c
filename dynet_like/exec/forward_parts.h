// Which nodes of a lane run together, and whose values are freed once they are read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/exec/needed.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Divides the nodes that a lane is to run. Usually they are one part, which is planned as a whole.
/// But if temporary values (TapeState::temporaries) would take much memory at once, there are
/// several: temporary values of one part are gone before the next part runs, and what reads no such
/// values runs last. Keeps its memory from call to call.
class ForwardParts {
 public:
  /// `freed`: by node, whether its value is freed after its last reader. Empty: no value is.
  struct Part {
    std::span<const NodeRef> nodes;
    std::span<const std::uint8_t> freed;
  };

  /// More bytes of temporary values than this, or than GraphOptions::memory_limit, count as much.
  /// Only a part of them is in memory at a time: a fifth for a Transformer.
  static constexpr std::size_t kMuch = std::size_t{128} << 20;

  /// `pending`: in the order of tapes and of recording. Values of `targets` are never freed;
  /// `free_unread`: all others are, and not only temporary ones.
  void divide(const RunState& run, std::span<const NodeRef> pending,
              std::span<const ValueRef> targets, bool free_unread);
  std::size_t size() const { return ends_.size(); }
  Part operator[](std::size_t part) const;

 private:
  /// Nodes up to the one behind a range of temporary ones, or to the end of a tape.
  struct Stretch {
    std::size_t begin = 0, end = 0;  ///< in the list of nodes
    std::uint32_t place = 0;         ///< among the stretches of its tape
    std::size_t bytes = 0;           ///< of temporary values
    std::uint32_t part = 0;
  };

  void find_stretches(const RunState& run);
  void end_stretch(std::size_t end, Stretch& next);
  void keep_targets(const RunState& run, std::span<const ValueRef> targets);
  std::uint32_t assign_parts(std::size_t much);
  void sort_by_part(std::uint32_t parts);
  void keep_what_later_parts_read(const RunState& run);
  /// The place of a node in the list; its size if the node does not run.
  std::size_t find(NodeRef ref) const;

  std::span<const NodeRef> pending_;
  bool frees_ = false;
  std::vector<std::uint8_t> freed_;  ///< by node
  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> part_of_;  ///< by node
  std::vector<NodeRef> sorted_;         ///< of several parts, one after the other
  std::vector<std::uint8_t> sorted_freed_;
  std::vector<std::size_t> ends_;  ///< of parts
};

}  // namespace dynet_like::detail
