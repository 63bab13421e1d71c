// GradientExchange: the sum of the gradients of all shards, on all ranks, with the same bits on any
// number of them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/distributed/row_lists.h"
#include "dynet_like/distributed/shards.h"
#include "dynet_like/distributed/sum_pieces.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like {

/// Adds up gradients of the parameters of a collection that are updated. Each rank is sent a part
/// of all of them, adds up the shards in their fixed order, and sends the sums to all. Dense
/// gradients go in buckets of a few megabytes; of tables the rows that some shard has touched.
class GradientExchange {
 public:
  /// Throws UsageError unless there is a shard for each rank. From a GPU, gradients go through the
  /// memory of the host.
  GradientExchange(std::shared_ptr<Communicator> ranks, const ParameterCollection& model,
                   unsigned shards);

  /// The shards that are this rank's to compute.
  RankPart own_shards() const { return part_of_rank(shards_, ranks_->rank(), ranks_->size()); }

  /// The sum over the shards of all ranks, valid until the next call. `own` are this rank's, one
  /// object each; what they hold is used up. Rows of tables are in ascending order, and parameters
  /// that nobody reads have gradients of zeros. Throws RankError.
  Gradients& sum(std::span<Gradients> own);

 private:
  /// A parameter that is no table, and where its gradient lies in that of all.
  struct Dense {
    std::shared_ptr<ParameterStorage> parameter;
    std::size_t begin = 0;
  };

  void find_parameters();
  void exchange(std::span<Gradients> own, RankPart bucket, bool with_tables);
  void write_dense(std::span<const Gradients> own, RankPart slice, Communicator::Bytes& bytes);
  std::vector<detail::Piece> pieces_of(std::span<const Gradients> shards,
                                       const ParameterStorage& parameter, std::size_t first,
                                       std::size_t count);
  void append_rows(std::span<Gradients> own);
  void write_sum(std::size_t elements);
  void take_dense(RankPart slice, std::span<const std::byte> values);
  const Gradients& sum_of_rows(std::size_t dense_elements);
  void take_rows(std::vector<detail::RowReader> readers);
  template <class Use>
  void for_each_stretch(RankPart elements, const Use& use) const;

  std::shared_ptr<Communicator> ranks_;
  ParameterCollection model_;
  unsigned shards_;
  std::vector<Dense> dense_;
  std::size_t dense_size_ = 0;
  std::vector<std::shared_ptr<ParameterStorage>> tables_;
  Gradients total_;
  std::vector<Gradients> received_rows_;  ///< by node of the tree
  std::vector<Communicator::Bytes> sent_, received_, sums_;
  Communicator::Bytes sum_, on_host_;
};

}  // namespace dynet_like
