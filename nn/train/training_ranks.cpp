// TrainingRanks: what ranks tell each other beside gradients.
#include "nn/train/training_ranks.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/alike.h"
#include "nn/train/fingerprint.h"

namespace dynet_like::nn {

namespace {

constexpr const char* kAlike = "[TrainingRun] need the same program, data and options";

/// Of the files that this process runs, the program and the library's; "unknown" where the system
/// does not show them.
std::string fingerprint_of_program() {
  std::set<std::string> libraries;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos || line.find("/libdynet_like") == std::string::npos) continue;
    libraries.insert(line.substr(path));
  }
  std::vector<std::string> files = {"/proc/self/exe"};
  files.insert(files.end(), libraries.begin(), libraries.end());
  try {
    return fingerprint_of(files);
  } catch (const FileError&) {
    return "unknown";
  }
}

std::uint64_t digest_of_settings(const Trainer& trainer) {
  Fingerprint settings;
  for (const auto& [name, value] : trainer.settings()) {
    settings.add_words(std::as_bytes(std::span(value)));
  }
  return settings.value();
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
  const TrainingOptions& options = run_.options;
  const Relaxation relaxation =
      run_.is_relaxed() ? *options.relaxation : Relaxation{.staleness = 0};
  Metadata mine = run_.settings;
  static const std::string program = fingerprint_of_program();  // megabytes are read once
  mine["program"] = program;
  mine["device"] = run_.model.device()->is_cpu() ? "the CPU" : "a GPU";
  mine["not finite"] = options.not_finite == NotFinite::skip ? "skip" : "fail";
  mine["epochs to train"] = fmt::to_string(options.epochs);
  mine["patience"] = fmt::to_string(options.patience);
  mine["staleness"] = fmt::to_string(relaxation.staleness);
  mine["backup ranks"] = fmt::to_string(relaxation.backup_ranks);
  mine["updates so far"] = fmt::to_string(run_.progress.updates);
  detail::check_alike(*run_.ranks, kAlike, mine, run_.trainer, run_.model);
}

RankWord TrainingRanks::word() const {
  RankWord word = epoch_.place();
  word.stops = wants_to_stop();
  return word;
}

// Parameters are compared so often that differences are found soon, and so seldom that it takes no
// time. Ranks that do not wait for each other have the same ones at the end of an epoch.
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
    // Once more, for what differs.
    Metadata what;
    if (!all.same_trainer) detail::describe_settings(run_.trainer, what);
    if (!all.same_parameters) detail::describe(run_.model, what);
    if (!what.empty()) detail::check_alike(*run_.ranks, kAlike, what);
  });
  all_stop_ |= all.any_stops;
  has_agreed_ = mine.failure.empty();  // else the others have thrown
  return all;
}

// Who has agreed with an update need not do so again before the next minibatch.
bool TrainingRanks::agree_to_stop() {
  if (run_.ranks->size() > 1 && !has_agreed_) agree(word());
  has_agreed_ = false;
  return all_stop();
}

// Of what the next epoch begins with: moving averages may be the same where parameters are not.
void TrainingRanks::check_same_parameters() {
  if (run_.ranks->size() == 1) return;
  agree(word(), true);
  has_agreed_ = false;  // on whether to stop, ranks agree again
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
      Communicator::Bytes bytes(values, values + storage->size() * size_of(storage->dtype));
      broadcast(*run_.ranks, bytes);
      if (run_.is_writer()) continue;
      std::copy(bytes.begin(), bytes.end(), values);
      storage->values_written();
    }
  });
}

}  // namespace dynet_like::nn
