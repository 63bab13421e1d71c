// What the ranks of a run tell each other beside gradients, and must agree on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dynet_like/distributed/communicator.h"

namespace dynet_like::nn {

/// What a rank says between two minibatches, or with the gradients of one.
struct RankNumbers {
  /// Where it is, and which random numbers come next: all must be at the same place.
  std::uint64_t epoch = 0, minibatch = 0, order = 0, sizes = 0, random = 0;
  /// Digests of the trainer's settings, and of the parameters, if they are due; 0: not.
  std::uint64_t trainer = 0, parameters = 0;
  std::uint64_t terms = 0;   ///< of the loss
  std::uint64_t losses = 0;  ///< how many
  std::uint64_t stops = 0;   ///< 1: it was asked to
  double busy_seconds = 0;   ///< since the last word, without waiting and transfer
};
struct RankWord : RankNumbers {
  std::vector<double> shard_losses;  ///< the sums of its shards
  std::string failure;               ///< what it has thrown
};

/// What all of them have said.
struct AllWords {
  double loss = 0;  ///< added in the order of the shards
  std::uint64_t losses = 0, terms = 0;
  bool any_stops = false;
  /// What ranks have that should be the same; where one has failed it is not compared.
  bool same_trainer = true, same_parameters = true;
  double mean_busy_seconds = 0, most_busy_seconds = 0;
};

/// Throws UsageError if they are not at one place, and RankError if another rank has failed
/// and this one has not.
AllWords exchange(Communicator& ranks, const RankWord& mine);

}  // namespace dynet_like::nn
