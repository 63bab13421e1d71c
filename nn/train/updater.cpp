// What all updaters do alike.
#include "nn/train/updater.h"

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "nn/train/local_updater.h"

namespace dynet_like::nn {

std::unique_ptr<Updater> make_updater(TrainingState& run, TrainingEpoch& epoch,
                                      TrainingRanks& ranks) {
  if (run.is_relaxed()) return relaxed_updater(run, epoch, ranks);
  if (run.options.shards > 1) return synchronous_updater(run, epoch, ranks);
  return std::make_unique<LocalUpdater>(run, epoch, ranks);
}

void Updater::update(const Gradients&, double, std::size_t) {
  throw UsageError(fmt::format(
      "[TrainingRun] need update(minibatch) where ranks or shards train together; "
      "got gradients for {} and {}",
      detail::counted(run_.ranks->size(), "rank"), detail::counted(run_.options.shards, "shard")));
}

float Updater::finite_loss(Minibatch& batch) const {
  const float loss = batch.forward();
  if (run_.options.not_finite == NotFinite::skip) return loss;
  try {
    batch.check_finite_loss();
  } catch (const NumericError& error) {
    throw NumericError(fmt::format("{}; in {}", error.what(), epoch_.name_of_minibatch()));
  }
  return loss;
}

// An update all the same would be one by moments and decay alone.
void Updater::check_losses(std::uint64_t terms) const {
  if (terms > 0) return;
  throw UsageError(
      fmt::format("[TrainingRun] need a loss or more in a minibatch; got none in {}: pass over it, "
                  "without update()",
                  epoch_.name_of_minibatch()));
}

void Updater::add_gradients(Minibatch& batch, Gradients& sum) {
  // In parts it has run backward already.
  batch.parts() > 1 ? sum.add(batch.backward()) : batch.backward(sum);
}

}  // namespace dynet_like::nn
