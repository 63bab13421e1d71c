// train: the loop of a TrainingRun for one function of samples.
#include "nn/train/train.h"

#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "nn/train/training_epoch.h"
#include "nn/train/training_run.h"

namespace dynet_like::nn {

namespace {

// What the minibatches of every epoch follow from.
Metadata settings_of_samples(std::size_t count, std::span<const std::uint32_t> sizes) {
  const std::string text =
      sizes.empty() ? "without sizes" : fmt::format("sizes {:016x}", fingerprint({}, sizes));
  return {{"training.samples", fmt::format("{}, {}", count, text)}};
}

}  // namespace

TrainingProgress train_samples(Trainer& trainer, std::size_t count, const AppendLosses& append,
                               TrainingOptions options) {
  if (count == 0) throw UsageError("[train] need a sample or more; got none");
  if (options.stopping.patience > 0 && options.stopping.dev_score == nullptr) {
    throw UsageError("[train] need StoppingOptions::dev_score to have patience; got none");
  }
  Minibatch batch(options.graph);
  const Metadata loop = settings_of_samples(count, options.sizes);
  TrainingRun run(trainer, std::move(options), loop);
  std::vector<std::vector<Expression>> losses;
  while (run.next_epoch(count)) {
    while (run.next(batch)) {
      const std::vector<std::uint32_t>& samples = run.samples();
      losses.assign(samples.size(), {});
      batch.run_samples(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
        append(graph, samples[i], losses[i]);
      });
      for (const std::vector<Expression>& some : losses) batch.add_losses(some);
      run.update(batch);
    }
    run.finish_epoch();
  }
  TrainingProgress progress = run.progress();
  progress.interrupted = run.interrupted();
  const bool has_trained = progress.updates + progress.skipped > 0;
  if (!has_trained && !progress.interrupted) {
    throw UsageError(fmt::format(
        "[train] need a sample with a loss or more; got none in {} of {}: return the losses of a "
        "sample",
        detail::counted(progress.epochs, "epoch"), detail::counted(count, "sample")));
  }
  return progress;
}

}  // namespace dynet_like::nn
