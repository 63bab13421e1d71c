// Shards: parts of a minibatch whose gradients are summed separately, on whichever rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace dynet_like {

/// The samples of a minibatch, ordered by shard, and where each shard ends.
struct Shards {
  std::vector<std::uint32_t> samples;
  std::vector<std::uint32_t> ends;  ///< indices into `samples`
};

/// Cuts a minibatch into shards of about equal cost: the largest sample first, each into the shard
/// that has least so far (Graham 1969). The result depends on the arguments alone. `costs` are
/// indexed by sample, in any unit that grows with the work, such as words; if empty, all samples
/// cost the same. A shard has its samples in the order of the minibatch. Throws UsageError for 0
/// shards, and for a sample without a cost.
Shards cut_into_shards(std::span<const std::uint32_t> samples, std::span<const std::uint32_t> costs,
                       unsigned count);

/// The integers from `begin` to `end` - 1.
struct RankPart {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

/// The integers that are in both; of size 0 if there are none.
inline RankPart common_part(RankPart a, RankPart b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// A rank's consecutive part of `count` things. The sizes of parts differ by at most 1.
inline RankPart part_of_rank(std::size_t count, unsigned rank, unsigned ranks) {
  return {count * rank / ranks, count * (rank + 1) / ranks};
}

namespace detail {

/// Sums of shards have a fixed order: a binary tree whose leaves are the shards. Level k has the
/// sums of 2^k shards, beginning at multiples of 2^k; nodes that remain at the end are added from
/// the right. So each rank can add up its own shards, and others the results, with the same bits.
struct TreeNode {
  std::size_t shard = 0;  ///< the first shard of the node
  unsigned level = 0;
  bool operator==(const TreeNode&) const = default;
};

/// The largest tree nodes that consist of these shards, in order.
std::vector<TreeNode> tree_nodes(RankPart shards);

/// Adds up nodes that come in order. add(left, right) must turn `left` into the sum.
template <class Sum, class Add>
class TreeSum {
 public:
  explicit TreeSum(Add add) : add_(std::move(add)) {}

  void push(unsigned level, Sum sum) {
    while (!waiting_.empty() && waiting_.back().level == level) {
      add_(waiting_.back().sum, sum);
      sum = waiting_.back().sum;
      waiting_.pop_back();
      ++level;
    }
    waiting_.push_back({level, sum});
  }

  /// Calls use(level, sum) for the largest nodes so far, from the left.
  template <class Use>
  void for_each(const Use& use) const {
    for (const Waiting& waiting : waiting_) use(waiting.level, waiting.sum);
  }

  /// The sum of all nodes; there must be at least one.
  Sum total() {
    while (waiting_.size() > 1) {
      const Sum right = waiting_.back().sum;
      waiting_.pop_back();
      add_(waiting_.back().sum, right);
    }
    return waiting_.back().sum;
  }

 private:
  struct Waiting {
    unsigned level;
    Sum sum;
  };
  Add add_;
  std::vector<Waiting> waiting_;
};

}  // namespace detail

}  // namespace dynet_like
