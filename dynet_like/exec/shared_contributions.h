// What the nodes of one lane contribute to shared values: lists, in recording order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/device/kernel.h"
#include "dynet_like/device/queue.h"
#include "dynet_like/exec/common_state.h"

namespace dynet_like::detail {

/// A consumer's edge to a shared value that wants a gradient.
struct SharedEdge {
  NodeRef consumer;
  std::uint32_t input = 0;
  /// One contribution per item, or one of all through an open input, if the kernel writes them.
  const std::byte* slots = nullptr;
};

/// The addends of every shared value, in the order in which they are added.
class SharedContributions {
 public:
  /// What contributions have in common that are added up in one call.
  struct Place {
    SharedGradient kind;
    std::uint32_t row;  ///< of a table
    std::uint32_t offset, rows, columns;
    bool operator==(const Place&) const = default;
  };
  struct Run {
    Place place;
    std::size_t first;  ///< into dy and x; the next run begins where this one ends
  };
  struct Target {
    Identity identity = 0;
    std::vector<Run> runs;
    std::vector<const void*> dy, x;
    std::vector<std::size_t> part_ends;  ///< in runs, see end_part()
    std::size_t part_begin = 0;          ///< of the part that is not at its end

    void add(const Place& place, const void* from, const void* factor) {
      if (runs.size() == part_begin || runs.back().place != place) {
        runs.push_back({place, dy.size()});
      }
      dy.push_back(from);
      x.push_back(factor);
    }
    Addends addends(std::size_t run) const {
      const std::size_t first = runs[run].first;
      const std::size_t end = run + 1 < runs.size() ? runs[run + 1].first : dy.size();
      return {dy.data() + first, x.data() + first, end - first};
    }
    void clear();
  };
  /// Some of a target's runs, one behind the other.
  struct Runs {
    const Target* target;
    std::size_t begin, end;

    std::span<const Run> all() const { return std::span(target->runs).subspan(begin, end - begin); }
    Addends addends(std::size_t run) const { return target->addends(begin + run); }
    /// The same with one run for each place, in the order of their first addends.
    Target grouped() const;
  };
  static Runs all_runs(const Target& target) { return {&target, 0, target.runs.size()}; }
  /// A node that contributes: one of a tape, or a shared one.
  struct Consumer {
    const NodeType* type;
    std::uint32_t items;
    std::uint32_t input;
    const Value* value;            ///< the input
    Identity producer;             ///< of the input
    const Value* factor;           ///< the next input, for outer products
    const std::byte* factor_node;  ///< where the factor's node lies
    std::span<const std::uint32_t> integers;
    const std::byte* slots;
  };

  /// A contribution that all nodes of a type make: its target and place, and where in dy it begins.
  struct TypeContribution {
    std::uint32_t input = 0, target = 0;
    Place place = {};
    std::size_t dy_bytes = 0;
  };
  struct TypeContributions {
    bool known = false;
    bool complete = true;  ///< these are all; else a node must be asked
    std::vector<TypeContribution> all;
  };

  explicit SharedContributions(CommonState& common) : common_(common) {}

  void clear();
  std::span<const Target> targets() const { return std::span(targets_).first(used_); }

  Target& target_of(Identity identity) { return targets_[target_index(identity)]; }
  /// The same, or null if nothing contributes to it.
  const Target* find(Identity identity) const {
    const bool is_known =
        identity < target_of_identity_.size() && target_of_identity_[identity] != kNone;
    return is_known ? &targets_[target_of_identity_[identity]] : nullptr;
  }

  /// What comes from now on belongs to the next part, which is added up by itself.
  void end_part();
  std::size_t parts() const { return parts_; }
  static Runs runs_of_part(const Target& target, std::size_t part);

  /// The whole of a value of this shared node, times ones, which lie there: a root of the pass.
  void seed(Identity identity, const Value& value, const void* ones);
  /// What the consumer's output gradient contributes through this edge.
  void contribute(const SharedEdge& edge, const std::byte* dy);
  /// What it contributes through all edges, for a node with one item; false if its type does not
  /// say all there is to know of them.
  bool contribute_by_type(NodeRef consumer, const std::byte* dy);
  void contribute(const Consumer& consumer, const std::byte* dy);
  /// What all nodes with one item of the type of this one contribute.
  const TypeContributions& of_type(NodeRef example);
  /// One of them: what is at dy, with a factor for outer products, in this row of a table.
  void add(const TypeContribution& contribution, const std::byte* dy, const void* factor,
           std::uint32_t row) {
    Place place = contribution.place;
    if (place.kind == SharedGradient::rows) place.row = row;
    targets_[contribution.target].add(place, dy + contribution.dy_bytes, factor);
  }

 private:
  std::uint32_t target_index(Identity identity);
  void describe(TypeContributions& contributions, NodeRef example);

  CommonState& common_;
  std::vector<Target> targets_;  ///< those from `used_` on only keep their memory
  std::size_t used_ = 0;
  std::size_t parts_ = 0;  ///< that are at their end
  std::vector<std::uint32_t> target_of_identity_;
  std::vector<TypeContributions> of_type_;
  std::vector<TypeId> described_;  ///< whose contributions are known
};

}  // namespace dynet_like::detail
