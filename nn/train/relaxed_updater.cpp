// RelaxedUpdater: for ranks that do not wait for each other after every minibatch.
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/parameter_server.h"
#include "nn/train/updater.h"

namespace dynet_like::nn {

namespace {

class RelaxedUpdater : public Updater {
 public:
  using Updater::Updater;

  void begin() override {
    if (has_diverged_) ranks_.broadcast_parameters();
    has_diverged_ = false;
    server_.emplace(run_.ranks, run_.trainer, *run_.options.relaxation, epoch_.position(),
                    epoch_.size());
  }

  void end() override {
    has_diverged_ |= server_.has_value();
    server_.reset();
    drop();
  }

  bool next() override;
  float update(Minibatch& batch, std::size_t losses) override;
  void drop() override { gradients_.clear(); }

  bool is_up_to_date() const override { return !server_; }
  std::string shares_of_time() const override;

 private:
  void finish();
  void clip_gradients();
  bool prepare_gradients(float loss, std::size_t losses);

  std::optional<ParameterServer> server_;  // exists during a loop
  ParameterServer::Report report_;         // of the last loop
  bool has_diverged_ = false;              // a loop was left before its end
  Gradients gradients_;
};

bool RelaxedUpdater::next() {
  const std::size_t begun = server_->begun();
  std::optional<std::size_t> next;
  ranks_.together([&] { next = server_->next(ranks_.wants_to_stop()); });
  if (!next) {
    finish();
    return false;
  }
  epoch_.show(begun, server_->begun());
  epoch_.begin_minibatch(*next);
  return true;
}

void RelaxedUpdater::finish() {
  const std::size_t begun = server_->begun();
  ranks_.together([&] { report_ = server_->finish(); });
  server_.reset();
  epoch_.show(begun, report_.next);
  TrainingProgress& progress = run_.progress;
  progress.loss += report_.loss;
  progress.losses += report_.losses;
  progress.updates += report_.updates;
  progress.skipped += report_.skipped;
  progress.without_loss += report_.without_loss;
  progress.minibatches = report_.next;
  epoch_.move_to(report_.next);  // ranks were at different places
  run_.is_saved = false;
  ranks_.note_stop(report_.stopped);
}

// Each rank clips its own gradients, since no rank has the sum. If the server refuses the sum, the
// run ends.
void RelaxedUpdater::clip_gradients() {
  Trainer& trainer = run_.trainer;
  trainer.refuse_unusable(gradients_);
  const double norm = gradients_.norm(trainer.parameters());
  const auto threshold = static_cast<double>(trainer.clip_threshold);
  if (!std::isfinite(norm)) {
    throw NumericError(
        fmt::format("[TrainingRun] need a finite norm of the gradients; got {}", norm));
  }
  if (threshold > 0 && norm > threshold) gradients_.scale(threshold / norm);
  if (server_->summands() > 1) trainer.refuse_unusable(gradients_, server_->summands());
}

// Returns whether there are gradients to send.
bool RelaxedUpdater::prepare_gradients(float loss, std::size_t losses) {
  try {
    if (!std::isfinite(loss)) {
      throw NumericError(fmt::format("[TrainingRun] need a finite loss; got {}", loss));
    }
    if (!run_.options.sum_losses && losses > 0) gradients_.scale(1 / static_cast<double>(losses));
    clip_gradients();
    return true;
  } catch (const NumericError& error) {
    if (run_.options.not_finite == NotFinite::skip) return false;
    throw NumericError(fmt::format("{}; in {}", error.what(), epoch_.name_of_minibatch()));
  }
}

float RelaxedUpdater::update(Minibatch& batch, std::size_t losses) {
  const std::size_t terms = batch.losses().added;
  check_losses(terms, losses);
  const float loss = terms > 0 ? finite_loss(batch) : 0;
  if (terms > 0) add_gradients(batch, gradients_);
  const bool pushes = terms > 0 && prepare_gradients(loss, losses);
  std::optional<float> rate;
  if (pushes && run_.options.schedule) {
    rate = run_.scheduled_rate(run_.progress.updates + server_->update_number());
  }
  ranks_.together([&] {
    if (pushes) {
      server_->push(gradients_, rate, static_cast<double>(loss), losses);
    } else {
      server_->skip(terms > 0);
    }
  });
  drop();
  return loss;
}

std::string RelaxedUpdater::shares_of_time() const {
  const double seconds = epoch_.seconds();
  if (seconds <= 0) return "";
  std::string text =
      fmt::format(", waiting {:.1f} %, staleness {:.2f} (at most {})",
                  100 * report_.waiting / seconds, report_.mean_staleness, report_.most_staleness);
  if (report_.dropped > 0)
    text += fmt::format(", {} too late", detail::counted(report_.dropped, "gradient"));
  return text;
}

}  // namespace

std::unique_ptr<Updater> relaxed_updater(const Updater::Parts& parts) {
  return std::make_unique<RelaxedUpdater>(parts);
}

}  // namespace dynet_like::nn
