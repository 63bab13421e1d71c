// Updater: shared by all updaters. LocalUpdater: for a single process.
#include "nn/train/updater.h"

#include <cmath>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "nn/train/evaluation.h"
#include "nn/train/timed_minibatches.h"

namespace dynet_like::nn {

std::unique_ptr<Updater> make_updater(const TrainingOptions& options, Trainer& trainer,
                                      TrainingRanks& ranks) {
  if (options.ranks.is_relaxed()) return relaxed_updater(options, trainer, ranks);
  if (options.ranks.shards > 1) return synchronous_updater(options, trainer, ranks);
  return std::make_unique<LocalUpdater>(options, trainer, ranks);
}

void Updater::update(const Gradients&, double, std::size_t, TrainingState&) {
  throw UsageError(fmt::format(
      "[TrainingRun] need update(minibatch) where ranks or shards train together; "
      "got gradients for {} and {}",
      detail::counted(ranks_.size(), "rank"), detail::counted(options_.ranks.shards, "shard")));
}

float Updater::finite_loss(Minibatch& batch, const TrainingEpoch& epoch,
                           std::span<const std::uint32_t> shards) const {
  const float loss = batch.forward(shards);
  if (options_.not_finite == NotFinite::skip) return loss;
  try {
    batch.check_finite_loss();
  } catch (const NumericError& error) {
    throw NumericError(fmt::format("{}; in {}", error.what(), epoch.name_of_minibatch()));
  }
  return loss;
}

void Updater::check_losses(std::uint64_t terms, std::size_t losses,
                           const TrainingEpoch& epoch) const {
  if (terms == 0 || losses > 0 || options_.sum_losses) return;
  throw UsageError(
      fmt::format("[TrainingRun] need the number of losses in {}, to divide by it; got 0",
                  epoch.name_of_minibatch()));
}

void Updater::add_gradients(Minibatch& batch, Gradients& sum) {
  // A minibatch in several parts has run backward already.
  batch.parts() > 1 ? sum.add(batch.backward()) : batch.backward(sum);
}

std::optional<std::size_t> LocalUpdater::next(TrainingState& run) {
  if (run.epoch.position() == run.epoch.size() || ranks_.agree_to_stop(run)) return {};
  return run.epoch.position();
}

float LocalUpdater::update(Minibatch& batch, std::size_t losses, TrainingState& run) {
  const std::size_t terms = batch.losses().added;
  check_losses(terms, losses, run.epoch);
  const float loss = terms > 0 ? finite_loss(batch, run.epoch) : 0;
  add_pending(static_cast<double>(loss), losses, terms);
  if (terms > 0 && options_.accumulate == 1 && options_.sum_losses) {
    make_update(batch.backward(), run);
  } else {
    if (terms > 0) add_gradients(batch, gradients_);
    update_if_due(run);
  }
  return loss;
}

void LocalUpdater::update(const Gradients& gradients, double loss, std::size_t losses,
                          TrainingState& run) {
  if (gradients.is_used()) {
    throw UsageError(
        "[TrainingRun] need gradients that no update has used; got some that one has: clear and "
        "compute them for each minibatch");
  }
  if (!gradients.has_any_of(trainer_.parameters()) && losses == 0) {
    throw UsageError(fmt::format("[TrainingRun] need gradients or losses of {}; got neither",
                                 run.epoch.name_of_minibatch()));
  }
  check_losses(1, losses, run.epoch);
  gradients_.add(gradients);
  add_pending(loss, losses, 1);
  update_if_due(run);
  gradients.mark_used();  // gradients of a failed update may be used again
}

void LocalUpdater::pass(TrainingState& run) {
  // The loop may have skipped the last minibatch of an update.
  if (has_pending()) update_if_due(run);
  const std::size_t next = run.epoch.position() + 1;
  run.epoch.show(run.epoch.position(), next, run.progress.mean_loss());
  run.epoch.move_to(next);
  if (!has_pending()) run.progress.minibatches = next;
}

void LocalUpdater::drop() {
  pending_ = {};
  gradients_.clear();
}

void LocalUpdater::add_pending(double loss, std::size_t losses, std::uint64_t terms) {
  ++pending_.minibatches;
  if (terms == 0) ++pending_.without_loss;
  pending_.loss += loss;
  pending_.losses += losses;
}

bool LocalUpdater::is_due(const TrainingEpoch& epoch) const {
  return (epoch.position() + 1) % options_.accumulate == 0 || epoch.is_last();
}

void LocalUpdater::update_if_due(TrainingState& run) {
  if (!is_due(run.epoch)) return;
  Gradients& gradients = pending_.has_loss() ? sum() : gradients_;
  if (!options_.sum_losses && pending_.losses > 0) {
    gradients.scale(1 / static_cast<double>(pending_.losses));
  }
  make_update(gradients, run);
}

// Without losses there is no update, which would change parameters by moments and decay alone.
void LocalUpdater::make_update(const Gradients& gradients, TrainingState& run) {
  TrainingProgress& progress = run.progress;
  if (options_.schedule.rate) {
    trainer_.learning_rate = scheduled_rate(options_.schedule, progress, progress.updates);
  }
  const std::uint64_t updates = trainer_.updates();
  try {
    if (!std::isfinite(pending_.loss)) {
      throw NumericError(fmt::format("[TrainingRun] need a finite loss; got {}", pending_.loss));
    }
    const TimedEvent event(options_.report.timeline, "update");
    if (pending_.has_loss()) trainer_.update(gradients);
    // Waits for the update only if an error must be found now: to skip it, or at the end of the
    // epoch.
    if (options_.not_finite != NotFinite::fail || run.epoch.is_last()) trainer_.finish_update();
    if (pending_.has_loss()) {
      ++progress.updates;
      progress.loss += pending_.loss;
      progress.losses += pending_.losses;
    }
  } catch (const NumericError&) {
    if (trainer_.updates() < updates) --progress.updates;  // the previous update failed
    if (options_.not_finite == NotFinite::fail) throw;
    ++progress.skipped;
  }
  progress.without_loss += pending_.without_loss;
  progress.minibatches = run.epoch.position() + 1;
  drop();
}

}  // namespace dynet_like::nn
