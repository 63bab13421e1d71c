// TrainingRun: epochs, minibatches and updates for a training loop that you write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
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

/// Trains the parameters of a trainer's collection, from the first minibatch, or from a checkpoint,
/// to the last epoch:
///
///   nn::TrainingRun run(trainer, options);
///   Minibatch batch;
///   while (run.next_epoch(data.size())) {
///     while (run.next(batch)) {
///       batch.add_losses(run.samples().size(), loss_of);
///       run.update(batch);
///     }
///     run.finish_epoch();
///   }
///
/// A run that was stopped anywhere and resumed gives the same bits as one that was not. After any
/// exception from a member or from your loop, you may call next_epoch() again: it continues after
/// the last update.
class TrainingRun {
 public:
  /// The trainer's collection, the model, must have all its parameters; the trainer must outlive
  /// the run. Makes the folder, or loads its checkpoint, and locks the folder until the run is
  /// destroyed. `loop`: settings of your loop by name, which are compared as those of the run are.
  /// Throws UsageError for invalid options, or options that differ from the checkpoint's; FileError
  /// if another run uses the folder, or a file is missing, malformed or cannot be written.
  explicit TrainingRun(Trainer& trainer, TrainingOptions options = {}, const Metadata& loop = {});
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  /// Begins an epoch: the next one, or the rest of one that was not completed. Its minibatches are
  /// lists of sample numbers: in random order, with similar sizes together if
  /// TrainingOptions::sizes has the sizes of all samples; or as given. When an epoch resumes from a
  /// checkpoint, they must be the same. Returns false if there is no epoch left; then it has loaded
  /// the best model, if there is one. Also returns false after Ctrl-C or stop(), when it has saved
  /// a checkpoint. Throws UsageError for an epoch without minibatches, and before finish_epoch();
  /// FileError if the folder's best model is of another run.
  bool next_epoch(std::size_t sample_count);
  /// `sizes`: see next().
  bool next_epoch(Minibatches list, std::span<const std::uint32_t> sizes = {});

  /// Begins the next minibatch of the epoch. Clears `batch`, and gives the seeds of the samples to
  /// its next graphs. So the random numbers of a sample depend only on the seed, the epoch and the
  /// sample's number. Returns false after the last minibatch. After Ctrl-C or stop() it returns
  /// false early, and saves a checkpoint. Throws UsageError outside of an epoch, and if `batch` has
  /// options on which bits depend that TrainingOptions::graph has not, such as share_repeated.
  ///
  /// With several shards or ranks, samples() are only those of this rank, possibly none, and the
  /// loop's body must make one graph for each, in order. Shards are cut to have about the same
  /// total of the sizes; without sizes, about the same number of samples.
  bool next(Minibatch& batch);
  /// The numbers of the samples of this minibatch. Throws UsageError outside of a minibatch.
  const std::vector<std::uint32_t>& samples() const;

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
  /// The same with StoppingOptions::dev_score. Without one, the last epoch's model is the best.
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
  struct Parts;

  bool begin_epoch(const std::function<Minibatches()>& list, std::span<const std::uint32_t> sizes);
  float update(const std::function<float()>& update);
  void finish(const std::function<std::optional<double>()>& dev_score);
  template <class F>
  auto or_rescue(const F& work);
  std::string rescue();

  std::unique_ptr<Parts> parts_;
};

}  // namespace dynet_like::nn
