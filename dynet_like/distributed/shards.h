// Shards: the parts of a minibatch that are summed by themselves, whoever computes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace dynet_like {

/// The samples of a minibatch, shard after shard, and where each shard ends.
struct Shards {
  std::vector<std::uint32_t> samples;
  std::vector<std::uint32_t> ends;  ///< in `samples`
};

/// Cuts a minibatch into shards of about equal cost: the largest sample first, each into the shard
/// that has least so far (Graham 1969). It follows from the arguments alone. `costs` are by number
/// of sample, in any unit that grows with the work, such as words; none: all cost the same. In a
/// shard, samples stand as they do in the minibatch. Throws UsageError for 0 shards, and for a
/// sample without a cost.
Shards cut_into_shards(std::span<const std::uint32_t> samples, std::span<const std::uint32_t> costs,
                       unsigned count);

/// Numbers from `begin` to `end` - 1.
struct RankPart {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

/// Those that are in both; of size 0 if there are none.
inline RankPart common_part(RankPart a, RankPart b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// The part of `count` things, one behind the other, that a rank has: as many as the others, or one
/// more or less.
inline RankPart part_of_rank(std::size_t count, unsigned rank, unsigned ranks) {
  return {count * rank / ranks, count * (rank + 1) / ranks};
}

namespace detail {

/// Sums of shards have one fixed order: a binary tree whose leaves are the shards. Level k has the
/// sums of 2^k shards from a multiple of 2^k on; what remains at the end is added from the right.
/// So a rank may add up what it has, and others its sums, with the same bits.
struct TreeNode {
  std::size_t shard = 0;  ///< the first
  unsigned level = 0;
  bool operator==(const TreeNode&) const = default;
};

/// The largest nodes of the tree that these shards make, in order.
std::vector<TreeNode> tree_nodes(RankPart shards);

/// Adds up nodes that come in order. `Sum` is anything for which add(left, right) makes the left
/// one the sum.
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

  /// The sums of the largest nodes so far, from the left.
  template <class Use>
  void for_each(const Use& use) const {
    for (const Waiting& waiting : waiting_) use(waiting.level, waiting.sum);
  }

  /// The sum of all; there must be one.
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
