// TrainingRanks: lets the ranks of a training run stop together, and checks that they agree.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/io/model_file.h"
#include "dynet_like/train/trainer.h"
#include "nn/train/interrupt.h"
#include "nn/train/training_epoch.h"
#include "nn/train/training_options.h"

namespace dynet_like::nn {

/// Numbers that a rank sends between two minibatches, or with the gradients of one.
struct RankNumbers {
  /// Its position and its next random numbers: these must be the same on all ranks.
  std::uint64_t epoch = 0, minibatch = 0, order = 0, random = 0;
  /// Digests of the trainer's settings, and of the parameters (0: not compared this time).
  std::uint64_t trainer = 0, parameters = 0;
  std::uint64_t terms = 0;   ///< the number of terms of the loss
  std::uint64_t losses = 0;  ///< the number of losses
  std::uint64_t stops = 0;   ///< 1: it was asked to stop
  double busy_seconds = 0;   ///< since the last word, without waits and transfers
};
struct RankWord : RankNumbers {
  std::vector<double> shard_losses;  ///< the sums of its shards
  std::string failure;               ///< the message of its exception, if it has thrown
};

/// The words of all ranks together.
struct AllWords {
  double loss = 0;  ///< added in the order of the shards
  std::uint64_t losses = 0, terms = 0;
  bool any_stops = false;
  /// Whether ranks agree on these. Not compared if a rank has failed.
  bool same_trainer = true, same_parameters = true;
  double mean_busy_seconds = 0, most_busy_seconds = 0;
};

class TrainingRanks {
 public:
  /// All must outlive it. The options name the communicator.
  TrainingRanks(const TrainingOptions& options, Trainer& trainer);
  ~TrainingRanks();
  TrainingRanks(const TrainingRanks&) = delete;
  TrainingRanks& operator=(const TrainingRanks&) = delete;

  const std::shared_ptr<Communicator>& communicator() const { return ranks_; }
  unsigned size() const { return ranks_->size(); }
  /// Whether this rank writes files and prints.
  bool is_writer() const { return ranks_->rank() == 0; }

  /// Asks this rank to stop; other threads may call it.
  void stop() { stopped_ = true; }
  /// Whether this rank was asked to stop, and whether all ranks stop.
  bool wants_to_stop() const { return stopped_ || (watch_ && watch_->interrupted()); }
  bool all_stop() const { return size() == 1 ? wants_to_stop() : all_stop_; }
  void note_stop(bool all_stop) { all_stop_ |= all_stop; }
  /// From now on signals stop the run, until end_watch().
  void watch_signals();
  void end_watch();

  /// Does work that needs all ranks, as an event of the timeline.
  void together(const std::function<void()>& work);
  /// Throws UsageError unless all ranks began with the same texts, trainer and parameters.
  void check_alike(const Metadata& mine);
  /// The numbers of this rank at its present position.
  RankNumbers numbers(const TrainingState& run) const;
  /// Exchanges words with all ranks, after so many updates. Throws UsageError if they disagree.
  AllWords agree(RankWord mine, std::uint64_t updates, bool compares_parameters = false);
  bool agree_to_stop(const TrainingState& run);
  void check_same_parameters(const TrainingState& run);
  void check_same_score(std::optional<double> score);
  /// Gives all ranks the parameters of rank 0.
  void broadcast_parameters();

 private:
  const TrainingOptions& options_;
  Trainer& trainer_;
  std::shared_ptr<Communicator> ranks_;
  std::atomic<bool> stopped_ = false;
  std::optional<InterruptWatch> watch_;
  bool all_stop_ = false;       ///< ranks have agreed to stop
  bool has_agreed_ = false;     ///< since the last minibatch began
  std::uint64_t compared_ = 0;  ///< updates at the last comparison of parameters
};

}  // namespace dynet_like::nn
