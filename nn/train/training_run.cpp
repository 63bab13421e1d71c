// TrainingRun: epochs, minibatches and updates.
#include "nn/train/training_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/io/folder_lock.h"
#include "nn/train/fingerprint.h"

namespace dynet_like::nn {

namespace {

constexpr std::size_t kPoolBatches = 50;  // samples are sorted by size within so many minibatches

/// What a stream of random numbers is for.
enum class Purpose : std::uint32_t { order, minibatch };

Random stream(std::uint64_t seed, Purpose purpose, unsigned epoch, std::size_t minibatch) {
  const auto words =
      philox({static_cast<std::uint32_t>(purpose), epoch, static_cast<std::uint32_t>(minibatch),
              static_cast<std::uint32_t>(std::uint64_t{minibatch} >> 32)},
             seed);
  return Random(std::uint64_t{words[0]} << 32 | words[1]);
}

}  // namespace

TrainingRun::TrainingRun(const ParameterCollection& model, Trainer& trainer,
                         TrainingOptions options)
    : options_(std::move(options)),
      ranks_(options_.ranks != nullptr ? options_.ranks : single_process()),
      model_(model),
      trainer_(trainer),
      groups_(model, trainer, options_.groups),
      checkpoint_(options_.output.empty()
                      ? ""
                      : std::filesystem::path(options_.output) / "checkpoint.safetensors"),
      best_(model, options_.output.empty()
                       ? ""
                       : std::filesystem::path(options_.output) / "best.safetensors"),
      random_(options_.seed),
      timed_(options_.timeline, options_.timeline_minibatches, options_.timeline_file) {
  check_options();
  if (options_.plateau && !options_.schedule) options_.schedule = trainer.learning_rate;
  if (!options_.output.empty() && is_writer()) take_folder();
  if (options_.resume) resume();
  if (!options_.output.empty() && is_writer()) begin_files();
  begin_sharing();
}

TrainingRun::~TrainingRun() { ranks_->give_up_when({}); }

bool TrainingRun::next_epoch() {
  if (phase_ == Phase::trained) {
    throw UsageError("[TrainingRun] need finish_epoch() after the minibatches; got next_epoch()");
  }
  if (phase_ == Phase::over) return false;
  put_weights_back();
  const bool stops = agree_to_stop();
  const bool is_patient =
      options_.patience == 0 ||
      progress_.epochs < std::uint64_t{progress_.best_epoch} + options_.patience;
  if (stops) {
    if (!checkpoint_.empty() && !is_saved_) save();
    end();
  } else if (progress_.epochs >= options_.epochs || !is_patient) {
    if (progress_.best_epoch > 0) load_best();
    end();
  } else {
    if (options_.watch_interrupts && !watch_) {
      watch_.emplace();
      ranks_->give_up_when([this] { return wants_to_stop(); });
    }
    groups_.begin_epoch(progress_.epochs + 1);
    phase_ = Phase::training;
    set_learning_rate();
  }
  return phase_ == Phase::training;
}

// From here on signals do what they did before.
void TrainingRun::end() {
  groups_.thaw();
  stopped_ = interrupted();
  ranks_->give_up_when({});
  watch_.reset();
  phase_ = Phase::over;
  if (is_writer()) timed_.finish();
}

void TrainingRun::set_learning_rate() {
  if (options_.schedule) trainer_.learning_rate = scheduled_rate(progress_.updates);
}

float TrainingRun::scheduled_rate(std::uint64_t update) const {
  const std::uint64_t step = options_.schedule_by_epoch ? progress_.epochs : update;
  return options_.schedule->rate(step) * progress_.plateau.scale;
}

Random TrainingRun::order_random() const {
  return stream(options_.seed, Purpose::order, progress_.epochs, 0);
}

Random TrainingRun::minibatch_random() const {
  return stream(options_.seed, Purpose::minibatch, progress_.epochs, position_);
}

TrainingRun::MinibatchRange TrainingRun::minibatches(std::span<const std::uint32_t> sizes) {
  Random random = order_random();
  return minibatches(similar_size_minibatches(sizes, options_.batch_size, kPoolBatches, random),
                     sizes);
}

TrainingRun::MinibatchRange TrainingRun::minibatches(std::size_t sample_count) {
  Random random = order_random();
  return minibatches(shuffled_minibatches(sample_count, options_.batch_size, random));
}

TrainingRun::MinibatchRange TrainingRun::minibatches(Minibatches list,
                                                     std::span<const std::uint32_t> sizes) {
  costs_.assign(sizes.begin(), sizes.end());
  Fingerprint costs;
  for (const std::uint32_t size : sizes) costs.add(size);
  costs_digest_ = costs.value();
  return begin_minibatches(std::move(list));
}

TrainingRun::MinibatchRange TrainingRun::begin_minibatches(Minibatches list) {
  if (phase_ != Phase::training || bar_) {
    throw UsageError(fmt::format(
        "[TrainingRun] need next_epoch() before minibatches(), and one loop at a time; got {}",
        bar_ ? "another loop" : "no epoch"));
  }
  const std::uint64_t order = fingerprint(list);
  if (progress_.minibatches > list.size() ||
      (progress_.minibatches > 0 && progress_.order != order)) {
    throw UsageError(
        fmt::format("[TrainingRun] need the same minibatches to go on with epoch {} after {} of "
                    "them; got others",
                    progress_.epochs + 1, progress_.minibatches));
  }
  std::size_t samples = 0, done = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    samples += list[i].size();
    if (i < progress_.minibatches) done += list[i].size();
  }
  bar_.emplace(fmt::format("epoch {}/{}", progress_.epochs + 1, options_.epochs), units(samples),
               options_.unit, units(done), options_.progress_bar && is_writer());
  rank_times_ = {};
  rank_times_.before = ranks_->times();
  minibatches_ = std::move(list);
  progress_.order = order;
  position_ = progress_.minibatches;
  if (is_relaxed()) begin_server();
  return MinibatchRange(*this);
}

// Where it throws there is no loop that would end, and another one may begin.
void TrainingRun::begin_server() {
  try {
    if (has_diverged_) with_ranks([&] { broadcast_values(); });
    has_diverged_ = false;
    server_.emplace(ranks_, trainer_, *options_.relaxation, position_, minibatches_.size());
  } catch (...) {
    bar_.reset();
    throw;
  }
}

// Whether there is another one.
bool TrainingRun::begin_minibatch() {
  if (server_) return begin_relaxed_minibatch();
  if (position_ == minibatches_.size()) {
    phase_ = Phase::trained;
    return false;
  }
  if (agree_to_stop()) {
    if (!checkpoint_.empty()) save();
    return false;
  }
  random_ = minibatch_random();
  if (shared_) {
    shared_->begin(minibatches_[position_], costs_);
    random_.number_samples_from(shared_->first_sample());
  }
  minibatch_start_ = std::chrono::steady_clock::now();
  in_minibatch_ = true;
  timed_.begin();
  return true;
}

const std::vector<std::uint32_t>& TrainingRun::samples() const {
  return shared_ ? shared_->own_samples() : minibatches_[position_];
}

void TrainingRun::end_minibatch() {
  if (server_) {
    in_minibatch_ = false;
    timed_.end(is_writer());
    return;
  }
  // The last minibatch of an update may have been passed over.
  if (pending_.minibatches > 0 && update_is_due()) {
    if (shared_) {
      with_ranks([&] {
        shared_->send();
        shared_->receive();
      });
    }
    make_due_update();
  }
  in_minibatch_ = false;
  const std::size_t samples = units(minibatches_[position_].size());
  ++position_;
  if (pending_.minibatches == 0) progress_.minibatches = position_;
  is_saved_ = false;
  trained_units_ += static_cast<double>(samples);
  bar_->advance(samples, progress_.mean_loss());
  timed_.end(is_writer());
}

// Also after a break and an exception, where ranks may be at different places.
void TrainingRun::end_minibatches() {
  if (phase_ == Phase::training) random_ = minibatch_random();
  in_minibatch_ = false;
  timed_.leave();
  has_diverged_ |= server_.has_value();
  server_.reset();
  drop_pending();
  progress_.seconds += bar_->seconds();
  trained_seconds_ += bar_->seconds();
  rank_times_.seconds = bar_->seconds();
  rank_times_.after = ranks_->times();
  bar_.reset();
}

void TrainingRun::check_in_minibatch() const {
  if (in_minibatch_) return;
  throw UsageError("[TrainingRun] need update() within a loop over minibatches(); got it outside");
}

float TrainingRun::update(Minibatch& batch) { return update(batch, batch.size()); }

// The numbers of what comes after an update and those before it would be one sum.
void TrainingRun::check_cleared(const Minibatch& batch) {
  if (batch.trained_losses() == 0) return;
  throw UsageError(
      fmt::format("[TrainingRun] need a minibatch without losses that were trained on; got one "
                  "with {} of them: clear() it where the loop's body begins",
                  batch.trained_losses()));
}

// An update all the same would be one by moments and decay alone.
void TrainingRun::check_losses(std::uint64_t terms) const {
  if (terms > 0) return;
  throw UsageError(
      fmt::format("[TrainingRun] need a loss or more in a minibatch; got none in minibatch {} of "
                  "epoch {}: pass over it, without update()",
                  position_ + 1, progress_.epochs + 1));
}

float TrainingRun::finite_loss(Minibatch& batch) const {
  const float loss = batch.forward();
  if (options_.not_finite == NotFinite::skip) return loss;
  try {
    batch.check_finite_loss();
  } catch (const NumericError& error) {
    throw NumericError(fmt::format("{}; in minibatch {} of epoch {}", error.what(), position_ + 1,
                                   progress_.epochs + 1));
  }
  return loss;
}

float TrainingRun::update(Minibatch& batch, std::size_t losses) {
  check_in_minibatch();
  check_cleared(batch);
  if (server_) return update_relaxed(batch, losses);
  if (shared_) return update_shared(batch, losses);
  try {
    const float loss = finite_loss(batch);
    if (options_.accumulate == 1 && !options_.mean_losses) {
      const Gradients& gradients = batch.backward();
      check_losses(batch.trained_losses());
      add_pending(static_cast<double>(loss), losses);
      make_update(gradients);
      return loss;
    }
    add_gradients(batch);
    check_losses(batch.trained_losses());
    add_pending(static_cast<double>(loss), losses);
    if (update_is_due()) make_due_update();
    return loss;
  } catch (...) {
    drop_pending();
    throw;
  }
}

void TrainingRun::update(const Gradients& gradients, double loss, std::size_t losses) {
  check_in_minibatch();
  if (shared_ || server_) {
    throw UsageError(fmt::format(
        "[TrainingRun] need update(minibatch) where ranks or shards train together; "
        "got gradients for {} and {}",
        detail::counted(ranks_->size(), "rank"), detail::counted(options_.shards, "shard")));
  }
  if (gradients.is_used()) {
    throw UsageError(
        "[TrainingRun] need gradients that no update has used; got some that one has: clear and "
        "compute them for each minibatch");
  }
  if (!gradients.has_any_of(model_)) check_losses(losses);
  try {
    gradients_.add(gradients);
    add_pending(loss, losses);
    if (update_is_due()) make_due_update();
    gradients.mark_used();  // those of an update that failed may be used again
  } catch (...) {
    drop_pending();
    throw;
  }
}

void TrainingRun::add_gradients(Minibatch& batch) {
  // In parts it has run backward already.
  batch.parts() > 1 ? gradients_.add(batch.backward()) : batch.backward(gradients_);
}

void TrainingRun::add_pending(double loss, std::size_t losses) {
  ++pending_.minibatches;
  pending_.loss += loss;
  pending_.losses += losses;
}

bool TrainingRun::update_is_due() const {
  return (position_ + 1) % options_.accumulate == 0 || position_ + 1 == minibatches_.size();
}

void TrainingRun::make_due_update() {
  Gradients* gradients = &gradients_;
  if (shared_) with_ranks([&] { gradients = &shared_->sum(); });
  if (options_.mean_losses && pending_.losses > 0) {
    gradients->scale(1 / static_cast<double>(pending_.losses));
  }
  make_update(*gradients);
}

void TrainingRun::make_update(const Gradients& gradients) {
  set_learning_rate();
  is_saved_ = false;
  const std::uint64_t updates = trainer_.updates();
  try {
    if (!std::isfinite(pending_.loss)) {
      throw NumericError(fmt::format("[TrainingRun] need a finite loss; got {}", pending_.loss));
    }
    std::optional<Timeline::Scope> update;
    timed_.open(update, "update");
    trainer_.update(gradients);
    // Later is early enough, unless the next update is to be made all the same.
    const bool is_last = position_ + 1 == minibatches_.size();
    if (options_.not_finite != NotFinite::fail || is_last) trainer_.finish_update();
    ++progress_.updates;
    progress_.loss += pending_.loss;
    progress_.losses += pending_.losses;
  } catch (const NumericError&) {
    if (trainer_.updates() < updates) --progress_.updates;  // it was the one before
    if (options_.not_finite == NotFinite::fail) throw;
    ++progress_.skipped;
  }
  progress_.minibatches = position_ + 1;
  drop_pending();
}

void TrainingRun::drop_pending() {
  pending_ = {};
  gradients_.clear();
  if (shared_) shared_->clear();
}

double TrainingRun::units_per_second() const {
  return trained_seconds_ > 0 ? trained_units_ / trained_seconds_ : 0;
}

std::size_t TrainingRun::units(std::size_t samples) const {
  return static_cast<std::size_t>(static_cast<double>(samples) * options_.units_per_sample);
}

}  // namespace dynet_like::nn
