// The contributions of one lane's nodes to shared values: lists in recording order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/device/kernel.h"
#include "dynet_like/device/queue.h"
#include "dynet_like/exec/common_state.h"

namespace dynet_like::detail {

/// The addends of every shared value, in the order of addition.
class SharedContributions {
 public:
  /// The common facts of contributions that are summed in one call.
  struct Slice {
    SharedGradient kind;
    std::uint32_t row;  ///< of a table
    std::uint32_t offset, rows, columns;
    bool operator==(const Slice&) const = default;
  };
  /// The contribution of an item through an input, in one or several steps. It is computed from the
  /// item's gradient dy, or from the numbers that its kernel left for weights, and for outer
  /// products also from a part of the next input in each step. If the kernel writes the
  /// contribution, dy means that.
  struct OfItem {
    Slice slice = {};  ///< the node has the row
    std::uint32_t steps = 1;
    std::size_t dy_begin = 0, dy_step = 0, x_step = 0;  ///< bytes
  };
  /// For a value that begins with this element.
  static OfItem of_item(const NodeType& type, unsigned input, std::uint32_t offset);
  /// Consecutive contributions to one slice.
  struct Series {
    Slice slice;
    std::size_t first;  ///< index in dy and x; the next one begins where this one ends
  };
  struct Target {
    Identity identity = 0;
    std::vector<Series> series;
    std::vector<const void*> dy, x;
    std::vector<std::size_t> shard_ends;  ///< indices in series, see end_shard()
    std::size_t shard_begin = 0;          ///< of the current shard

    void add(const Slice& slice, const void* from, const void* factor) {
      if (series.size() == shard_begin || series.back().slice != slice) {
        series.push_back({slice, dy.size()});
      }
      dy.push_back(from);
      x.push_back(factor);
    }
    void add(const OfItem& of, const std::byte* from, const std::byte* factor) {
      from += of.dy_begin;
      for (std::uint32_t step = 0; step < of.steps; ++step, from += of.dy_step) {
        add(of.slice, from, factor);
        if (factor != nullptr) factor += of.x_step;
      }
    }
    Addends addends(std::size_t number) const {
      const std::size_t first = series[number].first;
      const std::size_t end = number + 1 < series.size() ? series[number + 1].first : dy.size();
      return {dy.data() + first, x.data() + first, end - first};
    }
    void clear();
  };
  /// Consecutive series of a target.
  struct Selection {
    const Target* target;
    std::size_t begin, end;

    std::span<const Series> all() const {
      return std::span(target->series).subspan(begin, end - begin);
    }
    Addends addends(std::size_t number) const { return target->addends(begin + number); }
    /// The same with one series for each slice, in the order of first addends.
    Target grouped() const;
  };
  static Selection all_of(const Target& target) { return {&target, 0, target.series.size()}; }
  /// A contributing node: one of a tape, or a shared one.
  struct Consumer {
    const NodeType* type = nullptr;
    std::uint32_t items = 1, input = 0;
    const Value* value = nullptr;            ///< the input
    Identity producer = 0;                   ///< of the input
    const Value* factor = nullptr;           ///< the next input, for outer products
    const std::byte* factor_node = nullptr;  ///< the output of the factor's node
    std::span<const std::uint32_t> integers = {};
    /// If the kernel writes contributions: one per item, or one for all items of an open input.
    const std::byte* slots = nullptr;
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

  /// From now on contributions belong to the next shard, which is summed separately.
  void end_shard();
  std::size_t shards() const { return shards_; }
  static Selection of_shard(const Target& target, std::size_t shard);

  /// Adds ones at a value of this shared node, which is a root of the pass.
  void seed(Identity identity, const Value& value, const void* ones);
  /// Adds the contribution through one input of the gradient of the node's output, or of the
  /// numbers that its kernel left for weights.
  void contribute(const Consumer& consumer, const std::byte* dy);
  void contribute(NodeRef consumer, std::uint32_t input, const std::byte* slots,
                  const std::byte* dy);
  /// The same through all inputs, for a node with one item; false if its type does not determine
  /// all contributions.
  bool contribute_by_type(NodeRef consumer, const std::byte* dy);

 private:
  /// The contribution, through an input that the type contains, of any node with one item.
  struct TypeContribution {
    std::uint32_t input = 0, target = 0;
    OfItem of;
  };
  struct TypeContributions {
    bool known = false;
    bool complete = true;  ///< these are all; otherwise each node must be inspected
    std::size_t element = 0;
    std::vector<TypeContribution> all;
  };

  std::uint32_t target_index(Identity identity);
  const TypeContributions& of_type(NodeRef example);
  void describe(TypeContributions& contributions, NodeRef example);

  CommonState& common_;
  std::vector<Target> targets_;  ///< those from `used_` on only keep their memory
  std::size_t used_ = 0;
  std::size_t shards_ = 0;  ///< that have ended
  std::vector<std::uint32_t> target_of_identity_;
  std::vector<TypeContributions> of_type_;
  std::vector<TypeId> described_;  ///< the types in `of_type_` that are known
};

}  // namespace dynet_like::detail
