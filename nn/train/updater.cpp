// Updater: shared by all updaters. LocalUpdater: for a single process.
#include "nn/train/updater.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

std::unique_ptr<Updater> make_updater(const Updater::Parts& parts) {
  if (parts.run.is_relaxed()) return relaxed_updater(parts);
  if (parts.run.options.shards > 1) return synchronous_updater(parts);
  return std::make_unique<LocalUpdater>(parts);
}

void Updater::update(const Gradients&, double, std::size_t) {
  throw UsageError(fmt::format(
      "[TrainingRun] need update(minibatch) where ranks or shards train together; "
      "got gradients for {} and {}",
      detail::counted(run_.ranks->size(), "rank"), detail::counted(run_.options.shards, "shard")));
}

float Updater::finite_loss(Minibatch& batch, std::span<const std::uint32_t> shards) const {
  const float loss = batch.forward(shards);
  if (run_.options.not_finite == NotFinite::skip) return loss;
  try {
    batch.check_finite_loss();
  } catch (const NumericError& error) {
    throw NumericError(fmt::format("{}; in {}", error.what(), epoch_.name_of_minibatch()));
  }
  return loss;
}

void Updater::check_losses(std::uint64_t terms, std::size_t losses) const {
  if (terms == 0 || losses > 0 || run_.options.sum_losses) return;
  throw UsageError(
      fmt::format("[TrainingRun] need the number of losses in {}, to divide by it; got 0",
                  epoch_.name_of_minibatch()));
}

void Updater::add_gradients(Minibatch& batch, Gradients& sum) {
  // A minibatch in several parts has run backward already.
  batch.parts() > 1 ? sum.add(batch.backward()) : batch.backward(sum);
}

bool LocalUpdater::next() {
  if (epoch_.position() == epoch_.size() || ranks_.agree_to_stop()) return false;
  epoch_.begin_minibatch(epoch_.position());
  return true;
}

float LocalUpdater::update(Minibatch& batch, std::size_t losses) {
  const std::size_t terms = batch.losses().added;
  check_losses(terms, losses);
  const float loss = terms > 0 ? finite_loss(batch) : 0;
  add_pending(static_cast<double>(loss), losses, terms);
  if (terms > 0 && run_.options.accumulate == 1 && run_.options.sum_losses) {
    make_update(batch.backward());
  } else {
    if (terms > 0) add_gradients(batch, gradients_);
    update_if_due();
  }
  return loss;
}

void LocalUpdater::update(const Gradients& gradients, double loss, std::size_t losses) {
  if (gradients.is_used()) {
    throw UsageError(
        "[TrainingRun] need gradients that no update has used; got some that one has: clear and "
        "compute them for each minibatch");
  }
  const bool has_any = gradients.has_any_of(run_.model);
  if (!has_any && losses == 0) {
    throw UsageError(fmt::format("[TrainingRun] need gradients or losses of {}; got neither",
                                 epoch_.name_of_minibatch()));
  }
  check_losses(1, losses);
  try {
    gradients_.add(gradients);
    add_pending(loss, losses, 1);
    update_if_due();
    gradients.mark_used();  // gradients of a failed update may be used again
  } catch (...) {
    drop();
    throw;
  }
}

void LocalUpdater::pass() {
  // The loop may have skipped the last minibatch of an update.
  if (has_pending()) update_if_due();
  epoch_.pass();
  if (!has_pending()) run_.progress.minibatches = epoch_.position();
  run_.is_saved = false;
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

bool LocalUpdater::is_due() const {
  return (epoch_.position() + 1) % run_.options.accumulate == 0 || is_last();
}

void LocalUpdater::update_if_due() {
  if (!is_due()) return;
  Gradients& gradients = pending_.has_loss() ? sum() : gradients_;
  if (!run_.options.sum_losses && pending_.losses > 0) {
    gradients.scale(1 / static_cast<double>(pending_.losses));
  }
  make_update(gradients);
}

// Without losses there is no update, which would change parameters by moments and decay alone.
void LocalUpdater::make_update(const Gradients& gradients) {
  Trainer& trainer = run_.trainer;
  TrainingProgress& progress = run_.progress;
  run_.set_learning_rate();
  run_.is_saved = false;
  const std::uint64_t updates = trainer.updates();
  try {
    if (!std::isfinite(pending_.loss)) {
      throw NumericError(fmt::format("[TrainingRun] need a finite loss; got {}", pending_.loss));
    }
    std::optional<Timeline::Scope> update;
    run_.timed.open(update, "update");
    if (pending_.has_loss()) trainer.update(gradients);
    // Waits for the update only if an error must be found now: to skip it, or at the end of the
    // epoch.
    if (run_.options.not_finite != NotFinite::fail || is_last()) trainer.finish_update();
    if (pending_.has_loss()) {
      ++progress.updates;
      progress.loss += pending_.loss;
      progress.losses += pending_.losses;
    }
  } catch (const NumericError&) {
    if (trainer.updates() < updates) --progress.updates;  // the previous update failed
    if (run_.options.not_finite == NotFinite::fail) throw;
    ++progress.skipped;
  }
  progress.without_loss += pending_.without_loss;
  progress.minibatches = epoch_.position() + 1;
  drop();
}

}  // namespace dynet_like::nn
