// A minibatch that ranks share: its shards, and the gradients of those that are this rank's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/distributed/gradient_exchange.h"
#include "dynet_like/graph/minibatch.h"

namespace dynet_like::nn {

class SharedMinibatch {
 public:
  /// Throws UsageError unless there is a shard for each rank.
  SharedMinibatch(std::shared_ptr<Communicator> ranks, const ParameterCollection& model,
                  unsigned shards);

  /// Cuts the next one; see cut_into_shards(). Gradients stay.
  void begin(std::span<const std::uint32_t> samples, std::span<const std::uint32_t> costs);
  /// The samples of this rank, and the place of the first of them among those of all ranks.
  const std::vector<std::uint32_t>& own_samples() const { return own_samples_; }
  std::uint32_t first_sample() const { return first_sample_; }

  /// Runs a minibatch of these samples backward: what each shard gets is added to what it has. The
  /// losses of the shards, in order. `sends`: also sends the gradients, for sum(). Throws
  /// UsageError for another number of samples.
  std::vector<double> backward(Minibatch& batch, bool sends);
  /// Sends them, if backward() did not.
  void send() { exchange_.send(gradients_); }
  /// For what backward() has not sent because it has thrown.
  void send_nothing() { exchange_.send_nothing(); }
  void receive() { exchange_.receive(); }
  /// The gradients of all shards of all ranks, once they were received.
  Gradients& sum() { return exchange_.sum(); }
  void clear();

 private:
  GradientExchange exchange_;
  unsigned shards_;
  std::vector<std::uint32_t> own_samples_, own_ends_;
  std::uint32_t first_sample_ = 0;
  std::vector<Gradients> gradients_;  // by own shard
};

}  // namespace dynet_like::nn
