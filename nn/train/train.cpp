// train: the loop of a TrainingRun for one function of samples.
#include "nn/train/train.h"

#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

// What the minibatches of every epoch follow from.
Metadata settings_of_samples(std::size_t count, std::span<const std::uint32_t> sizes) {
  const std::string text =
      sizes.empty() ? "without sizes" : fmt::format("sizes {:016x}", fingerprint({}, sizes));
  return {{"training.samples", fmt::format("{}, {}", count, text)}};
}

}  // namespace

TrainingProgress train_samples(const ParameterCollection& model, Trainer& trainer,
                               std::size_t count, const AppendLosses& append,
                               TrainingOptions options) {
  const std::vector<std::uint32_t> sizes = std::exchange(options.sizes, {});
  const std::function<double()> dev_score = std::exchange(options.dev_score, {});
  if (count == 0) throw UsageError("[train] need a sample or more; got none");
  if (!sizes.empty() && sizes.size() != count) {
    throw UsageError(
        fmt::format("[train] need a size per sample, or none; got {} for {}", sizes.size(), count));
  }
  if (options.patience > 0 && dev_score == nullptr) {
    throw UsageError("[train] need TrainingOptions::dev_score to have patience; got none");
  }
  Minibatch batch(options.graph);
  TrainingRun run(model, trainer, std::move(options), settings_of_samples(count, sizes));
  std::vector<std::vector<Expression>> losses;
  while (run.next_epoch()) {
    // The range must end before the epoch does: it knows how long the minibatches took.
    for (const std::vector<std::uint32_t>& samples :
         sizes.empty() ? run.minibatches(batch, count) : run.minibatches(batch, sizes)) {
      losses.assign(samples.size(), {});
      batch.run_samples(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
        append(graph, samples[i], losses[i]);
      });
      for (const std::vector<Expression>& some : losses) batch.add_losses(some);
      run.update(batch);
    }
    dev_score ? run.finish_epoch(dev_score) : run.finish_epoch();
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
