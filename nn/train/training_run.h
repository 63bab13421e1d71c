// A training run: epochs, minibatches and updates of a loop that stays the program's own.
#pragma once

#include <atomic>
#include <chrono>
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
#include "dynet_like/distributed/parameter_server.h"
#include "dynet_like/graph/minibatch.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/train/trainer.h"
#include "nn/data/minibatches.h"
#include "nn/train/best_model.h"
#include "nn/train/event_file.h"
#include "nn/train/group_schedule.h"
#include "nn/train/interrupt.h"
#include "nn/train/progress_bar.h"
#include "nn/train/rank_words.h"
#include "nn/train/shared_minibatch.h"
#include "nn/train/timed_minibatches.h"
#include "nn/train/training_options.h"
#include "nn/train/training_progress.h"

namespace dynet_like::detail {
class FolderLock;
}  // namespace dynet_like::detail

namespace dynet_like::nn {

/// From the first minibatch, or from a checkpoint, to the last epoch:
///
///   nn::TrainingRun run(model, trainer, options);
///   while (run.next_epoch()) {
///     for (const auto& samples : run.minibatches(sizes)) {
///       batch.clear();
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
  /// With several shards or ranks the loop's body is given the samples that are this rank's, and
  /// makes one graph for each, in their order; there may be none. Shards cost about the same by
  /// `sizes`; without any, they have as many samples.
  MinibatchRange minibatches(std::span<const std::uint32_t> sizes);
  MinibatchRange minibatches(std::size_t sample_count);
  MinibatchRange minibatches(Minibatches list, std::span<const std::uint32_t> sizes = {});

  /// Random numbers for dropout (as GraphOptions::random) and for choices of the loop: a function
  /// of seed, epoch and minibatch. Clear or make a Minibatch that draws from them when the loop's
  /// body begins. Only one thread may draw by itself; with several ranks not sample by sample,
  /// since numbers would depend on the rank: draw a seed, and make a Random of it and the sample's
  /// number.
  Random& random() { return random_; }

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
  void stop() { stopped_ = true; }
  /// Whether it was asked to; with several ranks, whether one was and all know it.
  bool interrupted() const { return ranks_->size() == 1 ? wants_to_stop() : all_stop_; }
  /// Saves a checkpoint of the last update; UsageError without a folder.
  void save();

  /// The processes that train together.
  Communicator& ranks() { return *ranks_; }
  /// Whether this is the one that writes files and prints.
  bool is_writer() const { return ranks_->rank() == 0; }

  const TrainingProgress& progress() const { return progress_; }
  const LearningCurve& curve() const { return progress_.curve; }
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
  // Minibatches whose gradients wait for the update.
  struct Pending {
    std::size_t minibatches = 0, losses = 0;
    double loss = 0;
  };
  struct Evaluation {
    std::optional<double> score;
    double loss = 0;
    bool is_best = false;
    std::uint64_t skipped = 0;
  };
  using DevScore = std::function<std::optional<double>()>;

  static constexpr const char* kLossColumn = "train loss";
  std::string score_column() const { return "dev " + options_.score_name; }
  void check_options() const;
  Metadata all_settings() const;
  void take_folder();
  void begin_files();
  void resume();
  Metadata best_metadata(const TrainingProgress& progress) const;
  SafetensorsFile read_best(const TrainingProgress& progress) const;
  void load_best();

  void end();
  void set_learning_rate();
  MinibatchRange begin_minibatches(Minibatches list);
  void begin_server();
  Random order_random() const;
  Random minibatch_random() const;
  bool begin_minibatch();
  const std::vector<std::uint32_t>& samples() const;
  void end_minibatch();
  void end_minibatches();
  void check_in_minibatch() const;
  static void check_cleared(const Minibatch& batch);
  float finite_loss(Minibatch& batch) const;
  void add_gradients(Minibatch& batch);
  void add_pending(double loss, std::size_t losses);
  bool update_is_due() const;
  void make_due_update();
  void make_update(const Gradients& gradients);
  void drop_pending();

  bool is_relaxed() const;
  bool begin_relaxed_minibatch();
  bool finish_relaxed_minibatches();
  void show_begun(std::size_t first, std::size_t end);
  void clip_own_gradients();
  bool prepare_own_gradients(float loss, std::size_t losses);
  float update_relaxed(Minibatch& batch, std::size_t losses);
  std::string relaxed_shares_of_time() const;
  float scheduled_rate(std::uint64_t update) const;

  bool is_shared() const { return options_.shards > 1 && !is_relaxed(); }
  bool wants_to_stop() const { return stopped_ || (watch_ && watch_->interrupted()); }
  void begin_sharing();
  void check_alike();
  RankWord word() const;
  AllWords agree(RankWord mine, bool compares_parameters = false);
  bool comparison_is_due() const;
  bool agree_to_stop();
  float update_shared(Minibatch& batch, std::size_t losses);
  void check_same_parameters();
  void check_same_score(std::optional<double> score);
  void check_losses(std::uint64_t terms) const;
  void broadcast_values();
  std::string shares_of_time() const;
  void with_ranks(const std::function<void()>& work);

  void finish(const DevScore& dev_score);
  void put_averages_in_place();
  void put_weights_back();
  Evaluation evaluate(const DevScore& dev_score);
  TrainingProgress progress_after(const Evaluation& evaluation) const;
  bool is_better(std::optional<double> score) const;
  void keep_best(const TrainingProgress& progress);
  void write_curve() const;
  void add_events();
  void print_line(const Evaluation& evaluation) const;
  std::string score_text(double score) const;
  std::size_t units(std::size_t samples) const;

  TrainingOptions options_;
  std::shared_ptr<Communicator> ranks_;
  ParameterCollection model_;
  Trainer& trainer_;
  GroupSchedule groups_;
  std::unique_ptr<detail::FolderLock> lock_;  // null without a folder
  std::filesystem::path checkpoint_;          // empty without a folder
  BestModel best_;
  TrainingProgress progress_;
  std::unique_ptr<EventFile> events_;
  std::map<std::string, double> notes_;
  bool averages_in_place_ = false;

  Phase phase_ = Phase::between;
  std::atomic<bool> stopped_ = false;
  std::optional<InterruptWatch> watch_;
  bool all_stop_ = false;             // ranks have agreed to
  bool has_agreed_ = false;           // ranks have, since the last minibatch began
  std::uint64_t compared_ = 0;        // the updates after which parameters were compared last
  bool has_diverged_ = false;         // ranks that do not wait for each other have failed
  Minibatches minibatches_;           // of this epoch
  std::vector<std::uint32_t> costs_;  // of their samples; empty: all the same
  std::uint64_t costs_digest_ = 0;
  std::optional<SharedMinibatch> shared_;
  std::optional<ParameterServer> server_;  // while ranks train without waiting for each other
  ParameterServer::Report relaxed_;        // of the last epoch in which they did
  // Where the time of an epoch's minibatches went.
  struct RankTimes {
    Communicator::Times before, after;
    double seconds = 0, mean_busy = 0, most_busy = 0;
  };
  RankTimes rank_times_;
  std::chrono::steady_clock::time_point minibatch_start_;
  std::size_t position_ = 0;
  bool in_minibatch_ = false;
  bool is_saved_ = false;  // in the checkpoint, as it is
  Random random_;
  Gradients gradients_;
  TimedMinibatches timed_;
  Pending pending_;
  std::optional<ProgressBar> bar_;
  double trained_units_ = 0, trained_seconds_ = 0;  // of this run
};

/// For a range-based for loop, once.
class TrainingRun::MinibatchRange {
 public:
  class Iterator {
   public:
    explicit Iterator(TrainingRun& run) : run_(run) {}
    const std::vector<std::uint32_t>& operator*() const { return run_.samples(); }
    Iterator& operator++() {
      run_.end_minibatch();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !run_.begin_minibatch(); }

   private:
    TrainingRun& run_;
  };

  explicit MinibatchRange(TrainingRun& run) : run_(run) {}
  ~MinibatchRange() { run_.end_minibatches(); }
  MinibatchRange(const MinibatchRange&) = delete;
  MinibatchRange& operator=(const MinibatchRange&) = delete;

  Iterator begin() { return Iterator(run_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  TrainingRun& run_;
};

}  // namespace dynet_like::nn
