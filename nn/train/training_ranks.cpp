// TrainingRanks: exchanges everything between ranks except gradients.
#include "nn/train/training_ranks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/alike.h"
#include "nn/train/fingerprint.h"
#include "nn/train/run_settings.h"

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

/// The beginning of all words; losses and failure follow.
struct Fixed {
  std::uint64_t is_word = kWord, shards = 0, has_failed = 0;
  RankNumbers numbers = {};
};

Bytes to_bytes(const RankWord& word) {
  Fixed fixed;
  fixed.shards = word.shard_losses.size();
  fixed.has_failed = word.failure.empty() ? 0 : 1;
  fixed.numbers = word;
  Bytes bytes;
  append_bytes(bytes, &fixed, sizeof(fixed));
  append_bytes(bytes, word.shard_losses.data(), word.shard_losses.size() * sizeof(double));
  append_bytes(bytes, word.failure.data(), word.failure.size());
  return bytes;
}

RankWord from_bytes(const Bytes& bytes, const std::string& rank) {
  Fixed fixed;
  const auto need = [&](std::size_t size) {
    if (bytes.size() >= size) return;
    throw RankError(fmt::format("[TrainingRun] need a word of {} or more from {}; got {}",
                                detail::counted(size, "byte"), rank, bytes.size()));
  };
  need(sizeof(fixed));
  std::memcpy(&fixed, bytes.data(), sizeof(fixed));
  if (fixed.is_word != kWord) {
    throw UsageError(
        fmt::format("[TrainingRun] need all ranks at the same place; got gradients of "
                    "{}: what ranks do must not depend on the rank",
                    rank));
  }
  if (fixed.shards > bytes.size()) need(fixed.shards);
  const std::size_t text = sizeof(fixed) + fixed.shards * sizeof(double);
  need(text);
  RankWord word = {fixed.numbers, std::vector<double>(fixed.shards), ""};
  std::copy(bytes.begin() + sizeof(fixed), bytes.begin() + static_cast<std::ptrdiff_t>(text),
            reinterpret_cast<std::byte*>(word.shard_losses.data()));
  word.failure.assign(reinterpret_cast<const char*>(bytes.data()) + text, bytes.size() - text);
  if (fixed.has_failed != 0 && word.failure.empty()) word.failure = "an exception";
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

TrainingRanks::TrainingRanks(TrainingState& run, const TrainingEpoch& epoch,
                             std::function<std::string()> rescue)
    : run_(run), epoch_(epoch), rescue_(std::move(rescue)) {}

TrainingRanks::~TrainingRanks() { run_.ranks->give_up_when({}); }

void TrainingRanks::watch_signals() {
  if (!run_.options.watch_interrupts || watch_) return;
  watch_.emplace();
  run_.ranks->give_up_when([this] { return wants_to_stop(); });
}

void TrainingRanks::end_watch() {
  stopped_ = all_stop();
  run_.ranks->give_up_when({});
  watch_.reset();
}

void TrainingRanks::together(const std::function<void()>& work) {
  std::optional<Timeline::Scope> scope;
  if (run_.ranks->size() > 1) run_.timed.open(scope, "ranks");
  try {
    work();
  } catch (const RankError& error) {
    const std::string what = error.what();
    throw RankError(what + rescue_());
  }
}

void TrainingRanks::check_alike() {
  if (run_.ranks->size() == 1) return;
  Metadata mine = run_.settings;
  for (const Metadata& more : {run_.conditions, conduct_of(run_)}) {
    mine.insert(more.begin(), more.end());
  }
  detail::check_alike(*run_.ranks, kAlike, mine, run_.trainer, run_.model);
}

RankWord TrainingRanks::word() const {
  RankWord word;
  word.epoch = run_.progress.epochs + 1;
  word.minibatch = epoch_.in_minibatch() ? epoch_.position() + 1 : 0;
  word.order = run_.progress.order;
  word.random = epoch_.random().position();
  word.stops = wants_to_stop();
  return word;
}

// Parameters are compared often enough to find differences soon, and seldom enough to cost almost
// no time. Relaxed ranks have the same parameters only at the end of an epoch.
AllWords TrainingRanks::agree(RankWord mine, bool compares_parameters) {
  if (run_.ranks->size() > 1) {
    mine.trainer = digest_of_settings(run_.trainer);
    const std::uint64_t updates = run_.progress.updates;
    const bool is_due = !run_.is_relaxed() && std::has_single_bit(updates) && updates != compared_;
    if (compares_parameters || is_due) {
      compared_ = updates;
      mine.parameters = detail::digest_of(run_.model);
    }
  }
  AllWords all;
  together([&] {
    all = exchange(*run_.ranks, mine);
    // A second exchange, to find out what differs.
    Metadata what;
    if (!all.same_trainer) detail::describe_settings(run_.trainer, what);
    if (!all.same_parameters) detail::describe(run_.model, what);
    if (!what.empty()) detail::check_alike(*run_.ranks, kAlike, what);
  });
  all_stop_ |= all.any_stops;
  has_agreed_ = mine.failure.empty();  // otherwise the others have thrown
  return all;
}

// A rank that has agreed in an update need not agree again before the next minibatch.
bool TrainingRanks::agree_to_stop() {
  if (run_.ranks->size() > 1 && !has_agreed_) agree(word());
  has_agreed_ = false;
  return all_stop();
}

// Compares the parameters that the next epoch begins with: equal moving averages do not imply equal
// parameters.
void TrainingRanks::check_same_parameters() {
  if (run_.ranks->size() == 1) return;
  agree(word(), true);
  has_agreed_ = false;  // ranks agree again on whether to stop
}

void TrainingRanks::check_same_score(std::optional<double> score) {
  if (run_.ranks->size() == 1) return;
  const std::string mine = score ? fmt::to_string(*score) : "none";
  std::vector<std::string> all;
  together([&] { all = gather_texts(*run_.ranks, mine); });
  for (unsigned r = 1; r < run_.ranks->size(); ++r) {
    if (all[r] == all[0]) continue;
    throw UsageError(fmt::format(
        "[TrainingRun] need the same dev score on all ranks; got {} on rank 0 and {} on {}", all[0],
        all[r], run_.ranks->name(r)));
  }
}

void TrainingRanks::broadcast_parameters() {
  together([&] {
    for (const auto& storage : run_.model.storages()) {
      storage->refresh_rows();
      auto* const values = static_cast<std::byte*>(storage->tensor().data());
      Bytes bytes(values, values + storage->size() * size_of(storage->dtype));
      broadcast(*run_.ranks, bytes);
      if (run_.is_writer()) continue;
      std::copy(bytes.begin(), bytes.end(), values);
      storage->values_written();
    }
  });
}

}  // namespace dynet_like::nn
