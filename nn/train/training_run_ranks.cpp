// TrainingRun: what several ranks do together.
#include <algorithm>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/instruction_set.h"
#include "nn/train/training_run.h"

namespace dynet_like::nn {

namespace {

/// FNV-1a (Fowler, Noll and Vo), of eight bytes at a time.
class Fingerprint {
 public:
  void add(std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
      value_ = (value_ ^ word) * 0x100000001b3;
      value_ ^= value_ >> 29;
    }
  }
  void add(const std::string& text) { add(std::as_bytes(std::span(text))); }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

std::span<std::byte> values_of(const ParameterStorage& storage) {
  return {static_cast<std::byte*>(storage.tensor().data()),
          storage.size() * size_of(storage.dtype)};
}

std::string fingerprint_of(const ParameterCollection& model) {
  Fingerprint fingerprint;
  for (const auto& storage : model.storages()) {
    storage->refresh_rows();
    fingerprint.add(storage->name + ' ' + to_string(storage->dim));
    fingerprint.add(values_of(*storage));
  }
  return fingerprint.text();
}

/// Of the file that this process runs; "unknown" where the system does not show it.
std::string fingerprint_of_program() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.empty()) return "unknown";
  Fingerprint fingerprint;
  fingerprint.add(bytes);
  return fingerprint.text();
}

}  // namespace

// What was lost with a rank is what came after the last update.
void TrainingRun::with_ranks(const std::function<void()>& work) {
  try {
    work();
  } catch (const RankError& error) {
    std::string what = error.what();
    put_weights_back();
    drop_pending();
    if (!checkpoint_.empty() && is_writer()) {
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
  mine["program"] = fingerprint_of_program();
  mine["instruction set"] = instruction_set();
  mine["names, shapes and values of parameters"] = fingerprint_of(model_);
  mine["epochs to train"] = fmt::to_string(options_.epochs);
  mine["patience"] = fmt::to_string(options_.patience);
  mine["updates so far"] = fmt::to_string(progress_.updates);
  nn::check_alike(*ranks_, mine);
}

RankWord TrainingRun::word() const {
  RankWord word;
  word.epoch = progress_.epochs + 1;
  word.minibatch = in_minibatch_ ? position_ + 1 : 0;
  word.order = progress_.order;
  word.random = random_.position();
  word.stops = wants_to_stop();
  return word;
}

AllWords TrainingRun::agree(const RankWord& mine) {
  AllWords all;
  with_ranks([&] { all = exchange(*ranks_, mine); });
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
  RankWord mine;
  std::exception_ptr failure;
  try {
    finite_loss(batch);
    mine.shard_losses = shared_->backward(batch);
  } catch (const std::exception& error) {
    failure = std::current_exception();
    mine.failure = error.what();
  }
  try {
    const RankWord place = word();
    mine.epoch = place.epoch;
    mine.minibatch = place.minibatch;
    mine.order = place.order;
    mine.random = place.random;
    mine.stops = place.stops;
    mine.losses = losses;
    const AllWords all = agree(mine);
    if (failure) {
      has_agreed_ = false;  // as the others, which threw
      std::rethrow_exception(failure);
    }
    add_pending(all.loss, all.losses);
    if (update_is_due()) make_due_update();
    return static_cast<float>(all.loss);
  } catch (...) {
    drop_pending();
    throw;
  }
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
