// GradientExchange: the sum of the gradients of all shards, on all ranks, with the same bits on any
// number of them.
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

/// Adds up gradients of the parameters of a collection that are updated. Each rank is sent a part
/// of all of them, adds up the shards in their fixed order, and sends the sums to all. Dense
/// gradients go in buckets of a megabyte; of tables the rows that some shard has touched.
///
/// A sum has three steps, the same ones on all ranks: send, receive, sum. A bucket is on its way as
/// soon as all of it was packed, while others are still computed.
class GradientExchange {
 public:
  /// Throws UsageError unless there is a shard for each rank. From a GPU, gradients go through the
  /// memory of the host.
  GradientExchange(std::shared_ptr<Communicator> ranks, const ParameterCollection& model,
                   unsigned shards);
  GradientExchange(const GradientExchange&) = delete;  // rounds on their way know where it is
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// The shards that are this rank's to compute.
  RankPart own_shards() const { return part_of_rank(shards_, ranks_->rank(), ranks_->size()); }

  /// Takes the gradients of a parameter, if they are complete and it is no table: it may be called
  /// for any of them, before send(). `own` are this rank's shards, one object each; what is taken
  /// is cleared.
  void pack(std::span<Gradients> own, const ParameterStorage& parameter);
  /// Takes all others.
  void send(std::span<Gradients> own);
  /// For a rank whose pack() or send() did not come to its end: the others get nothing instead, and
  /// must learn of it before sum().
  void send_nothing();
  /// Waits for what the others have sent. Throws RankError.
  void receive();
  /// The sum over the shards of all ranks, valid until the next send(). Rows of tables are in
  /// ascending order, and parameters that nobody reads have gradients of zeros. Throws RankError.
  Gradients& sum();
  /// Forgets what was packed or received.
  void clear();

 private:
  enum class Step : std::uint8_t { none, packing, sent, received };
  /// A parameter that is no table, and where its gradient lies in that of all.
  struct Dense {
    std::shared_ptr<ParameterStorage> parameter;
    std::size_t begin = 0;
    bool is_packed = false;
  };
  /// Consecutive elements of the gradients of all. Each rank is sent its slice of them, of each
  /// node of this rank's shards.
  struct Bucket {
    RankPart elements;
    std::size_t packed = 0;  ///< elements
    bool is_sent = false;
    std::vector<Communicator::Bytes> to;
    Communicator::Bytes sum;  ///< of this rank's slice
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
  std::vector<std::vector<detail::TreeNode>> nodes_;  ///< of the shards of each rank
  Step step_ = Step::none;
  std::vector<Dense> dense_;
  std::unordered_map<const ParameterStorage*, std::size_t> index_;  ///< into dense_
  std::vector<std::shared_ptr<ParameterStorage>> tables_;
  std::vector<Bucket> buckets_;  ///< rows of tables are in the last one
  Gradients total_;
  std::vector<Gradients> received_rows_;  ///< by node of the tree
  Communicator::Bytes on_host_;
};

}  // namespace dynet_like
