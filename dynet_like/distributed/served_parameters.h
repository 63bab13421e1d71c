// The parameters that one rank serves, with the trainer that updates them; and what workers send
// and receive of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/params/gradients.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like::detail {

using Storages = std::vector<std::shared_ptr<ParameterStorage>>;

/// The parameters of each of so many ranks: the largest first, each to the rank that has least so
/// far. A table counts as one row in sixteen: its updates are of the rows that a minibatch reads.
std::vector<Storages> shares_of(const ParameterCollection& parameters, unsigned ranks);

/// A worker's gradients of these parameters, for the rank that serves them.
void append_gradients(Communicator::Bytes& bytes, const Gradients& gradients,
                      const Storages& share);

/// Puts what ServedParameters::append_values() has written into a worker's parameters.
void read_values(std::span<const std::byte> bytes, const Storages& share);

class ServedParameters {
 public:
  using Bytes = Communicator::Bytes;

  /// Copies the trainer and its parameters, and updates those of `share` alone. Throws UsageError
  /// for tables whose rows change without a gradient, since workers are sent those that have one.
  ServedParameters(Trainer& trainer, const Storages& share);

  /// How many updates there were.
  std::uint64_t version() const { return version_; }
  /// Updates that came between a gradient's parameters and the gradient: the most, and the sum.
  std::uint64_t most_staleness() const { return most_staleness_; }
  std::uint64_t total_staleness() const { return total_staleness_; }

  /// Dense values, and the rows of tables that changed after a version.
  void append_values(Bytes& bytes, std::uint64_t after) const;
  /// Keeps gradients for the next update; they are of parameters of `version`.
  void add(std::span<const std::byte> gradients, std::uint64_t minibatch, std::uint64_t version);
  /// Of the next updates.
  void set_learning_rate(float rate) { trainer_->learning_rate = rate; }
  /// One update with the sum of what was kept, in the order of the minibatches.
  void update();
  /// Values, moments and averages, for load_states().
  Bytes state() const;

 private:
  void note_rows(const Gradients& gradients);

  std::unique_ptr<Trainer> trainer_;
  Storages share_;
  std::map<const ParameterStorage*, std::vector<std::uint64_t>> row_versions_;
  std::map<std::uint64_t, Gradients> kept_;  ///< by minibatch
  std::uint64_t version_ = 0, most_staleness_ = 0, total_staleness_ = 0;
};

/// Makes a trainer and its parameters what the servers of all shares say that they are.
void load_states(Trainer& trainer, std::span<const Communicator::Bytes> states,
                 const std::vector<Storages>& shares);

}  // namespace dynet_like::detail
