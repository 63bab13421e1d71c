// The ranks of a training run: when they stop, and what they must have in common.
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

class TrainingRanks {
 public:
  /// `rescue` saves what can be saved when a rank is lost, and returns what to say of it.
  TrainingRanks(TrainingState& run, const TrainingEpoch& epoch,
                std::function<std::string()> rescue);
  ~TrainingRanks();
  TrainingRanks(const TrainingRanks&) = delete;
  TrainingRanks& operator=(const TrainingRanks&) = delete;

  /// Asks this rank to stop; other threads may call it.
  void stop() { stopped_ = true; }
  /// Whether this rank was asked to, and whether all stop.
  bool wants_to_stop() const { return stopped_ || (watch_ && watch_->interrupted()); }
  bool all_stop() const { return run_.ranks->size() == 1 ? wants_to_stop() : all_stop_; }
  void note_stop(bool all_stop) { all_stop_ |= all_stop; }
  /// From now on signals stop the run, until end_watch().
  void watch_signals();
  void end_watch();

  /// Does something that others do as well. If one of them is gone, the RankError says what
  /// `rescue` has.
  void together(const std::function<void()>& work);
  /// Throws UsageError if ranks have not begun with the same program, data and options.
  void check_alike();
  /// What this rank says at this place.
  RankWord word() const;
  /// Tells the others; throws UsageError for what differs.
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
  bool all_stop_ = false;       // they have agreed to
  bool has_agreed_ = false;     // since the last minibatch began
  std::uint64_t compared_ = 0;  // the updates after which parameters were compared last
};

}  // namespace dynet_like::nn
