// RankOptions: the processes that train together, and how they share minibatches.
#pragma once

#include <memory>
#include <optional>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/distributed/turns.h"

namespace dynet_like::nn {

struct RankOptions {
  /// The processes (ranks) that train together; null: this one alone. Results have the same bits
  /// for any number of ranks, and a run may resume with another number. Only rank 0 writes files
  /// and prints. A rank on another machine needs the same checkpoint to resume.
  std::shared_ptr<Communicator> communicator = {};
  /// Each minibatch is cut into this many shards; gradients are summed within each shard, and then
  /// over shards. Results depend on this number. Ranks divide the shards among themselves, so every
  /// rank needs at least one; 8 suits 1, 2, 4 or 8 ranks.
  unsigned shards = 1;
  /// If set, ranks do not wait for each other after every minibatch. Each rank trains on whole
  /// minibatches and takes the next when it is ready, so that slow ranks take fewer. Results then
  /// depend on the number of ranks and on timing. Parameters must be on the CPU; tables must be
  /// updated lazily and without decay. A staleness of 0 without backup ranks is the same as no
  /// relaxation: ranks share each minibatch. If one rank throws, all do, and the epoch restarts
  /// with the latest values of rank 0.
  std::optional<Relaxation> relaxation = {};

  /// Whether ranks train without waiting for each other.
  bool is_relaxed() const {
    return relaxation && (relaxation->staleness > 0 || relaxation->backup_ranks > 0);
  }
  /// Throws UsageError for numbers that do not fit so many ranks.
  void check(unsigned number_of_ranks) const;
};

}  // namespace dynet_like::nn
