// The parameters that one rank serves and the trainer that updates them; and the bytes that workers
// send and receive.
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

/// Divides the parameters among ranks: the largest first, each to the rank that has least so far. A
/// table counts as a sixteenth of its rows, since a minibatch updates only the rows that it reads.
std::vector<Storages> shares_of(const ParameterCollection& parameters, unsigned ranks);

/// Appends a worker's gradients of these parameters, for the rank that serves them.
void append_gradients(Communicator::Bytes& bytes, const Gradients& gradients,
                      const Storages& share);

/// Reads bytes of ServedParameters::append_values() into a worker's parameters.
void read_values(std::span<const std::byte> bytes, const Storages& share);

class ServedParameters {
 public:
  using Bytes = Communicator::Bytes;

  /// Copies the trainer and its parameters, and updates only those of `share`. Throws UsageError
  /// for tables whose rows change without a gradient: workers are sent only rows that had one.
  ServedParameters(Trainer& trainer, const Storages& share);

  /// The number of updates.
  std::uint64_t version() const { return version_; }
  /// Staleness: how many updates a gradient's parameters lacked. The maximum, and the sum.
  std::uint64_t most_staleness() const { return most_staleness_; }
  std::uint64_t total_staleness() const { return total_staleness_; }

  /// Appends dense values, and the rows of tables that changed after a version.
  void append_values(Bytes& bytes, std::uint64_t after) const;
  /// Keeps gradients, which were computed from parameters of `version`, for the next update.
  void add(std::span<const std::byte> gradients, std::uint64_t minibatch, std::uint64_t version);
  /// Sets the learning rate of the next updates.
  void set_learning_rate(float rate) { trainer_->learning_rate = rate; }
  /// Makes one update with the sum of the kept gradients, added in the order of the minibatches.
  void update();
  /// Values, moments and averages as bytes, for load_states().
  Bytes state() const;

 private:
  void note_rows(const Gradients& gradients);

  std::unique_ptr<Trainer> trainer_;
  Storages share_;
  std::map<const ParameterStorage*, std::vector<std::uint64_t>> row_versions_;
  std::map<std::uint64_t, Gradients> kept_;  ///< by minibatch
  std::uint64_t version_ = 0, most_staleness_ = 0, total_staleness_ = 0;
};

/// Loads the state of a trainer and its parameters from the servers of all shares.
void load_states(Trainer& trainer, std::span<const Communicator::Bytes> states,
                 const std::vector<Storages>& shares);

}  // namespace dynet_like::detail
