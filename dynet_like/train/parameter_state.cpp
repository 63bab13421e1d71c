// ParameterState: updates of all elements or of rows, and rows that catch up.
#include "dynet_like/train/parameter_state.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace dynet_like {

namespace {

// After so many steps all rows catch up, so that neither the rates nor the wait for a row grow.
constexpr std::size_t kMostSteps = 4096;

// A gradient of zeros, read piece by piece.
constexpr std::size_t kZeroBytes = 2048;
alignas(64) constexpr std::array<std::byte, kZeroBytes> kZeros = {};

}  // namespace

ParameterState::ParameterState(std::shared_ptr<const UpdateRule> rule,
                               std::shared_ptr<ParameterStorage> storage)
    : rule_(std::move(rule)),
      storage_(*storage),
      moment_count_(rule_->moments().size()),
      moment_bytes_((storage_.size() * size_of(storage_.dtype) + 63) / 64 * 64) {}

void ParameterState::prepare() {
  if (prepared_) return;
  moments_ = Block(moment_count_ * moment_bytes_);
  if (moment_count_ > 0) std::memset(moments_.data(), 0, moments_.size());
  prepared_ = true;
}

std::byte* ParameterState::moment_data(std::size_t i, std::size_t first) const {
  return moments_.data() + i * moment_bytes_ + first * size_of(storage_.dtype);
}

Tensor ParameterState::moment(std::size_t i) const {
  return Tensor(storage_.dim, storage_.dtype, moment_data(i, 0));
}

void ParameterState::apply(std::size_t first, std::size_t count, const void* gradient, Step step) {
  Elements elements;
  elements.dtype = storage_.dtype;
  elements.count = count;
  elements.values = storage_.values.data() + first * size_of(storage_.dtype);
  elements.gradient = gradient;
  for (std::size_t i = 0; i < moment_count_; ++i) elements.moments[i] = moment_data(i, first);
  rule_->apply(elements, step);
}

void ParameterState::apply_zeros(std::size_t first, std::size_t count,
                                 std::span<const double> rates) {
  const std::size_t piece = kZeroBytes / size_of(storage_.dtype);
  for (std::size_t i = 0; i < count; i += piece) {
    const std::size_t n = std::min(piece, count - i);
    for (const double rate : rates) apply(first + i, n, kZeros.data(), {rate, 1.0});
  }
}

void ParameterState::update_all(const void* gradient, Step step) {
  if (gradient != nullptr) {
    apply(0, storage_.size(), gradient, step);
  } else {
    apply_zeros(0, storage_.size(), std::span(&step.rate, 1));
  }
  ++storage_.version;
}

// Rows are random accesses to memory.
void ParameterState::prefetch(std::uint32_t row) const {
  const std::size_t bytes = storage_.entry_size() * size_of(storage_.dtype);
  const auto fetch = [&](const std::byte* entry) {
    for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(entry + at, 1);
  };
  fetch(storage_.values.data() + row * bytes);
  for (std::size_t i = 0; i < moment_count_; ++i)
    fetch(moment_data(i, row * storage_.entry_size()));
}

void ParameterState::apply_rows(const Gradients::Rows* rows, Step step) {
  if (rows == nullptr) return;
  constexpr std::size_t kAhead = 4;
  const std::size_t entry = storage_.entry_size(), count = rows->rows.size();
  const std::byte* gradient = rows->values.data();
  for (std::size_t i = 0; i < count; ++i, gradient += entry * size_of(storage_.dtype)) {
    if (i + kAhead < count) prefetch(rows->rows[i + kAhead]);
    apply(rows->rows[i] * entry, entry, gradient, step);
  }
}

// Another trainer may have left rows of the same table behind: its steps come first.
void ParameterState::refresh_others() {
  RowRefresher* refresher = storage_.refresher.get();
  if (refresher != nullptr && refresher != this) refresher->refresh_all();
}

void ParameterState::update_rows(const Gradients::Rows* rows, Step step) {
  refresh_others();
  std::lock_guard lock(mutex_);
  catch_up_all();
  apply_rows(rows, step);
  if (rows != nullptr) ++storage_.version;
}

void ParameterState::update_rows_exactly(const Gradients::Rows* rows, Step step) {
  if (moment_count_ == 0) return update_rows(rows, step);  // a zero gradient changes nothing
  refresh_others();
  if (storage_.refresher.get() != this) storage_.refresher = shared_from_this();
  std::lock_guard lock(mutex_);
  if (rates_.size() == kMostSteps) catch_up_all();
  done_.resize(storage_.rows(), 0);
  if (rows != nullptr) {
    for (const std::uint32_t row : rows->rows) catch_up(row);
    for (const std::uint32_t row : rows->rows) ++done_[row];
  }
  apply_rows(rows, step);
  rates_.push_back(step.rate);
  ++storage_.version;
}

bool ParameterState::is_zero(std::size_t first, std::size_t count) const {
  const std::size_t bytes = count * size_of(storage_.dtype);
  for (std::size_t i = 0; i < moment_count_; ++i) {
    const std::byte* moment = moment_data(i, first);
    for (std::size_t at = 0; at < bytes; at += kZeroBytes) {
      if (std::memcmp(moment + at, kZeros.data(), std::min(kZeroBytes, bytes - at)) != 0) {
        return false;
      }
    }
  }
  return true;
}

void ParameterState::catch_up(std::uint32_t row) {
  if (done_[row] == rates_.size()) return;
  const std::size_t entry = storage_.entry_size(), first = row * entry;
  // Rows that never had a gradient are many; nothing moves them.
  if (!is_zero(first, entry)) {
    apply_zeros(first, entry, std::span(rates_).subspan(done_[row]));
  }
  done_[row] = static_cast<std::uint32_t>(rates_.size());
}

void ParameterState::catch_up_all() {
  if (rates_.empty()) return;
  for (std::uint32_t row = 0; row < done_.size(); ++row) catch_up(row);
  rates_.clear();
  std::fill(done_.begin(), done_.end(), 0);
}

void ParameterState::refresh(std::span<const std::uint32_t> rows) {
  std::lock_guard lock(mutex_);
  if (rates_.empty()) return;
  for (const std::uint32_t row : rows) catch_up(row);
}

void ParameterState::refresh_all() {
  std::lock_guard lock(mutex_);
  catch_up_all();
}

void ParameterState::forget() {
  refresh_all();
  moments_ = Block();
  prepared_ = false;
}

void ParameterState::detach() {
  refresh_all();
  if (storage_.refresher.get() == this) storage_.refresher.reset();
}

}  // namespace dynet_like
