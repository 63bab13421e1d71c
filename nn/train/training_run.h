// TrainingRun: epochs, minibatches and updates for a training loop that you write.
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

/// Appends the losses of sample i.
using AppendLosses =
    std::function<void(ComputationGraph& graph, std::size_t i, std::vector<Expression>& losses)>;

/// Runs from the first minibatch, or from a checkpoint, to the last epoch:
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
/// A run that was stopped anywhere and resumed gives the same bits as one that was not. After any
/// exception from a member or from your loop, you may call next_epoch() again: it continues after
/// the last update.
class TrainingRun {
 public:
  /// The model must have all its parameters; it and the trainer must outlive the run. Makes the
  /// folder, or loads its checkpoint, and locks the folder until the run is destroyed. Throws
  /// UsageError for invalid options, or options that differ from the checkpoint's; FileError if
  /// another run uses the folder, or a file is missing, malformed or cannot be written.
  TrainingRun(const ParameterCollection& model, Trainer& trainer, TrainingOptions options = {});
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  /// Whether there is an epoch to train: the next one, or the rest of one that was not completed.
  /// At the end it loads the best model, if there is one. Throws FileError if the folder's best
  /// model is of another run. Returns false immediately after Ctrl-C or stop().
  bool next_epoch();

  class MinibatchRange;
  /// The remaining minibatches of the epoch, as lists of sample numbers: in random order with
  /// similar sizes together, in random order, or as given. When an epoch resumes from a checkpoint,
  /// they must be the same. After Ctrl-C or stop() they end early, and a checkpoint is saved.
  /// Throws UsageError outside of an epoch, for an epoch without minibatches, and if `batch` has
  /// options on which bits depend that TrainingOptions::graph has not, such as share_repeated.
  ///
  /// Before each minibatch, `batch` is cleared and its graphs get the seeds of the samples, in the
  /// order in which the loop's body gets them. So the random numbers of a sample depend only on the
  /// seed, the epoch and the sample's number.
  ///
  /// With several shards or ranks, the loop's body gets only the samples of this rank, possibly
  /// none, and must make one graph for each, in order. Shards are cut to have about the same total
  /// of `sizes`; without sizes, about the same number of samples.
  MinibatchRange minibatches(Minibatch& batch, std::span<const std::uint32_t> sizes);
  MinibatchRange minibatches(Minibatch& batch, std::size_t sample_count);
  MinibatchRange minibatches(Minibatch& batch, Minibatches list,
                             std::span<const std::uint32_t> sizes = {});

  /// Random numbers for choices in the loop, which follow from seed, epoch and minibatch. For
  /// choices within a sample, use the `random()` of its graph: numbers drawn here depend on earlier
  /// draws in the minibatch, and so on the rank. Only one thread may draw.
  Random& random();

  /// Runs a minibatch forward and backward. Then updates the parameters, unless more minibatches
  /// are to be accumulated. `losses` is the number of losses, for the mean; by default one per
  /// sample. Returns the sum of the losses over all ranks. A minibatch without losses on any rank
  /// makes no update, and is counted (TrainingProgress::without_loss); a rank without losses must
  /// still call update. Throws NumericError as TrainingOptions::not_finite says. Throws UsageError
  /// outside of the minibatches, if the minibatch was not cleared since its last backward pass, or
  /// if it has losses and `losses` is 0. With several ranks, also throws UsageError if
  /// ranks are at different positions, or if the settings of their trainers or (after 1, 2, 4, 8,
  /// ... updates) their parameters differ, and RankError if another rank is gone, hangs or has
  /// failed: then rank 0 has saved the last update.
  float update(Minibatch& batch);
  float update(Minibatch& batch, std::size_t losses);
  /// The same with your own gradients. Throws UsageError if there are several shards, for gradients
  /// that an update has already used, and if there are neither gradients nor losses.
  void update(const Gradients& gradients, double loss, std::size_t losses);

  /// Ends the epoch. If the score is better than all before (not equal), keeps the model, with its
  /// moving averages if the trainer has them. Then saves a checkpoint. Does nothing if the
  /// minibatches ended early. First throws UsageError unless all minibatches were used; with
  /// several ranks, also if their parameters or scores differ, and RankError as update() does.
  void finish_epoch(const std::function<double()>& dev_score);
  /// The same with a known score. Throws UsageError if the trainer uses moving averages.
  void finish_epoch(double dev_score);
  /// The same without dev samples: the last epoch's model is the best.
  void finish_epoch();
  /// Adds a number to the learning curve, for the epoch that is finished next. Call it after the
  /// minibatches, since checkpoints do not save it. Throws UsageError for a reserved name ("epoch",
  /// "train loss", "learning rate", the dev score), and for a name that is not UTF-8.
  void note(const std::string& column, double value);

  /// Asks the run to stop, like Ctrl-C. Any thread may call it.
  void stop();
  /// Whether the run was asked to stop; with several ranks, whether one was and all know it.
  bool interrupted() const;
  /// Saves a checkpoint of the last update. Throws UsageError without a folder.
  void save();

  /// The processes that train together.
  Communicator& ranks();
  /// Whether this rank writes files and prints.
  bool is_writer() const;

  const TrainingProgress& progress() const;
  const LearningCurve& curve() const { return progress().curve; }
  /// The speed of training, without evaluation, over the epochs of this run.
  double units_per_second() const;
  /// Writes settings, progress and these results to a JSON file. Throws FileError.
  void write_report(const std::filesystem::path& path,
                    const std::map<std::string, double>& results = {}) const;

 private:
  friend TrainingProgress train_samples(const ParameterCollection&, Trainer&, std::size_t,
                                        const AppendLosses&, TrainingOptions);
  /// `loop`: settings of the loop, which are compared as those of the run are.
  TrainingRun(const ParameterCollection& model, Trainer& trainer, TrainingOptions options,
              const Metadata& loop);

  // `training`: the epoch has minibatches left; `trained`: it has none. `finishing`: only
  // finish_epoch() is left, which has begun and may have failed.
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

/// For one range-based for loop.
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
