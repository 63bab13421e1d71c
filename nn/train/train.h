// Training in one call.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet_like/graph/minibatch.h"
#include "dynet_like/train/trainer.h"
#include "nn/evaluate/numbered_samples.h"
#include "nn/train/training_options.h"
#include "nn/train/training_progress.h"

namespace dynet_like::nn {

/// Appends the losses of sample i.
using AppendLosses =
    std::function<void(ComputationGraph& graph, std::size_t i, std::vector<Expression>& losses)>;

/// The implementation of train, for samples by their numbers.
TrainingProgress train_samples(Trainer& trainer, std::size_t count, const AppendLosses& append,
                               TrainingOptions options);

/// Trains the trainer's parameters on a random-access range of samples. loss_of(graph, sample)
/// returns the loss of a sample, or a vector of losses, each one number per minibatch element. If
/// you pass a count instead of samples, calls loss_of(graph, i) for 0 to count - 1.
///
///     nn::train(trainer, sentences, [&](ComputationGraph& graph, const auto& sentence) {
///       return cross_entropy(scores(graph, sentence), sentence.label);
///     }, {.epochs = 10, .stopping = {.dev_score = [&] { return accuracy(dev); }}});
///
/// An update follows the gradients of the mean of its samples' losses, or of their sum with
/// TrainingOptions::sum_losses. As in for_each_sample, `loss_of` may ask for values and decide by
/// them. Several threads call it at once, so it may read shared data, but must not write it. The
/// random numbers of a sample follow from the options' seed, the epoch and the sample, so results
/// do not depend on threads. Progress, checkpoints, ranks and errors are as in TrainingRun. After
/// the last epoch the model has the parameters of the best epoch.
///
/// A sample may have no loss: return an empty vector. A minibatch without any makes no update (see
/// TrainingProgress::without_loss). Throws UsageError if there are no samples, or if a whole run
/// has had no loss.
template <class Samples, class LossOf>
TrainingProgress train(Trainer& trainer, const Samples& samples, const LossOf& loss_of,
                       TrainingOptions options = {}) {
  const NumberedSamples numbered(samples);
  using Sample = decltype(numbered[0]);
  static_assert(std::is_invocable_v<const LossOf&, ComputationGraph&, Sample>,
                "need a function (ComputationGraph& graph, const Sample& sample)");
  using Losses = std::invoke_result_t<const LossOf&, ComputationGraph&, Sample>;
  static_assert(std::is_convertible_v<Losses, Expression> ||
                    std::is_convertible_v<Losses, std::vector<Expression>>,
                "need a function that returns an Expression, or a vector of them");
  return train_samples(
      trainer, numbered.size(),
      [&](ComputationGraph& graph, std::size_t i, std::vector<Expression>& losses) {
        if constexpr (std::is_convertible_v<Losses, Expression>) {
          losses.push_back(loss_of(graph, numbered[i]));
        } else {
          const std::vector<Expression> some = loss_of(graph, numbered[i]);
          losses.insert(losses.end(), some.begin(), some.end());
        }
      },
      std::move(options));
}

}  // namespace dynet_like::nn
