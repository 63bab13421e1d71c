// TrainingEpoch: order, position, random numbers and speed.
#include "nn/train/training_epoch.h"

#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/elapsed.h"
#include "nn/train/fingerprint.h"

namespace dynet_like::nn {

namespace {

/// The purpose of random numbers: the order of an epoch, one of its minibatches, or one of its
/// samples.
enum class Purpose : std::uint32_t { order, minibatch, sample };

std::uint64_t seed_for(Purpose purpose, std::uint64_t seed, unsigned epochs, std::size_t number) {
  const auto of = static_cast<std::uint64_t>(purpose);
  return derived_seed(seed, of | std::uint64_t{epochs} << 32, number);
}

}  // namespace

std::uint64_t fingerprint(const Minibatches& minibatches, std::span<const std::uint32_t> sizes) {
  Fingerprint all;
  for (const auto& samples : minibatches) {
    all.add(samples.size());
    for (const std::uint32_t sample : samples) all.add(sample);
  }
  for (const std::uint32_t size : sizes) all.add(size);
  return all.value() == 0 ? 1 : all.value();
}

Random TrainingEpoch::order_random(std::uint64_t seed, unsigned epochs) {
  return Random(seed_for(Purpose::order, seed, epochs, 0));
}

void TrainingEpoch::begin(Minibatches list, std::span<const std::uint32_t> costs,
                          const TrainingOptions& options, bool shows_bar,
                          TrainingProgress& progress) {
  if (list.empty())
    throw UsageError("[TrainingRun] need a minibatch or more in an epoch; got none");
  const std::uint64_t order = fingerprint(list, costs);
  if (progress.minibatches > list.size() || (progress.minibatches > 0 && progress.order != order)) {
    throw UsageError(
        fmt::format("[TrainingRun] need the same minibatches and sizes to go on with epoch {} "
                    "after {} of them; got others",
                    progress.epochs + 1, progress.minibatches));
  }
  const ReportOptions& report = options.report;
  seed_ = options.seed;
  units_per_sample_ = report.units_per_sample;
  epochs_ = progress.epochs;
  costs_.assign(costs.begin(), costs.end());
  minibatches_ = std::move(list);
  bar_.emplace(fmt::format("epoch {}/{}", number(), options.epochs), units(0, size()), report.unit,
               units(0, progress.minibatches), shows_bar);
  progress.order = order;
  move_to(progress.minibatches);
}

void TrainingEpoch::end(TrainingProgress& progress) {
  in_minibatch_ = false;
  seconds_ = bar_->seconds();
  progress.seconds += seconds_;
  all_seconds_ += seconds_;
  bar_.reset();
}

void TrainingEpoch::move_to(std::size_t position) {
  position_ = position;
  random_ = Random(seed_for(Purpose::minibatch, seed_, epochs_, position_));
}

void TrainingEpoch::begin_minibatch(std::size_t position) {
  move_to(position);
  minibatch_start_ = std::chrono::steady_clock::now();
  in_minibatch_ = true;
}

void TrainingEpoch::show(std::size_t first, std::size_t end, double mean_loss) {
  const std::size_t done = units(first, end);
  all_units_ += static_cast<double>(done);
  bar_->advance(done, mean_loss);
}

std::vector<std::uint64_t> TrainingEpoch::sample_seeds(
    const std::vector<std::uint32_t>& samples) const {
  std::vector<std::uint64_t> seeds;
  for (const std::uint32_t sample : samples) {
    seeds.push_back(seed_for(Purpose::sample, seed_, epochs_, sample));
  }
  return seeds;
}

std::string TrainingEpoch::name_of_minibatch() const {
  return fmt::format("minibatch {} of epoch {}", position_ + 1, number());
}

double TrainingEpoch::seconds_of_minibatch() const {
  return detail::seconds_since(minibatch_start_);
}

std::size_t TrainingEpoch::units(std::size_t first, std::size_t end) const {
  std::size_t samples = 0;
  for (std::size_t i = first; i < end; ++i) samples += minibatches_[i].size();
  return static_cast<std::size_t>(static_cast<double>(samples) * units_per_sample_);
}

}  // namespace dynet_like::nn
