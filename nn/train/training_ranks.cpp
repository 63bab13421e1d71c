// TrainingRanks: exchanges everything between ranks except gradients.
#include "nn/train/training_ranks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/alike.h"
#include "nn/evaluate/shared_results.h"
#include "nn/train/fingerprint.h"
#include "nn/train/timed_minibatches.h"

namespace dynet_like::nn {

namespace {

constexpr const char* kAlike = "[TrainingRun] need the same program, data and options";

std::uint64_t digest_of_settings(const Trainer& trainer) {
  Fingerprint settings;
  for (const auto& [name, value] : trainer.settings()) {
    settings.add_words(std::as_bytes(std::span(value)));
  }
  return settings.value();
}

using Bytes = Communicator::Bytes;

/// A number that no gradients begin with.
constexpr std::uint64_t kWord = 0xd3c0'd1a1'09e5'a11d;

Bytes to_bytes(const RankWord& word) {
  Bytes bytes;
  append_result(bytes, kWord);
  append_bytes(bytes, static_cast<const RankNumbers*>(&word), sizeof(RankNumbers));
  append_result(bytes, word.shard_losses);
  append_result(bytes, word.failure);
  return bytes;
}

RankWord from_bytes(std::span<const std::byte> bytes, const std::string& rank) {
  std::uint64_t kind = 0;
  read_result(bytes, kind);
  if (kind != kWord) {
    throw UsageError(
        fmt::format("[TrainingRun] need all ranks at the same place; got gradients of "
                    "{}: what ranks do must not depend on the rank",
                    rank));
  }
  RankWord word;
  RankNumbers& numbers = word;
  if (bytes.size() < sizeof(numbers)) {
    throw RankError("[TrainingRun] need a whole word of " + rank + "; got a part of one");
  }
  std::memcpy(&numbers, bytes.data(), sizeof(numbers));
  bytes = bytes.subspan(sizeof(numbers));
  read_result(bytes, word.shard_losses);
  read_result(bytes, word.failure);
  return word;
}

void check_place(const RankWord& word, const RankWord& first, const std::string& name) {
  const auto check = [&](const char* what, std::uint64_t got, std::uint64_t need) {
    if (got == need) return;
    throw UsageError(
        fmt::format("[TrainingRun] need all ranks at the same place; got {} {} on rank 0 "
                    "and {} on {}: what ranks do must not depend on the rank",
                    what, need, got, name));
  };
  check("epoch", word.epoch, first.epoch);
  check("minibatch", word.minibatch, first.minibatch);
  check("minibatches and sizes with the fingerprint", word.order, first.order);
  check("a position of random()", word.random, first.random);
}

/// Throws UsageError if ranks are at different positions, and RankError if another rank has failed
/// and this one has not.
AllWords exchange(Communicator& ranks, const RankWord& mine) {
  std::vector<Bytes> all;
  ranks.all_gather(to_bytes(mine), all);
  std::vector<RankWord> words;
  for (unsigned r = 0; r < ranks.size(); ++r) words.push_back(from_bytes(all[r], ranks.name(r)));
  AllWords result;
  bool any_fails = false;
  for (unsigned r = 0; r < ranks.size(); ++r) {
    const RankWord& word = words[r];
    if (!word.failure.empty() && mine.failure.empty()) {
      throw RankError(fmt::format("[TrainingRun] need all ranks; {} has failed: {}", ranks.name(r),
                                  word.failure));
    }
    if (mine.failure.empty()) check_place(word, words[0], ranks.name(r));
    for (const double loss : word.shard_losses) result.loss += loss;
    result.losses += word.losses;
    result.terms += word.terms;
    result.same_trainer &= word.trainer == words[0].trainer;
    result.same_parameters &= word.parameters == words[0].parameters;
    any_fails |= !word.failure.empty();
    result.any_stops |= word.stops != 0;
    result.mean_busy_seconds += word.busy_seconds / ranks.size();
    result.most_busy_seconds = std::max(result.most_busy_seconds, word.busy_seconds);
  }
  // A rank that has failed does not compare.
  if (any_fails) result.same_trainer = result.same_parameters = true;
  return result;
}

}  // namespace

TrainingRanks::TrainingRanks(const TrainingOptions& options, Trainer& trainer)
    : options_(options),
      trainer_(trainer),
      ranks_(options.ranks.communicator ? options.ranks.communicator : single_process()) {}

TrainingRanks::~TrainingRanks() { ranks_->give_up_when({}); }

void TrainingRanks::watch_signals() {
  if (!options_.stopping.watch_interrupts || watch_) return;
  watch_.emplace();
  ranks_->give_up_when([this] { return wants_to_stop(); });
}

void TrainingRanks::end_watch() {
  stopped_ = all_stop();
  ranks_->give_up_when({});
  watch_.reset();
}

void TrainingRanks::together(const std::function<void()>& work) {
  const TimedEvent event(size() > 1 ? options_.report.timeline : nullptr, "ranks");
  work();
}

void TrainingRanks::check_alike(const Metadata& mine) {
  if (size() > 1) detail::check_alike(*ranks_, kAlike, mine, trainer_, trainer_.parameters());
}

RankNumbers TrainingRanks::numbers(const TrainingState& run) const {
  RankNumbers numbers;
  numbers.epoch = run.progress.epochs + 1;
  numbers.minibatch = run.epoch.in_minibatch() ? run.epoch.position() + 1 : 0;
  numbers.order = run.progress.order;
  numbers.random = run.epoch.random().position();
  numbers.stops = wants_to_stop();
  return numbers;
}

// Parameters are compared often enough to find differences soon, and seldom enough to cost almost
// no time. Relaxed ranks have the same parameters only at the end of an epoch.
AllWords TrainingRanks::agree(RankWord mine, std::uint64_t updates, bool compares_parameters) {
  const ParameterCollection& model = trainer_.parameters();
  if (size() > 1) {
    mine.trainer = digest_of_settings(trainer_);
    const bool is_due =
        !options_.ranks.is_relaxed() && std::has_single_bit(updates) && updates != compared_;
    if (compares_parameters || is_due) {
      compared_ = updates;
      mine.parameters = detail::digest_of(model);
    }
  }
  AllWords all;
  together([&] {
    all = exchange(*ranks_, mine);
    // A second exchange, to find out what differs.
    Metadata what;
    if (!all.same_trainer) detail::describe_settings(trainer_, what);
    if (!all.same_parameters) detail::describe(model, what);
    if (!what.empty()) detail::check_alike(*ranks_, kAlike, what);
  });
  all_stop_ |= all.any_stops;
  has_agreed_ = mine.failure.empty();  // otherwise the others have thrown
  return all;
}

// A rank that has agreed in an update need not agree again before the next minibatch.
bool TrainingRanks::agree_to_stop(const TrainingState& run) {
  if (size() > 1 && !has_agreed_) agree({numbers(run), {}, {}}, run.progress.updates);
  has_agreed_ = false;
  return all_stop();
}

// Compares the parameters that the next epoch begins with: equal moving averages do not imply equal
// parameters.
void TrainingRanks::check_same_parameters(const TrainingState& run) {
  if (size() == 1) return;
  agree({numbers(run), {}, {}}, run.progress.updates, true);
  has_agreed_ = false;  // ranks agree again on whether to stop
}

void TrainingRanks::check_same_score(std::optional<double> score) {
  if (size() == 1) return;
  const std::string mine = score ? fmt::to_string(*score) : "none";
  std::vector<std::string> all;
  together([&] { all = gather_texts(*ranks_, mine); });
  for (unsigned r = 1; r < size(); ++r) {
    if (all[r] == all[0]) continue;
    throw UsageError(fmt::format(
        "[TrainingRun] need the same dev score on all ranks; got {} on rank 0 and {} on {}", all[0],
        all[r], ranks_->name(r)));
  }
}

void TrainingRanks::broadcast_parameters() {
  together([&] {
    for (const auto& storage : trainer_.parameters().storages()) {
      storage->refresh_rows();
      auto* const values = static_cast<std::byte*>(storage->tensor().data());
      Bytes bytes(values, values + storage->size() * size_of(storage->dtype));
      broadcast(*ranks_, bytes);
      if (is_writer()) continue;
      std::copy(bytes.begin(), bytes.end(), values);
      storage->values_written();
    }
  });
}

}  // namespace dynet_like::nn
