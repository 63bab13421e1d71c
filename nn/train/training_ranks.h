// TrainingRanks: lets the ranks of a training run stop together, and checks that they agree.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nn/train/interrupt.h"
#include "nn/train/training_epoch.h"
#include "nn/train/training_state.h"

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
  /// `rescue` is called when a rank is lost: it saves the run, and returns a text for the message.
  TrainingRanks(TrainingState& run, const TrainingEpoch& epoch,
                std::function<std::string()> rescue);
  ~TrainingRanks();
  TrainingRanks(const TrainingRanks&) = delete;
  TrainingRanks& operator=(const TrainingRanks&) = delete;

  /// Asks this rank to stop; other threads may call it.
  void stop() { stopped_ = true; }
  /// Whether this rank was asked to stop, and whether all ranks stop.
  bool wants_to_stop() const { return stopped_ || (watch_ && watch_->interrupted()); }
  bool all_stop() const { return run_.ranks->size() == 1 ? wants_to_stop() : all_stop_; }
  void note_stop(bool all_stop) { all_stop_ |= all_stop; }
  /// From now on signals stop the run, until end_watch().
  void watch_signals();
  void end_watch();

  /// Does work that needs all ranks. If one of them is gone, adds the text of `rescue` to the
  /// RankError.
  void together(const std::function<void()>& work);
  /// Throws UsageError unless all ranks began with the same program, data and options.
  void check_alike();
  /// The word of this rank at its present position.
  RankWord word() const;
  /// Exchanges words with all ranks. Throws UsageError if they disagree.
  AllWords agree(RankWord mine, bool compares_parameters = false);
  bool agree_to_stop();
  void check_same_parameters();
  void check_same_score(std::optional<double> score);
  /// Gives all ranks the parameters of rank 0.
  void broadcast_parameters();

 private:
  TrainingState& run_;
  const TrainingEpoch& epoch_;
  std::function<std::string()> rescue_;
  std::atomic<bool> stopped_ = false;
  std::optional<InterruptWatch> watch_;
  bool all_stop_ = false;       // ranks have agreed to stop
  bool has_agreed_ = false;     // since the last minibatch began
  std::uint64_t compared_ = 0;  // updates at the last comparison of parameters
};

}  // namespace dynet_like::nn
