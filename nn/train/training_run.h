// A training run: epochs, minibatches and updates of a loop that stays the program's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/random.h"
#include "dynet_like/distributed/communicator.h"
#include "dynet_like/graph/minibatch.h"
#include "dynet_like/train/trainer.h"
#include "nn/data/minibatches.h"
#include "nn/train/training_options.h"
#include "nn/train/training_progress.h"

namespace dynet_like::nn {

class Checkpoints;
class TrainingEpoch;
class TrainingLog;
class TrainingRanks;
struct TrainingState;
class Updater;

/// From the first minibatch, or from a checkpoint, to the last epoch:
///
///   nn::TrainingRun run(model, trainer, options);
///   while (run.next_epoch()) {
///     for (const auto& samples : run.minibatches(batch, sizes)) {
///       batch.add_losses(samples.size(), loss_of);
///       run.update(batch);
///     }
///     run.finish_epoch(dev_score);
///   }
///
/// What is stopped anywhere and resumed has the bits of what is not. Whatever a member or the loop
/// throws, next_epoch() may be called again, and goes on after the last update.
class TrainingRun {
 public:
  /// The model must have all its parameters; it and the trainer must outlive the run. Makes the
  /// folder, or loads its checkpoint; until the run is destroyed, the folder is its own. Throws
  /// UsageError for options that make no sense or are not those of the checkpoint, and FileError if
  /// another run has the folder, or a file is missing, malformed or cannot be written.
  TrainingRun(const ParameterCollection& model, Trainer& trainer, TrainingOptions options = {});
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  /// Whether there is an epoch to train: the next one, or the rest of one that was not completed.
  /// At the end the best model is loaded; without any, the last one stays. Throws FileError if the
  /// folder has the best model of another run in its place. False at once after Ctrl-C or stop().
  bool next_epoch();

  class MinibatchRange;
  /// The minibatches of the epoch that are left, as numbers of samples: in a random order with
  /// similar sizes together, in a random order, or as they are given. They must be the same if the
  /// epoch goes on after a checkpoint. After Ctrl-C or stop() they end early, and a checkpoint is
  /// saved. Throws UsageError outside of an epoch.
  ///
  /// Before each of them `batch` is cleared, and its graphs get the seeds of the samples in the
  /// order that the loop's body is given: what a sample draws follows from seed, epoch and the
  /// number of the sample, and from nothing else.
  ///
  /// With several shards or ranks the loop's body is given the samples that are this rank's, and
  /// makes one graph for each, in their order; there may be none. Shards cost about the same by
  /// `sizes`; without any, they have as many samples.
  MinibatchRange minibatches(Minibatch& batch, std::span<const std::uint32_t> sizes);
  MinibatchRange minibatches(Minibatch& batch, std::size_t sample_count);
  MinibatchRange minibatches(Minibatch& batch, Minibatches list,
                             std::span<const std::uint32_t> sizes = {});

  /// Random numbers for choices of the loop, which follow from seed, epoch and minibatch. Choices
  /// of a sample draw from the `random()` of its graph: those of the loop depend on what came
  /// before in the minibatch, and so on the rank. Only one thread may draw.
  Random& random();

  /// Runs a minibatch forward and backward and, unless gradients are accumulated and more are to
  /// come, updates the parameters. `losses` is for means: how many losses it has, by default one
  /// per sample. Returns the sum of the losses, of all ranks. Throws NumericError as
  /// TrainingOptions::not_finite says, and UsageError outside of the minibatches, or if the
  /// minibatch was not cleared since its last backward pass, or if it has no losses on any rank; a
  /// rank without losses of its own still calls update. With several ranks it also throws
  /// UsageError if they are not at the same place, or if their trainers' settings or, after 1, 2,
  /// 4, 8, ... updates, their parameters differ, and RankError if another one is gone, hangs or has
  /// failed: then rank 0 has saved the last update.
  float update(Minibatch& batch);
  float update(Minibatch& batch, std::size_t losses);
  /// The same with gradients of your own. Throws UsageError if there are several shards, for
  /// gradients that an update has used, and if there are neither gradients nor losses.
  void update(const Gradients& gradients, double loss, std::size_t losses);

  /// Ends the epoch: the model, with its moving averages if the trainer takes them, is kept if its
  /// score is the best so far, which an equal one is not; then saves a checkpoint. Does nothing if
  /// the minibatches ended early. Throws UsageError, before all else, unless all were used; with
  /// several ranks also if their parameters or scores differ, and RankError as update() does.
  void finish_epoch(const std::function<double()>& dev_score);
  /// The same for a score that is known. Throws UsageError if the trainer takes moving averages.
  void finish_epoch(double dev_score);
  /// The same without dev samples: the last epoch's model is the best.
  void finish_epoch();
  /// One more number for the learning curve, of the epoch that is finished next; after its
  /// minibatches, since checkpoints do not have it. Throws UsageError for a name of the curve's own
  /// ("epoch", "train loss", the dev score), and for one that is not UTF-8.
  void note(const std::string& column, double value);

  /// Asks the run to end as Ctrl-C does. Other threads may call it.
  void stop();
  /// Whether it was asked to; with several ranks, whether one was and all know it.
  bool interrupted() const;
  /// Saves a checkpoint of the last update; UsageError without a folder.
  void save();

  /// The processes that train together.
  Communicator& ranks();
  /// Whether this is the one that writes files and prints.
  bool is_writer() const;

  const TrainingProgress& progress() const;
  const LearningCurve& curve() const { return progress().curve; }
  /// Over the epochs of this run; training only.
  double units_per_second() const;
  /// The best epoch, its score and the time, in one line.
  std::string summary() const;
  /// A JSON file with settings, progress and these results, for programs to read. Throws FileError.
  void write_report(const std::filesystem::path& path,
                    const std::map<std::string, double>& results = {}) const;

 private:
  // In an epoch, minibatches are `training` until all of them were used; where finish_epoch() has
  // failed, `finishing`, that is all that is left of it.
  enum class Phase { between, training, trained, finishing, over };

  void finish(const std::function<std::optional<double>()>& dev_score);
  void put_weights_back();
  std::string rescue();

  std::unique_ptr<TrainingState> state_;
  std::unique_ptr<TrainingEpoch> epoch_;
  std::unique_ptr<TrainingRanks> ranks_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<TrainingLog> log_;
  std::unique_ptr<Updater> updater_;
  Phase phase_ = Phase::between;
  bool averages_in_place_ = false;
};

/// For a range-based for loop, once.
class TrainingRun::MinibatchRange {
 public:
  class Iterator {
   public:
    explicit Iterator(MinibatchRange& range) : range_(range) {}
    const std::vector<std::uint32_t>& operator*() const { return range_.samples(); }
    Iterator& operator++() {
      range_.pass();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !range_.next(); }

   private:
    MinibatchRange& range_;
  };

  MinibatchRange(TrainingRun& run, Minibatch& batch);
  ~MinibatchRange();
  MinibatchRange(const MinibatchRange&) = delete;
  MinibatchRange& operator=(const MinibatchRange&) = delete;

  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  bool next();
  const std::vector<std::uint32_t>& samples() const;
  void pass();

  TrainingRun& run_;
  Minibatch& batch_;
};

}  // namespace dynet_like::nn
