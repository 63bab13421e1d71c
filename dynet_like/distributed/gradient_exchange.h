// GradientExchange: sums the gradients of all shards, on all ranks. The bits do not depend on the
// number of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/distributed/row_lists.h"
#include "dynet_like/distributed/shards.h"
#include "dynet_like/distributed/sum_pieces.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like {

/// Sums the gradients of the updated parameters of a collection. Each rank receives its slice of
/// all gradients, adds up the shards in their fixed order, and sends the sums to all ranks. Dense
/// gradients go in buckets of a megabyte. Of tables, only rows go that some shard has touched.
///
/// A sum has three steps, the same on all ranks: send, receive, sum. pack() sends a bucket as soon
/// as it is full, while other gradients are still being computed.
class GradientExchange {
 public:
  /// Throws UsageError unless there is at least one shard per rank. Gradients of a GPU go through
  /// host memory.
  GradientExchange(std::shared_ptr<Communicator> ranks, const ParameterCollection& model,
                   unsigned shards);
  GradientExchange(const GradientExchange&) = delete;  // open rounds have its address
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// The shards that this rank computes.
  RankPart own_shards() const { return part_of_rank(shards_, ranks_->rank(), ranks_->size()); }

  /// Packs the gradients of a parameter, once they are complete; does nothing for tables. You may
  /// call it for any parameters before send(). `own` has one object for each of this rank's shards;
  /// packed gradients are cleared in them.
  void pack(std::span<Gradients> own, const ParameterStorage& parameter);
  /// Packs and sends all other gradients.
  void send(std::span<Gradients> own);
  /// If pack() or send() failed on this rank: sends nothing in place of the rest. The program must
  /// tell the other ranks before they call sum().
  void send_nothing();
  /// Waits for the gradients of the other ranks. Throws RankError.
  void receive();
  /// The sum over the shards of all ranks, valid until the next send(). Rows of tables are in
  /// ascending order. A parameter that no shard reads has zeros. Throws RankError.
  Gradients& sum();
  /// Drops gradients that were packed or received.
  void clear();

 private:
  enum class Step : std::uint8_t { none, packing, sent, received };
  /// A parameter that is not a table, and where its gradient begins in the sequence of all
  /// gradients.
  struct Dense {
    std::shared_ptr<ParameterStorage> parameter;
    std::size_t begin = 0;
    bool is_packed = false;
  };
  /// Consecutive elements of the sequence of all gradients. Each rank is sent its slice of them,
  /// once for each tree node of this rank's shards.
  struct Bucket {
    RankPart elements;
    std::size_t packed = 0;  ///< number of elements
    bool is_sent = false;
    std::vector<Communicator::Bytes> to;
    Communicator::Bytes sum;  ///< the sum of this rank's slice
    Communicator::Round parts, sums;
  };

  void begin();
  void pack(std::span<Gradients> own, Dense& dense);
  void pack(std::span<const Gradients> own, const Dense& dense, Bucket& bucket);
  void send_complete_buckets(std::size_t end);
  void send(Bucket& bucket);
  RankPart slice_of(const Bucket& bucket, unsigned rank) const;
  std::vector<detail::Piece> pieces_of(std::span<const Gradients> shards,
                                       const ParameterStorage& parameter, RankPart elements);
  void check_size(const Bucket& bucket, unsigned from) const;
  void append_rows(std::span<Gradients> own, Bucket& bucket);
  void write_sum(Bucket& bucket);
  void append_sum_of_rows(Bucket& bucket);
  void take_dense(RankPart slice, std::span<const std::byte> values);
  void take_sums(Bucket& bucket);
  void take_rows(std::vector<detail::RowReader> readers);

  std::shared_ptr<Communicator> ranks_;
  ParameterCollection model_;
  unsigned shards_;
  std::vector<std::vector<detail::TreeNode>> nodes_;  ///< the tree nodes of each rank's shards
  Step step_ = Step::none;
  std::vector<Dense> dense_;
  std::unordered_map<const ParameterStorage*, std::size_t> index_;  ///< index into dense_
  std::vector<std::shared_ptr<ParameterStorage>> tables_;
  std::vector<Bucket> buckets_;  ///< the last one also has the rows of tables
  Gradients total_;
  std::vector<Gradients> received_rows_;  ///< by tree node
  Communicator::Bytes on_host_;
};

}  // namespace dynet_like
