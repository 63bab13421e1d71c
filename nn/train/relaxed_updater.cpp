// RelaxedUpdater: for ranks that do not wait for each other after every minibatch.
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/parameter_server.h"
#include "nn/train/evaluation.h"
#include "nn/train/updater.h"

namespace dynet_like::nn {

namespace {

class RelaxedUpdater : public Updater {
 public:
  using Updater::Updater;

  void begin(const TrainingEpoch& epoch) override {
    if (has_diverged_) ranks_.broadcast_parameters();
    has_diverged_ = false;
    server_.emplace(ranks_.communicator(), trainer_, *options_.ranks.relaxation, epoch.position(),
                    epoch.size());
  }

  void end() override {
    has_diverged_ |= server_.has_value();
    server_.reset();
    drop();
  }

  std::optional<std::size_t> next(TrainingState& run) override;
  float update(Minibatch& batch, std::size_t losses, TrainingState& run) override;
  void drop() override { gradients_.clear(); }

  bool is_up_to_date() const override { return !server_; }
  std::string shares_of_time(double seconds) const override;

 private:
  void finish(TrainingState& run);
  void clip_gradients();
  bool prepare_gradients(float loss, std::size_t losses, const TrainingEpoch& epoch);

  std::optional<ParameterServer> server_;  // exists during a loop
  ParameterServer::Report report_;         // of the last loop
  bool has_diverged_ = false;              // a loop was left before its end
  Gradients gradients_;
};

std::optional<std::size_t> RelaxedUpdater::next(TrainingState& run) {
  const std::size_t begun = server_->begun();
  std::optional<std::size_t> next;
  ranks_.together([&] { next = server_->next(ranks_.wants_to_stop()); });
  if (next) {
    run.epoch.show(begun, server_->begun(), run.progress.mean_loss());
  } else {
    finish(run);
  }
  return next;
}

void RelaxedUpdater::finish(TrainingState& run) {
  TrainingProgress& progress = run.progress;
  const std::size_t begun = server_->begun();
  ranks_.together([&] { report_ = server_->finish(); });
  server_.reset();
  run.epoch.show(begun, report_.next, progress.mean_loss());
  progress.loss += report_.loss;
  progress.losses += report_.losses;
  progress.updates += report_.updates;
  progress.skipped += report_.skipped;
  progress.without_loss += report_.without_loss;
  progress.minibatches = report_.next;
  run.epoch.move_to(report_.next);  // ranks were at different places
  ranks_.note_stop(report_.stopped);
}

// Each rank clips its own gradients, since no rank has the sum. If the server refuses the sum, the
// run ends.
void RelaxedUpdater::clip_gradients() {
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

// Returns whether there are gradients to send.
bool RelaxedUpdater::prepare_gradients(float loss, std::size_t losses, const TrainingEpoch& epoch) {
  try {
    if (!std::isfinite(loss)) {
      throw NumericError(fmt::format("[TrainingRun] need a finite loss; got {}", loss));
    }
    if (!options_.sum_losses && losses > 0) gradients_.scale(1 / static_cast<double>(losses));
    clip_gradients();
    return true;
  } catch (const NumericError& error) {
    if (options_.not_finite == NotFinite::skip) return false;
    throw NumericError(fmt::format("{}; in {}", error.what(), epoch.name_of_minibatch()));
  }
}

float RelaxedUpdater::update(Minibatch& batch, std::size_t losses, TrainingState& run) {
  const std::size_t terms = batch.losses().added;
  check_losses(terms, losses, run.epoch);
  const float loss = terms > 0 ? finite_loss(batch, run.epoch) : 0;
  if (terms > 0) add_gradients(batch, gradients_);
  const bool pushes = terms > 0 && prepare_gradients(loss, losses, run.epoch);
  std::optional<float> rate;
  if (pushes && options_.schedule.rate) {
    rate = scheduled_rate(options_.schedule, run.progress,
                          run.progress.updates + server_->update_number());
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

std::string RelaxedUpdater::shares_of_time(double seconds) const {
  if (seconds <= 0) return "";
  std::string text =
      fmt::format(", waiting {:.1f} %, staleness {:.2f} (at most {})",
                  100 * report_.waiting / seconds, report_.mean_staleness, report_.most_staleness);
  if (report_.dropped > 0)
    text += fmt::format(", {} too late", detail::counted(report_.dropped, "gradient"));
  return text;
}

}  // namespace

std::unique_ptr<Updater> relaxed_updater(const TrainingOptions& options, Trainer& trainer,
                                         TrainingRanks& ranks) {
  return std::make_unique<RelaxedUpdater>(options, trainer, ranks);
}

}  // namespace dynet_like::nn
