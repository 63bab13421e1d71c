// train: the loop of a TrainingRun for one function of samples.
#include "nn/train/train.h"

#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "nn/train/training_run.h"

namespace dynet_like::nn {

TrainingProgress train_samples(const ParameterCollection& model, Trainer& trainer,
                               std::size_t count, const AppendLosses& append,
                               TrainingOptions options) {
  const std::vector<std::uint32_t> sizes = std::exchange(options.sizes, {});
  const std::function<double()> dev_score = std::exchange(options.dev_score, {});
  if (!sizes.empty() && sizes.size() != count) {
    throw UsageError(
        fmt::format("[train] need a size per sample, or none; got {} for {}", sizes.size(), count));
  }
  if (options.patience > 0 && dev_score == nullptr) {
    throw UsageError("[train] need TrainingOptions::dev_score to have patience; got none");
  }
  Minibatch batch(options.graph);
  TrainingRun run(model, trainer, std::move(options));
  std::vector<std::vector<Expression>> losses;
  while (run.next_epoch()) {
    // The range must end before the epoch does: it knows how long the minibatches took.
    for (const std::vector<std::uint32_t>& samples :
         sizes.empty() ? run.minibatches(batch, count) : run.minibatches(batch, sizes)) {
      losses.assign(samples.size(), {});
      detail::MinibatchAccess::run_samples(
          batch, samples.size(),
          [&](ComputationGraph& graph, std::size_t i) { append(graph, samples[i], losses[i]); });
      for (const std::vector<Expression>& some : losses) batch.add_losses(some);
      run.update(batch);
    }
    dev_score ? run.finish_epoch(dev_score) : run.finish_epoch();
  }
  TrainingProgress progress = run.progress();
  progress.interrupted = run.interrupted();
  return progress;
}

}  // namespace dynet_like::nn
