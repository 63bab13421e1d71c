// TrainingRun: ranks that do not wait for each other after every minibatch.
#include <cmath>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "nn/train/training_run.h"

namespace dynet_like::nn {

bool TrainingRun::is_relaxed() const {
  const std::optional<Relaxation>& relaxation = options_.relaxation;
  return relaxation && (relaxation->staleness > 0 || relaxation->backup_ranks > 0);
}

bool TrainingRun::begin_relaxed_minibatch() {
  const std::size_t begun = server_->begun();
  std::optional<std::size_t> next;
  with_ranks([&] { next = server_->next(wants_to_stop()); });
  if (!next) return finish_relaxed_minibatches();
  show_begun(begun, server_->begun());
  position_ = *next;
  random_ = minibatch_random();
  in_minibatch_ = true;
  return true;
}

bool TrainingRun::finish_relaxed_minibatches() {
  const std::size_t begun = server_->begun();
  with_ranks([&] { relaxed_ = server_->finish(); });
  server_.reset();
  show_begun(begun, relaxed_.next);
  progress_.loss += relaxed_.loss;
  progress_.losses += relaxed_.losses;
  progress_.updates += relaxed_.updates;
  progress_.skipped += relaxed_.skipped;
  progress_.minibatches = position_ = relaxed_.next;
  random_ = minibatch_random();  // ranks were at different places
  is_saved_ = false;
  all_stop_ |= relaxed_.stopped;
  if (position_ == minibatches_.size()) {
    phase_ = Phase::trained;
  } else if (!checkpoint_.empty()) {
    save();
  }
  return false;
}

// Of all ranks.
void TrainingRun::show_begun(std::size_t first, std::size_t end) {
  std::size_t samples = 0;
  for (std::size_t i = first; i < end; ++i) samples += units(minibatches_[i].size());
  trained_units_ += static_cast<double>(samples);
  bar_->advance(samples, progress_.mean_loss());
}

// Each rank clips its own gradients: none has those of all. A server that refuses their sum ends
// the run.
void TrainingRun::clip_own_gradients() {
  trainer_.refuse_unusable(gradients_);
  const double norm = gradients_.norm(trainer_.parameters());
  const auto threshold = static_cast<double>(trainer_.clip_threshold);
  if (!std::isfinite(norm)) {
    throw NumericError(
        fmt::format("[TrainingRun] need a finite norm of the gradients; got {}", norm));
  }
  if (threshold > 0 && norm > threshold) gradients_.scale(threshold / norm);
  if (server_->summands() > 1) trainer_.refuse_unusable(gradients_, server_->summands());
}

// Whether there is something to push.
bool TrainingRun::prepare_own_gradients(float loss, std::size_t losses) {
  try {
    if (!std::isfinite(loss)) {
      throw NumericError(fmt::format("[TrainingRun] need a finite loss; got {}", loss));
    }
    if (options_.mean_losses && losses > 0) gradients_.scale(1 / static_cast<double>(losses));
    clip_own_gradients();
    return true;
  } catch (const NumericError& error) {
    if (options_.not_finite == NotFinite::skip) return false;
    throw NumericError(fmt::format("{}; in minibatch {} of epoch {}", error.what(), position_ + 1,
                                   progress_.epochs + 1));
  }
}

float TrainingRun::update_relaxed(Minibatch& batch, std::size_t losses) {
  try {
    const float loss = finite_loss(batch);
    add_gradients(batch);
    check_losses(batch.trained_losses());
    if (prepare_own_gradients(loss, losses)) {
      std::optional<float> rate;
      if (options_.schedule) rate = scheduled_rate(progress_.updates + server_->update_number());
      with_ranks([&] { server_->push(gradients_, rate, static_cast<double>(loss), losses); });
    } else {
      with_ranks([&] { server_->skip(); });
    }
    drop_pending();
    return loss;
  } catch (...) {
    drop_pending();
    throw;
  }
}

std::string TrainingRun::relaxed_shares_of_time() const {
  if (rank_times_.seconds <= 0) return "";
  std::string text = fmt::format(", waiting {:.1f} %, staleness {:.2f} (at most {})",
                                 100 * relaxed_.waiting / rank_times_.seconds,
                                 relaxed_.mean_staleness, relaxed_.most_staleness);
  if (relaxed_.dropped > 0)
    text += fmt::format(", {} too late", detail::counted(relaxed_.dropped, "gradient"));
  return text;
}

}  // namespace dynet_like::nn
