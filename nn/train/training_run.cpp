// TrainingRun: the loop of epochs and minibatches.
#include "nn/train/training_run.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/elapsed.h"
#include "nn/train/checkpoints.h"
#include "nn/train/run_settings.h"
#include "nn/train/training_epoch.h"
#include "nn/train/training_log.h"
#include "nn/train/training_ranks.h"
#include "nn/train/training_state.h"
#include "nn/train/updater.h"

namespace dynet_like::nn {

namespace {

constexpr std::size_t kPoolBatches = 50;  // samples are sorted by size within this many minibatches

void check_is_for_loop(const TrainingOptions& options) {
  if (options.sizes.empty() && options.dev_score == nullptr) return;
  throw UsageError(fmt::format(
      "[TrainingRun] need {} in a loop of your own; got it in the options, which is for "
      "nn::train",
      options.sizes.empty() ? "the dev score as an argument of finish_epoch()"
                            : "sizes as an argument of minibatches()"));
}

// Otherwise losses from before an update would be added to those after it.
void check_cleared(const Minibatch& batch) {
  const std::size_t trained = batch.losses().trained;
  if (trained == 0) return;
  throw UsageError(
      fmt::format("[TrainingRun] need a minibatch without losses that were trained on; got one "
                  "with {} of them: update() it once, or clear() it before",
                  trained));
}

// Otherwise a checkpoint would not tell that bits depend on them.
void check_options_of(const Minibatch& batch, const TrainingState& run) {
  const std::string need = graph_settings(run);
  const std::string got = graph_settings(batch.options(), run);
  if (got == need) return;
  throw UsageError(fmt::format(
      "[TrainingRun] need a minibatch with the options of TrainingOptions::graph, on which bits "
      "depend: {}; got {}: make both with the same GraphOptions",
      need, got));
}

}  // namespace

TrainingRun::TrainingRun(const ParameterCollection& model, Trainer& trainer,
                         TrainingOptions options)
    : TrainingRun(model, trainer, (check_is_for_loop(options), std::move(options)), Metadata()) {}

TrainingRun::TrainingRun(const ParameterCollection& model, Trainer& trainer,
                         TrainingOptions options, const Metadata& loop)
    : state_(std::make_unique<TrainingState>(model, trainer, std::move(options), loop)),
      epoch_(std::make_unique<TrainingEpoch>(*state_)),
      ranks_(std::make_unique<TrainingRanks>(*state_, *epoch_, [this] { return rescue(); })),
      checkpoints_(std::make_unique<Checkpoints>(*state_)),
      log_(std::make_unique<TrainingLog>(*state_, *epoch_)),
      updater_(make_updater({*state_, *epoch_, *ranks_})) {
  ranks_->check_alike();
}

TrainingRun::~TrainingRun() = default;

bool TrainingRun::next_epoch() {
  if (phase_ == Phase::trained) {
    throw UsageError("[TrainingRun] need finish_epoch() after the minibatches; got next_epoch()");
  }
  if (phase_ == Phase::over) return false;
  put_weights_back();
  if (ranks_->agree_to_stop()) {
    if (checkpoints_->has_folder() && !state_->is_saved) save();
  } else if (state_->is_enough()) {
    if (progress().best_epoch > 0) {
      checkpoints_->load_best();
      if (checkpoints_->has_folder()) ranks_->broadcast_parameters();
    }
  } else {
    ranks_->watch_signals();
    state_->groups.begin_epoch(progress().epochs + 1);
    phase_ = Phase::training;
    state_->set_learning_rate();
    return true;
  }
  state_->groups.thaw();
  ranks_->end_watch();  // restores the signal handlers
  phase_ = Phase::over;
  if (is_writer()) state_->timed.finish();
  return false;
}

TrainingRun::MinibatchRange TrainingRun::minibatches(Minibatch& batch,
                                                     std::span<const std::uint32_t> sizes) {
  Random random = epoch_->order_random();
  const std::size_t batch_size = state_->options.batch_size;
  return minibatches(batch, similar_size_minibatches(sizes, batch_size, kPoolBatches, random),
                     sizes);
}

TrainingRun::MinibatchRange TrainingRun::minibatches(Minibatch& batch, std::size_t sample_count) {
  Random random = epoch_->order_random();
  return minibatches(batch, shuffled_minibatches(sample_count, state_->options.batch_size, random));
}

TrainingRun::MinibatchRange TrainingRun::minibatches(Minibatch& batch, Minibatches list,
                                                     std::span<const std::uint32_t> sizes) {
  if (phase_ != Phase::training || epoch_->has_loop()) {
    throw UsageError(fmt::format(
        "[TrainingRun] need next_epoch() before minibatches(), and one loop at a time; got {}",
        epoch_->has_loop() ? "another loop" : "no epoch"));
  }
  check_options_of(batch, *state_);
  epoch_->begin(std::move(list), sizes);
  log_->tell_of_schedule();
  return MinibatchRange(*this, batch);
}

// If this throws, no loop has begun, and another one may begin.
TrainingRun::MinibatchRange::MinibatchRange(TrainingRun& run, Minibatch& batch)
    : run_(run), batch_(batch) {
  try {
    run.updater_->begin();
  } catch (...) {
    run.epoch_->end();
    throw;
  }
}

// Also runs after a break or an exception, when ranks may be at different positions.
TrainingRun::MinibatchRange::~MinibatchRange() {
  TrainingEpoch& epoch = *run_.epoch_;
  if (run_.phase_ == Phase::training) epoch.move_to(epoch.position());
  run_.updater_->end();
  epoch.end();
}

bool TrainingRun::MinibatchRange::next() {
  if (run_.updater_->next()) {
    batch_.clear();
    batch_.seed_samples(run_.epoch_->sample_seeds(samples()));
    return true;
  }
  if (run_.epoch_->position() == run_.epoch_->size()) {
    run_.phase_ = Phase::trained;
  } else if (run_.checkpoints_->has_folder()) {
    run_.save();
  }
  return false;
}

const std::vector<std::uint32_t>& TrainingRun::MinibatchRange::samples() const {
  return run_.updater_->samples();
}

void TrainingRun::MinibatchRange::pass() {
  run_.updater_->pass();
  run_.epoch_->end_minibatch();
}

float TrainingRun::update(Minibatch& batch) { return update(batch, batch.size()); }

float TrainingRun::update(Minibatch& batch, std::size_t losses) {
  epoch_->check_in_minibatch();
  check_cleared(batch);
  try {
    return updater_->update(batch, losses);
  } catch (...) {
    updater_->drop();
    throw;
  }
}

void TrainingRun::update(const Gradients& gradients, double loss, std::size_t losses) {
  epoch_->check_in_minibatch();
  updater_->update(gradients, loss, losses);
}

void TrainingRun::finish_epoch(const std::function<double()>& dev_score) {
  finish([&] { return std::optional(dev_score()); });
}

void TrainingRun::finish_epoch(double dev_score) {
  if (state_->trainer.moving_average() != MovingAverage::None) {
    throw UsageError(
        "[TrainingRun] need a function for the dev score, to call it with the moving averages in "
        "place; got a number");
  }
  finish([&] { return std::optional(dev_score); });
}

void TrainingRun::finish_epoch() {
  finish([] { return std::optional<double>(); });
}

void TrainingRun::finish(const std::function<std::optional<double>()>& dev_score) {
  if (phase_ == Phase::training && interrupted()) return;
  if (phase_ != Phase::trained && phase_ != Phase::finishing) {
    throw UsageError("[TrainingRun] need finish_epoch() after all minibatches; got it before");
  }
  phase_ = Phase::finishing;
  const auto start = std::chrono::steady_clock::now();
  Trainer& trainer = state_->trainer;
  Evaluation evaluation;
  TrainingProgress after;
  put_weights_back();  // if that failed before
  ranks_->check_same_parameters();
  if (trainer.moving_average() != MovingAverage::None && !trainer.state().averages.empty()) {
    trainer.swap_params_to_moving_average(true, true);
    averages_in_place_ = true;
  }
  try {
    const std::optional<double> score = dev_score();
    ranks_->check_same_score(score);
    evaluation = state_->evaluation(score);
    after = state_->progress_after(evaluation, log_->row(evaluation));
    if (evaluation.is_best) checkpoints_->keep_best(after);
  } catch (...) {
    put_weights_back();
    throw;
  }
  put_weights_back();
  after.seconds += detail::seconds_since(start);
  state_->progress = std::move(after);
  state_->is_saved = false;
  log_->forget_notes();
  phase_ = Phase::between;
  state_->groups.begin_epoch(progress().epochs + 1);  // checkpoints store the epoch, not the groups
  if (checkpoints_->has_folder()) save();
  log_->write(evaluation, updater_->shares_of_time());
}

void TrainingRun::put_weights_back() {
  if (averages_in_place_) state_->trainer.swap_params_to_weights();
  averages_in_place_ = false;
}

// Saves the last update; anything after it is lost with the rank.
std::string TrainingRun::rescue() {
  put_weights_back();
  updater_->drop();
  if (!checkpoints_->has_folder()) return "";
  const std::string file = checkpoints_->file().string();
  if (!updater_->is_up_to_date()) return fmt::format("; go on from the last epoch, in {}", file);
  if (!is_writer()) return "";
  save();
  return fmt::format(
      "; the last update is saved in {}: go on from there, with fewer ranks if need be", file);
}

void TrainingRun::note(const std::string& column, double value) { log_->note(column, value); }
Random& TrainingRun::random() { return epoch_->random(); }
void TrainingRun::stop() { ranks_->stop(); }
bool TrainingRun::interrupted() const { return ranks_->all_stop(); }
void TrainingRun::save() { checkpoints_->save(epoch_->has_loop() ? epoch_->seconds() : 0); }
Communicator& TrainingRun::ranks() { return *state_->ranks; }
bool TrainingRun::is_writer() const { return state_->is_writer(); }
const TrainingProgress& TrainingRun::progress() const { return state_->progress; }
double TrainingRun::units_per_second() const { return epoch_->units_per_second(); }

void TrainingRun::write_report(const std::filesystem::path& path,
                               const std::map<std::string, double>& results) const {
  log_->write_report(path, results);
}

}  // namespace dynet_like::nn
