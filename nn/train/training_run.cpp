// TrainingRun: the loop of epochs and minibatches.
#include "nn/train/training_run.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/elapsed.h"
#include "dynet_like/io/atomic_file.h"
#include "nn/train/checkpoints.h"
#include "nn/train/evaluation.h"
#include "nn/train/run_settings.h"
#include "nn/train/timed_minibatches.h"
#include "nn/train/training_epoch.h"
#include "nn/train/training_log.h"
#include "nn/train/training_ranks.h"
#include "nn/train/updater.h"

namespace dynet_like::nn {

namespace {

constexpr std::size_t kPoolBatches = 50;  // samples are sorted by size within this many minibatches

TrainingOptions complete(TrainingOptions options, const Trainer& trainer) {
  const auto& ranks = options.ranks.communicator;
  options.check(ranks ? ranks->size() : 1);
  ScheduleOptions& schedule = options.schedule;
  if (schedule.plateau && !schedule.rate) schedule.rate = trainer.learning_rate;
  return options;
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
void check_options_of(const Minibatch& batch, const TrainingOptions& options) {
  const std::string need = graph_settings(options);
  const std::string got = graph_settings(batch.options(), options.ranks);
  if (got == need) return;
  throw UsageError(fmt::format(
      "[TrainingRun] need a minibatch with the options of TrainingOptions::graph, on which bits "
      "depend: {}; got {}: make both with the same GraphOptions",
      need, got));
}

}  // namespace

/// Each part has a header of its own. Parts share the options, which do not change; the state is
/// passed to those that change it.
struct TrainingRun::Parts {
  // `training`: the epoch has minibatches left; `trained`: it has none. `finishing`: only
  // finish_epoch() is left, which has begun and may have failed.
  enum class Phase { between, training, trained, finishing, over };

  Trainer& trainer;
  const TrainingOptions options;
  GroupSchedule groups;
  const RunSettings settings;
  TrainingRanks ranks;
  Checkpoints checkpoints;
  TrainingState state;
  TrainingLog log;
  std::unique_ptr<Updater> updater;
  TimedMinibatches timed = {};
  Phase phase = Phase::between;
  bool averages_in_place = false;
  bool is_saved = false;               // whether the checkpoint has this progress
  const Minibatch* checked = nullptr;  // whose options fit, in this loop

  Parts(Trainer& of, TrainingOptions all, const Metadata& loop)
      : trainer(of),
        options(complete(std::move(all), trainer)),
        groups(trainer.parameters(), trainer, options.schedule.groups),
        settings(options, trainer, groups.description(), loop),
        ranks(options, trainer),
        checkpoints(options, settings, trainer, ranks.is_writer()),
        state{resumed()},
        log(options, state.progress, ranks.is_writer()),
        updater(make_updater(options, trainer, ranks)) {
    is_saved = options.files.resume;
    Metadata mine = settings.all();
    mine.merge(conduct_of(options, state.progress.updates));
    ranks.check_alike(mine);
  }

  // Also after a break or an exception, when ranks may be at different positions.
  void leave_loop() {
    if (!state.epoch.has_loop()) return;
    state.epoch.move_to(state.epoch.position());
    updater->end();
    timed.leave();
    state.epoch.end(state.progress);
  }

  void put_weights_back() {
    if (averages_in_place) trainer.swap_params_to_weights();
    averages_in_place = false;
  }

  TrainingProgress resumed() {
    if (!options.files.resume) return {};
    TrainingProgress saved = checkpoints.read();
    groups.begin_epoch(saved.epochs + 1);
    checkpoints.load();
    return saved;
  }
};

TrainingRun::TrainingRun(Trainer& trainer, TrainingOptions options, const Metadata& loop)
    : parts_(std::make_unique<Parts>(trainer, std::move(options), loop)) {}

TrainingRun::~TrainingRun() = default;

// Whoever loses a rank saves the last update, and says where.
template <class F>
auto TrainingRun::or_rescue(const F& work) {
  try {
    return work();
  } catch (const RankError& error) {
    const std::string what = error.what();
    throw RankError(what + rescue());
  }
}

bool TrainingRun::next_epoch(std::size_t sample_count) {
  const Parts& run = *parts_;
  const auto& sizes = run.options.sizes;
  const auto list = [&] {
    Random random = TrainingEpoch::order_random(run.options.seed, run.state.progress.epochs);
    const std::size_t batch_size = run.options.batch_size;
    return sizes.empty() ? shuffled_minibatches(sample_count, batch_size, random)
                         : similar_size_minibatches(sizes, batch_size, kPoolBatches, random);
  };
  if (!sizes.empty() && sizes.size() != sample_count) {
    throw UsageError(fmt::format("[TrainingRun] need a size per sample, or none; got {} for {}",
                                 sizes.size(), sample_count));
  }
  return begin_epoch(list, sizes);
}

bool TrainingRun::next_epoch(Minibatches list, std::span<const std::uint32_t> sizes) {
  return begin_epoch([&] { return std::move(list); }, sizes);
}

bool TrainingRun::begin_epoch(const std::function<Minibatches()>& list,
                              std::span<const std::uint32_t> sizes) {
  Parts& run = *parts_;
  using Phase = Parts::Phase;
  if (run.phase == Phase::trained) {
    throw UsageError("[TrainingRun] need finish_epoch() after the minibatches; got next_epoch()");
  }
  if (run.phase == Phase::over) return false;
  return or_rescue([&] {
    run.leave_loop();
    run.put_weights_back();
    if (run.ranks.agree_to_stop(run.state)) {
      if (run.checkpoints.has_folder() && !run.is_saved) save();
    } else if (is_enough(run.state.progress, run.options)) {
      if (run.state.progress.best_epoch > 0) {
        run.checkpoints.load_best(run.state.progress);
        if (run.checkpoints.has_folder()) run.ranks.broadcast_parameters();
      }
    } else {
      run.phase = Phase::training;
      run.ranks.watch_signals();
      run.groups.begin_epoch(run.state.progress.epochs + 1);
      const ScheduleOptions& schedule = run.options.schedule;
      if (schedule.rate) {
        run.trainer.learning_rate =
            scheduled_rate(schedule, run.state.progress, run.state.progress.updates);
      }
      const bool shows_bar = run.options.report.progress_bar && is_writer();
      run.state.epoch.begin(list(), sizes, run.options, shows_bar, run.state.progress);
      run.checked = nullptr;
      try {
        run.log.tell_of_schedule(run.state.epoch.size());
        run.updater->begin(run.state.epoch);
      } catch (...) {
        run.leave_loop();
        throw;
      }
      return true;
    }
    run.groups.thaw();
    run.ranks.end_watch();  // restores the signal handlers
    run.phase = Phase::over;
    if (is_writer()) run.timed.finish(run.options.report);
    return false;
  });
}

bool TrainingRun::next(Minibatch& batch) {
  Parts& run = *parts_;
  if (!run.state.epoch.has_loop()) {
    throw UsageError("[TrainingRun] need next_epoch() before next(); got no epoch");
  }
  return or_rescue([&] {
    try {
      run.is_saved = false;
      if (run.state.epoch.in_minibatch()) {
        run.updater->pass(run.state);
        run.state.epoch.end_minibatch();
        run.timed.end(run.options.report, is_writer());
      }
      if (run.checked != &batch) check_options_of(batch, run.options);
      run.checked = &batch;
      if (const auto position = run.updater->next(run.state)) {
        run.state.epoch.begin_minibatch(*position);
        run.timed.begin(run.options.report);
        batch.clear();
        batch.seed_samples(run.state.epoch.sample_seeds(samples()));
        return true;
      }
    } catch (...) {
      run.leave_loop();
      throw;
    }
    const bool is_last = run.state.epoch.position() == run.state.epoch.size();
    if (is_last) run.phase = Parts::Phase::trained;
    run.leave_loop();
    if (!is_last && run.checkpoints.has_folder()) save();
    return false;
  });
}

const std::vector<std::uint32_t>& TrainingRun::samples() const {
  if (parts_->state.epoch.in_minibatch()) return parts_->updater->samples(parts_->state.epoch);
  throw UsageError("[TrainingRun] need samples() of a minibatch; got it outside of them");
}

float TrainingRun::update(const std::function<float()>& update) {
  Parts& run = *parts_;
  if (!run.state.epoch.in_minibatch()) {
    throw UsageError("[TrainingRun] need update() of a minibatch; got it outside of them");
  }
  run.is_saved = false;
  return or_rescue([&] {
    try {
      return update();
    } catch (...) {
      run.updater->drop();
      throw;
    }
  });
}

float TrainingRun::update(Minibatch& batch) { return update(batch, batch.size()); }

float TrainingRun::update(Minibatch& batch, std::size_t losses) {
  return update([&] {
    check_cleared(batch);
    return parts_->updater->update(batch, losses, parts_->state);
  });
}

void TrainingRun::update(const Gradients& gradients, double loss, std::size_t losses) {
  update([&] {
    parts_->updater->update(gradients, loss, losses, parts_->state);
    return 0.0f;
  });
}

void TrainingRun::finish_epoch(const std::function<double()>& dev_score) {
  finish([&] { return std::optional(dev_score()); });
}

void TrainingRun::finish_epoch(double dev_score) {
  if (parts_->trainer.moving_average() != MovingAverage::None) {
    throw UsageError(
        "[TrainingRun] need a function for the dev score, to call it with the moving averages in "
        "place; got a number");
  }
  finish([&] { return std::optional(dev_score); });
}

void TrainingRun::finish_epoch() {
  const std::function<double()>& dev_score = parts_->options.stopping.dev_score;
  finish([&] { return dev_score ? std::optional(dev_score()) : std::nullopt; });
}

void TrainingRun::finish(const std::function<std::optional<double>()>& dev_score) {
  Parts& run = *parts_;
  using Phase = Parts::Phase;
  if (run.phase == Phase::training && interrupted()) return;
  if (run.phase != Phase::trained && run.phase != Phase::finishing) {
    throw UsageError("[TrainingRun] need finish_epoch() after all minibatches; got it before");
  }
  run.phase = Phase::finishing;
  const auto start = std::chrono::steady_clock::now();
  Evaluation evaluation;
  TrainingProgress after;
  or_rescue([&] {
    run.put_weights_back();  // if that failed before
    run.ranks.check_same_parameters(run.state);
    if (run.trainer.moving_average() != MovingAverage::None &&
        !run.trainer.state().averages.empty()) {
      run.trainer.swap_params_to_moving_average(true, true);
      run.averages_in_place = true;
    }
    try {
      const std::optional<double> score = dev_score();
      run.ranks.check_same_score(score);
      evaluation = evaluation_of(run.state.progress, score, run.options);
      // The trainer's rate may already be the next one, if an epoch ends again.
      const std::uint64_t updates = run.state.progress.updates;
      const ScheduleOptions& schedule = run.options.schedule;
      const float rate = schedule.rate ? scheduled_rate(schedule, run.state.progress,
                                                        updates > 0 ? updates - 1 : 0)
                                       : run.trainer.learning_rate;
      after = progress_after(run.state.progress, evaluation, run.options,
                             run.log.row(evaluation, rate));
      if (evaluation.is_best) run.checkpoints.keep_best(after);
    } catch (...) {
      run.put_weights_back();
      throw;
    }
    run.put_weights_back();
  });
  after.seconds += detail::seconds_since(start);
  run.state.progress = std::move(after);
  run.is_saved = false;
  run.log.forget_notes();
  run.phase = Phase::between;
  run.groups.begin_epoch(run.state.progress.epochs +
                         1);  // checkpoints store the epoch, not the groups
  if (run.checkpoints.has_folder()) save();
  run.log.write(run.state.progress, evaluation,
                fmt::format("{:.0f} {}/s{}", units_per_second(), run.options.report.unit,
                            run.updater->shares_of_time(run.state.epoch.seconds())));
}

// Saves the last update; anything after it is lost with the rank.
std::string TrainingRun::rescue() {
  Parts& run = *parts_;
  run.put_weights_back();
  run.updater->drop();
  if (!run.checkpoints.has_folder()) return "";
  const std::string file = run.checkpoints.file().string();
  if (!run.updater->is_up_to_date()) return fmt::format("; go on from the last epoch, in {}", file);
  if (!is_writer()) return "";
  save();
  return fmt::format(
      "; the last update is saved in {}: go on from there, with fewer ranks if need be", file);
}

void TrainingRun::save() {
  Parts& run = *parts_;
  run.is_saved = false;
  TrainingProgress progress = run.state.progress;
  if (run.state.epoch.has_loop()) progress.seconds += run.state.epoch.seconds();
  run.checkpoints.save(progress);
  run.is_saved = true;
}

void TrainingRun::note(const std::string& column, double value) { parts_->log.note(column, value); }
Random& TrainingRun::random() { return parts_->state.epoch.random(); }
void TrainingRun::stop() { parts_->ranks.stop(); }
bool TrainingRun::interrupted() const { return parts_->ranks.all_stop(); }
Communicator& TrainingRun::ranks() { return *parts_->ranks.communicator(); }
bool TrainingRun::is_writer() const { return parts_->ranks.is_writer(); }
const TrainingProgress& TrainingRun::progress() const { return parts_->state.progress; }
double TrainingRun::units_per_second() const { return parts_->state.epoch.units_per_second(); }

void TrainingRun::write_report(const std::filesystem::path& path,
                               const std::map<std::string, double>& results) const {
  if (!is_writer()) return;
  const ReportOptions& options = parts_->options.report;
  nlohmann::ordered_json report = {{"epochs", progress().epochs},
                                   {"updates", progress().updates},
                                   {"skipped_updates", progress().skipped},
                                   {"best_epoch", progress().best_epoch},
                                   {"best_" + options.score_name, progress().best_score},
                                   {"seconds", progress().seconds},
                                   {options.unit + "_per_second", units_per_second()}};
  report["results"] = results;
  report["settings"] = parts_->settings.chosen;
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  detail::write_atomically(path, report.dump(2, ' ', false, kReplace) + '\n');
}

}  // namespace dynet_like::nn
