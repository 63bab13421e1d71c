// TrainingRun: what several ranks do together.
#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <fstream>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/alike.h"
#include "nn/train/fingerprint.h"
#include "nn/train/training_run.h"

namespace dynet_like::nn {

namespace {

constexpr const char* kAlike = "[TrainingRun] need the same program, data and options";

std::span<std::byte> values_of(const ParameterStorage& storage) {
  return {static_cast<std::byte*>(storage.tensor().data()),
          storage.size() * size_of(storage.dtype)};
}

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

}  // namespace

// What was lost with a rank is what came after the last update.
void TrainingRun::with_ranks(const std::function<void()>& work) {
  std::optional<Timeline::Scope> scope;
  if (ranks_->size() > 1) timed_.open(scope, "ranks");
  try {
    work();
  } catch (const RankError& error) {
    std::string what = error.what();
    put_weights_back();
    drop_pending();
    if (server_ && !checkpoint_.empty()) {
      what += fmt::format("; go on from the last epoch, in {}", checkpoint_.string());
    } else if (!checkpoint_.empty() && is_writer()) {
      save();
      what += fmt::format(
          "; the last update is saved in {}: go on from there, with fewer ranks if "
          "need be",
          checkpoint_.string());
    }
    throw RankError(what);
  }
}

void TrainingRun::begin_sharing() {
  if (is_shared()) shared_.emplace(ranks_, model_, options_.shards);
  check_alike();
}

void TrainingRun::check_alike() {
  if (ranks_->size() == 1) return;
  Metadata mine = all_settings();
  static const std::string program = fingerprint_of_program();  // megabytes are read once
  mine["program"] = program;
  mine["device"] = model_.device()->is_cpu() ? "the CPU" : "a GPU";
  mine["not finite"] = options_.not_finite == NotFinite::skip ? "skip" : "fail";
  mine["epochs to train"] = fmt::to_string(options_.epochs);
  mine["patience"] = fmt::to_string(options_.patience);
  mine["staleness"] = fmt::to_string(is_relaxed() ? options_.relaxation->staleness : 0);
  mine["backup ranks"] = fmt::to_string(is_relaxed() ? options_.relaxation->backup_ranks : 0);
  mine["updates so far"] = fmt::to_string(progress_.updates);
  detail::check_alike(*ranks_, kAlike, mine, trainer_, model_);
}

// So often that differences are found soon, and so seldom that it takes no time. Ranks that do not
// wait for each other have the same ones at the end of an epoch.
bool TrainingRun::comparison_is_due() const {
  return !is_relaxed() && std::has_single_bit(progress_.updates) && progress_.updates != compared_;
}

RankWord TrainingRun::word() const {
  RankWord word;
  word.epoch = progress_.epochs + 1;
  word.minibatch = in_minibatch_ ? position_ + 1 : 0;
  word.order = progress_.order;
  word.sizes = costs_digest_;
  word.random = random_.position();
  word.stops = wants_to_stop();
  return word;
}

AllWords TrainingRun::agree(RankWord mine, bool compares_parameters) {
  if (ranks_->size() > 1) {
    Fingerprint settings;
    for (const auto& [name, value] : trainer_.settings()) {
      settings.add_words(std::as_bytes(std::span(value)));
    }
    mine.trainer = settings.value();
    if (compares_parameters || comparison_is_due()) {
      compared_ = progress_.updates;
      mine.parameters = detail::digest_of(model_);
    }
  }
  AllWords all;
  with_ranks([&] {
    all = exchange(*ranks_, mine);
    // Once more, for what differs.
    Metadata what;
    if (!all.same_trainer) detail::describe_settings(trainer_, what);
    if (!all.same_parameters) detail::describe(model_, what);
    if (!what.empty()) detail::check_alike(*ranks_, kAlike, what);
  });
  all_stop_ |= all.any_stops;
  has_agreed_ = true;
  return all;
}

// Who has agreed with an update need not do so again before the next minibatch.
bool TrainingRun::agree_to_stop() {
  if (ranks_->size() > 1 && !has_agreed_) agree(word());
  has_agreed_ = false;
  return interrupted();
}

float TrainingRun::update_shared(Minibatch& batch, std::size_t losses) {
  std::vector<double> shard_losses;
  const bool is_due = update_is_due();
  std::exception_ptr failure;
  std::string what;
  try {
    finite_loss(batch);
    shard_losses = shared_->backward(batch, is_due);
  } catch (const std::exception& error) {
    failure = std::current_exception();
    what = error.what();
  }
  try {
    RankWord mine = word();
    mine.losses = losses;
    mine.terms = batch.trained_losses();
    mine.shard_losses = std::move(shard_losses);
    mine.failure = std::move(what);
    const std::chrono::duration<double> busy = std::chrono::steady_clock::now() - minibatch_start_;
    mine.busy_seconds = busy.count();
    if (is_due) {
      with_ranks([&] {
        if (failure) shared_->send_nothing();
        shared_->receive();
      });
    }
    const AllWords all = agree(mine);
    rank_times_.mean_busy += all.mean_busy_seconds;
    rank_times_.most_busy += all.most_busy_seconds;
    if (failure) {
      has_agreed_ = false;  // as the others, which threw
      std::rethrow_exception(failure);
    }
    check_losses(all.terms);
    add_pending(all.loss, all.losses);
    if (update_is_due()) make_due_update();
    return static_cast<float>(all.loss);
  } catch (...) {
    drop_pending();
    throw;
  }
}

// Of what the next epoch begins with: moving averages may be the same where parameters are not.
void TrainingRun::check_same_parameters() {
  if (ranks_->size() == 1) return;
  put_weights_back();  // if that failed before
  agree(word(), true);
  has_agreed_ = false;  // on whether to stop, ranks agree again
}

void TrainingRun::check_same_score(std::optional<double> score) {
  if (ranks_->size() == 1) return;
  const std::string mine = score ? fmt::to_string(*score) : "none";
  std::vector<std::string> all;
  with_ranks([&] { all = gather_texts(*ranks_, mine); });
  for (unsigned r = 1; r < ranks_->size(); ++r) {
    if (all[r] == all[0]) continue;
    throw UsageError(fmt::format(
        "[TrainingRun] need the same dev score on all ranks; got {} on rank 0 and {} on {}", all[0],
        all[r], ranks_->name(r)));
  }
}

// Of the minibatches of an epoch, on this rank. Imbalance is what would be gained if all ranks took
// equally long for what they compute.
std::string TrainingRun::shares_of_time() const {
  if (is_relaxed()) return relaxed_shares_of_time();
  const auto& [before, after, seconds, mean_busy, most_busy] = rank_times_;
  if (ranks_->size() == 1 || seconds <= 0 || most_busy <= 0) return "";
  return fmt::format(", communication {:.1f} %, waiting {:.1f} %, imbalance {:.1f} %",
                     100 * (after.transfer - before.transfer) / seconds,
                     100 * (after.waiting - before.waiting) / seconds,
                     100 * (most_busy - mean_busy) / seconds);
}

void TrainingRun::broadcast_values() {
  for (const auto& storage : model_.storages()) {
    storage->refresh_rows();
    const std::span<std::byte> values = values_of(*storage);
    Communicator::Bytes bytes(values.begin(), values.end());
    broadcast(*ranks_, bytes);
    if (is_writer()) continue;
    std::copy(bytes.begin(), bytes.end(), values.begin());
    storage->values_written();
  }
}

}  // namespace dynet_like::nn
