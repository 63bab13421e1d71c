// TrainingEpoch: order, position, random numbers and speed.
#include "nn/train/training_epoch.h"

#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/elapsed.h"

namespace dynet_like::nn {

namespace {

/// The purpose of random numbers: the order of an epoch, one of its minibatches, or one of its
/// samples.
enum class Purpose : std::uint32_t { order, minibatch, sample };

std::uint64_t seed_for(Purpose purpose, const TrainingState& run, std::size_t number) {
  const auto of = static_cast<std::uint64_t>(purpose);
  return derived_seed(run.options.seed, of | std::uint64_t{run.progress.epochs} << 32, number);
}

}  // namespace

Random TrainingEpoch::order_random() const { return Random(seed_for(Purpose::order, run_, 0)); }

std::vector<std::uint64_t> TrainingEpoch::sample_seeds(
    const std::vector<std::uint32_t>& samples) const {
  std::vector<std::uint64_t> seeds;
  for (const std::uint32_t sample : samples) {
    seeds.push_back(seed_for(Purpose::sample, run_, sample));
  }
  return seeds;
}

void TrainingEpoch::begin(Minibatches list, std::span<const std::uint32_t> costs) {
  TrainingProgress& progress = run_.progress;
  const TrainingOptions& options = run_.options;
  if (list.empty())
    throw UsageError("[TrainingRun] need a minibatch or more in an epoch; got none");
  const std::uint64_t order = fingerprint(list, costs);
  if (progress.minibatches > list.size() || (progress.minibatches > 0 && progress.order != order)) {
    throw UsageError(
        fmt::format("[TrainingRun] need the same minibatches and sizes to go on with epoch {} "
                    "after {} of them; got others",
                    progress.epochs + 1, progress.minibatches));
  }
  std::size_t samples = 0, done = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    samples += list[i].size();
    if (i < progress.minibatches) done += list[i].size();
  }
  bar_.emplace(fmt::format("epoch {}/{}", progress.epochs + 1, options.epochs), units(samples),
               options.unit, units(done), options.progress_bar && run_.is_writer());
  minibatches_ = std::move(list);
  costs_.assign(costs.begin(), costs.end());
  progress.order = order;
  position_ = progress.minibatches;
}

void TrainingEpoch::end() {
  in_minibatch_ = false;
  run_.timed.leave();
  seconds_ = bar_->seconds();
  run_.progress.seconds += seconds_;
  all_seconds_ += seconds_;
  bar_.reset();
}

void TrainingEpoch::move_to(std::size_t position) {
  position_ = position;
  random_ = Random(seed_for(Purpose::minibatch, run_, position_));
}

void TrainingEpoch::begin_minibatch(std::size_t position) {
  move_to(position);
  minibatch_start_ = std::chrono::steady_clock::now();
  in_minibatch_ = true;
  run_.timed.begin();
}

void TrainingEpoch::end_minibatch() {
  in_minibatch_ = false;
  run_.timed.end(run_.is_writer());
}

void TrainingEpoch::pass() {
  show(position_, position_ + 1);
  ++position_;
}

void TrainingEpoch::show(std::size_t first, std::size_t end) {
  std::size_t done = 0;
  for (std::size_t i = first; i < end; ++i) done += units(minibatches_[i].size());
  all_units_ += static_cast<double>(done);
  bar_->advance(done, run_.progress.mean_loss());
}

std::string TrainingEpoch::name_of_minibatch() const {
  return fmt::format("minibatch {} of epoch {}", position_ + 1, run_.progress.epochs + 1);
}

void TrainingEpoch::check_in_minibatch() const {
  if (in_minibatch_) return;
  throw UsageError("[TrainingRun] need update() within a loop over minibatches(); got it outside");
}

double TrainingEpoch::seconds_of_minibatch() const {
  return detail::seconds_since(minibatch_start_);
}

double TrainingEpoch::units_per_second() const {
  return all_seconds_ > 0 ? all_units_ / all_seconds_ : 0;
}

std::size_t TrainingEpoch::units(std::size_t samples) const {
  return static_cast<std::size_t>(static_cast<double>(samples) * run_.options.units_per_sample);
}

}  // namespace dynet_like::nn
