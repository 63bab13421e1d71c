// TrainingOptions: options of a training run, in groups. All have defaults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynet_like/exec/options.h"
#include "nn/train/file_options.h"
#include "nn/train/rank_options.h"
#include "nn/train/report_options.h"
#include "nn/train/schedule_options.h"
#include "nn/train/stopping_options.h"

namespace dynet_like::nn {

/// What to do if a loss or gradient is not finite: throw a NumericError that names it, or skip the
/// update and count it. A dev score of NaN fails, too, or is never the best.
enum class NotFinite { fail, skip };

struct TrainingOptions {
  unsigned epochs = 10;
  unsigned batch_size = 32;
  /// The number of minibatches per update. The rest of an epoch makes one more update.
  unsigned accumulate = 1;
  /// If true, an update follows the gradients of the sum of its losses, not of their mean. The mean
  /// divides by the number of losses that TrainingRun::update gets, by default the number of
  /// samples.
  bool sum_losses = false;
  NotFinite not_finite = NotFinite::fail;
  /// The seed of the order of samples, of their random numbers, and of TrainingRun::random().
  std::uint64_t seed = 1;
  /// For nn::train: sizes of all samples, to put samples of similar sizes into one minibatch;
  /// empty: minibatches are random.
  std::vector<std::uint32_t> sizes = {};
  /// Options of the graphs, by default with one thread per available processor. GraphOptions::seed
  /// is ignored. In a loop of your own, give them to the Minibatch. On a few of them bits depend,
  /// such as share_repeated: a run refuses a Minibatch that has others.
  GraphOptions graph = {.threads = 0};

  ScheduleOptions schedule = {};
  StoppingOptions stopping = {};
  RankOptions ranks = {};
  FileOptions files = {};
  ReportOptions report = {};

  /// The number of updates of the whole run with this many samples, for a schedule that ends with
  /// the run. Throws UsageError unless batch_size and accumulate are above 0.
  std::uint64_t updates(std::size_t samples) const;
  /// The number of updates of an epoch with this many minibatches.
  std::uint64_t updates_of(std::uint64_t minibatches) const;
  /// Throws UsageError for a number out of range, for keys and texts that files cannot store, and
  /// for options that exclude each other.
  void check(unsigned number_of_ranks) const;
};

}  // namespace dynet_like::nn
