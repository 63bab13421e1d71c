// TrainingOptions: options of a training run. All have defaults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynet_like/core/timeline.h"
#include "dynet_like/distributed/communicator.h"
#include "dynet_like/distributed/turns.h"
#include "dynet_like/exec/options.h"
#include "dynet_like/io/model_file.h"
#include "nn/train/group_schedule.h"
#include "nn/train/schedules.h"

namespace dynet_like::nn {

/// Which dev scores are better: larger ones, such as accuracy, or smaller ones, such as a loss.
enum class Better { larger, smaller };

/// What to do if a loss or gradient is not finite: throw a NumericError that names it, or skip the
/// update and count it. A dev score of NaN fails, too, or is never the best.
enum class NotFinite { fail, skip };

/// The prefix of a run's own settings.
inline constexpr const char* kOwnSettings = "training.";

/// Throws UsageError unless the text is UTF-8, as files need: before an epoch, not after it.
void check_utf8(const std::string& text);

struct TrainingOptions {
  unsigned epochs = 10;
  /// Training ends after this many epochs without a new best score; 0: it does not end early.
  unsigned patience = 0;
  unsigned batch_size = 32;
  /// The number of minibatches per update. The rest of an epoch makes one more update.
  unsigned accumulate = 1;
  /// If true, an update follows the gradients of the sum of its losses, not of their mean. The mean
  /// divides by the number of losses that TrainingRun::update gets, by default the number of
  /// samples.
  bool sum_losses = false;
  NotFinite not_finite = NotFinite::fail;
  Better better = Better::larger;
  /// Sets the trainer's learning rate by update, or by epoch if `schedule_by_epoch`. Without a
  /// schedule the run does not change the rate.
  std::optional<Schedule> schedule = {};
  bool schedule_by_epoch = false;
  /// Lowers the rate of the schedule, or the trainer's initial rate, when the dev score stops
  /// improving.
  std::optional<Plateau> plateau = {};
  /// The trainer's groups by epoch; if empty, the run does not change them. Frozen parameters cost
  /// no backward pass in graphs that are recorded meanwhile.
  std::vector<GroupsFrom> groups = {};
  /// The seed of the order of samples, of their random numbers, and of TrainingRun::random().
  std::uint64_t seed = 1;

  // Options for nn::train, which has the loop.

  /// Options of the graphs, by default with one thread per available processor. GraphOptions::seed
  /// is ignored. In a loop of your own, give them to the Minibatch. On a few of them bits depend,
  /// such as share_repeated: a run refuses a Minibatch that has others.
  GraphOptions graph = {.threads = 0};
  /// Sizes of all samples, to put samples of similar sizes into one minibatch; empty: minibatches
  /// are random.
  std::vector<std::uint32_t> sizes = {};
  /// Returns the score of the model after an epoch (see TrainingRun::finish_epoch). Without it, the
  /// last epoch's model counts as the best.
  std::function<double()> dev_score = {};

  /// Each minibatch is cut into this many shards; gradients are summed within each shard, and then
  /// over shards. Results depend on this number. Ranks divide the shards among themselves, so every
  /// rank needs at least one; 8 suits 1, 2, 4 or 8 ranks.
  unsigned shards = 1;
  /// The processes (ranks) that train together; null: this one alone. Results have the same bits
  /// for any number of ranks, and a run may resume with another number. Only rank 0 writes files
  /// and prints. A rank on another machine needs the same checkpoint to resume.
  std::shared_ptr<Communicator> ranks = {};
  /// If set, ranks do not wait for each other after every minibatch. Each rank trains on whole
  /// minibatches and takes the next when it is ready, so that slow ranks take fewer. Results then
  /// depend on the number of ranks and on timing. Parameters must be on the CPU; tables must be
  /// updated lazily and without decay. A staleness of 0 without backup ranks is the same as no
  /// relaxation: ranks share each minibatch. If one rank throws, all do, and the epoch restarts
  /// with the latest values of rank 0.
  std::optional<Relaxation> relaxation = {};

  /// A folder (made if needed) for the best model, the checkpoint and the learning curve. Without
  /// one, the best model is kept in memory, and the run cannot be resumed.
  std::string output = {};
  /// Resume from the checkpoint in that folder.
  bool resume = false;
  /// Resume also with another version of the library, another instruction set or kind of device
  /// than before. The results are then as good, but have other last bits.
  bool other_bits = false;
  /// Your own settings that results depend on, such as sizes of layers. To resume, they must be the
  /// same as in the checkpoint. Keys must not begin with "training." or "dynet_like.". Keys and
  /// values must be UTF-8.
  Metadata settings = {};
  /// Further entries that a checkpoint keeps, such as paths of data: a program that resumes can
  /// read them there, and they may differ. The rules for keys are the same, and no key may also be
  /// in `settings`.
  Metadata arguments = {};
  /// Larger texts to keep with the best model, such as vocabularies. The rules for keys are those
  /// of `arguments`.
  Metadata texts = {};
  /// Whether to write an event file for TensorBoard.
  bool events = false;

  // Options for a picture of the first minibatches.

  /// Receives an event for every minibatch, every update and every wait of a rank. For events of
  /// graphs, set GraphOptions::timeline as well. Must outlive the run; null: no events.
  Timeline* timeline = nullptr;
  /// The timeline stops after this many minibatches, so that the picture stays small; 0: it does
  /// not stop.
  unsigned timeline_minibatches = 20;
  /// The file for the timeline, saved when it stops or at the end of the run; empty: none.
  std::string timeline_file = {};

  // Output for people. Nothing else in the library prints by itself, except DyNet's interface.

  /// Receives a line per epoch; null: none. Must outlive the run.
  std::ostream* lines = &std::cout;
  /// Whether to show a progress bar on standard error, if that is a terminal.
  bool progress_bar = true;
  std::string unit = "samples", score_name = "score";
  /// The number of units per sample, if `unit` names a part of a sample, such as a word.
  double units_per_sample = 1;
  /// Formats the score for people; by default as a percentage.
  std::function<std::string(double)> score_text = {};
  /// Whether Ctrl-C and SIGTERM stop the run after a minibatch and save it (see InterruptWatch).
  bool watch_interrupts = true;

  /// The number of updates of the whole run with this many samples, for a schedule that ends with
  /// the run. Throws UsageError unless batch_size and accumulate are above 0.
  std::uint64_t updates(std::size_t samples) const;
  /// The number of updates of an epoch with this many minibatches.
  std::uint64_t updates_of(std::uint64_t minibatches) const;
  /// Whether ranks train without waiting for each other.
  bool is_relaxed() const;
  /// Throws UsageError for a number out of range, for keys and texts that files cannot store, and
  /// for options that exclude each other.
  void check(unsigned number_of_ranks) const;
};

}  // namespace dynet_like::nn
