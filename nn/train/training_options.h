// What may be chosen about a training run; nothing needs to be.
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

/// Which dev scores are better: larger ones, as of an accuracy, or smaller ones, as of a loss.
enum class Better { larger, smaller };

/// What comes of a loss or of gradients that are not finite: a NumericError that says which, or the
/// update is left out and counted.
enum class NotFinite { fail, skip };

struct TrainingOptions {
  unsigned epochs = 10;
  /// Training ends after so many epochs that are not better than the best; 0: it does not.
  unsigned patience = 0;
  unsigned batch_size = 32;
  /// One update for so many minibatches, and one for those that remain in an epoch.
  unsigned accumulate = 1;
  /// Gradients are those of the sum of the losses of an update, not of their mean: divided by what
  /// TrainingRun::update is told, by default the number of samples.
  bool sum_losses = false;
  NotFinite not_finite = NotFinite::fail;
  Better better = Better::larger;
  /// Of the trainer's learning rate, over the updates of the run, or over its epochs. Without one
  /// the run leaves the rate alone.
  std::optional<Schedule> schedule = {};
  bool schedule_by_epoch = false;
  /// Shrinks the schedule's rate, or that which the trainer begins with, where dev scores stay.
  std::optional<Plateau> plateau = {};
  /// The trainer's groups, by epochs; without any the run leaves them alone. What they freeze costs
  /// no backward pass in graphs that are recorded meanwhile.
  std::vector<GroupsFrom> groups = {};
  /// For the order of the samples, their random numbers, and TrainingRun::random().
  std::uint64_t seed = 1;

  // For nn::train, which has the loop.

  /// Its threads are as many as the process may use processors. `seed` does not count.
  GraphOptions graph = {.threads = 0};
  /// One for each sample: those of similar sizes are together in minibatches. None: any.
  std::vector<std::uint32_t> sizes = {};
  /// The score of the model after an epoch, as for TrainingRun::finish_epoch. None: the last
  /// epoch's model is the best.
  std::function<double()> dev_score = {};

  /// Each minibatch is cut into so many parts, which are summed by themselves and then added: a
  /// setting, on which bits depend. Ranks share them out, so there must be one for each; 8 are good
  /// for 1, 2, 4 or 8 ranks.
  unsigned shards = 1;
  /// The processes that train together; null: this one alone. Bits do not depend on how many there
  /// are, and a checkpoint goes on with another number. Rank 0 alone writes files and prints; on
  /// another machine it needs the same checkpoint to resume.
  std::shared_ptr<Communicator> ranks = {};
  /// Ranks that do not wait for each other after every minibatch: each trains on whole ones, and
  /// takes the next when it is done, so that slow ranks take fewer. Bits then depend on the ranks
  /// and on chance. Parameters must be on the CPU, tables be updated lazily and not decay. A
  /// staleness of 0 without backup ranks is the same as none: ranks share each minibatch. If one
  /// throws, all do, and the epoch begins anew with the values that rank 0 had last.
  std::optional<Relaxation> relaxation = {};

  /// A folder, made if need be, for the best model, the checkpoint and the learning curve; without
  /// one the best model is kept in memory, and nothing can be resumed.
  std::string output = {};
  /// Goes on from the checkpoint in that folder.
  bool resume = false;
  /// All that bits depend on, such as sizes of layers: it must be as it was to go on from a
  /// checkpoint. Keys must not begin with "training." or "dynet_like."; they and values are UTF-8.
  Metadata settings = {};
  /// What a checkpoint keeps as well, but need not be as it was, such as paths of data: a program
  /// that goes on can read it there. The same holds for keys, which settings must not have.
  Metadata arguments = {};
  /// Larger texts that are kept with the best model, such as vocabularies; keys as for arguments.
  Metadata texts = {};
  /// An event file for TensorBoard, too.
  bool events = false;

  // A picture of the first minibatches.

  /// Gets an event for every minibatch, every update and whatever ranks wait for each other. Those
  /// of graphs it has by GraphOptions::timeline. Must outlive the run; null: none.
  Timeline* timeline = nullptr;
  /// It stops after so many minibatches, so that the picture stays small; 0: it does not.
  unsigned timeline_minibatches = 20;
  /// The timeline is saved here as soon as it stops, or at the end of the run; empty: nowhere.
  std::string timeline_file = {};

  // What people see. But for DyNet's interface, nothing else in the library prints by itself.

  /// Gets a line per epoch; null: none. Must outlive the run.
  std::ostream* lines = &std::cout;
  /// A progress bar on standard error, if that is a terminal.
  bool progress_bar = true;
  std::string unit = "samples", score_name = "score";
  /// Where what `unit` names is a part of a sample, such as a word.
  double units_per_sample = 1;
  /// The score for people; without it a percentage.
  std::function<std::string(double)> score_text = {};
  /// While the run trains, Ctrl-C and SIGTERM stop it where it can save (see InterruptWatch).
  bool watch_interrupts = true;

  /// How many updates all epochs make of so many samples, for a schedule that ends with the run.
  /// Throws UsageError unless batch_size and accumulate are above 0.
  std::uint64_t updates(std::size_t samples) const;
};

}  // namespace dynet_like::nn
