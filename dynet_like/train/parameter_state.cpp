// ParameterState: updates of all elements or of rows, and rows that catch up.
#include "dynet_like/train/parameter_state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/device/updates.h"

namespace dynet_like {

namespace {

// After so many steps all rows catch up, so that neither the steps nor the wait for a row grow.
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
      moment_bytes_((storage_.size() * size_of(storage_.dtype) + 63) / 64 * 64),
      acts_without_gradient_(rule_->acts_without_gradient()) {}

void ParameterState::prepare() {
  if (prepared_) return;
  moments_ = Block(moment_count_ * moment_bytes_, storage_.device().memory());
  storage_.device().zero(moments_.data(), moments_.size());
  prepared_ = true;
}

void ParameterState::prepare(Step step, bool exact) {
  prepare();
  if (!storage_.is_table || !leaves_behind(step, exact) || !storage_.device().is_cpu()) return;
  const std::lock_guard lock(mutex_);
  done_.resize(storage_.rows(), 0);
  make_room(rates_);
  make_room(keeps_);
}

std::byte* ParameterState::moment_data(std::size_t i, std::size_t first) const {
  return moments_.data() + i * moment_bytes_ + first * size_of(storage_.dtype);
}

Elements ParameterState::elements(std::size_t first, std::size_t count) const {
  Elements elements;
  elements.dtype = storage_.dtype;
  elements.count = count;
  elements.values = storage_.values.data() + first * size_of(storage_.dtype);
  return elements;
}

void ParameterState::check(const void* dense, const Gradients::Rows* rows) const {
  const auto refuse = [&](const std::string& place) {
    throw UsageError(fmt::format("[{}] need {}; got others in {}\"{}\"", rule_->description(),
                                 rule_->accepted_values(), place, storage_.name));
  };
  if (!rule_->is_choosy()) return;
  const auto* const values = static_cast<const std::byte*>(storage_.tensor().data());
  const auto accepts = [&](std::size_t first, std::size_t count) {
    return rule_->accepts(storage_.dtype, values + first * size_of(storage_.dtype), count);
  };
  if (dense != nullptr && !accepts(0, storage_.size())) refuse("");
  if (rows == nullptr) return;
  const std::size_t entry = storage_.entry_size();
  for (const std::uint32_t row : rows->rows) {
    if (!accepts(row * entry, entry)) refuse(fmt::format("row {} of ", row));
  }
}

void ParameterState::decay(std::size_t first, std::size_t count, std::span<const double> factors) {
  updates().scale(elements(first, count), factors);
}

void ParameterState::apply(std::size_t first, std::size_t count, const void* gradient, Step step) {
  Elements all = elements(first, count);
  all.gradient = gradient;
  for (std::size_t i = 0; i < moment_count_; ++i) all.moments[i] = moment_data(i, first);
  if (rule_->runs_on_cpu() && !storage_.device().is_cpu()) {
    apply_on_cpu(all, step);
  } else {
    rule_->apply(updates(), all, step);
  }
  if (step.keep != 1) decay(first, count, std::span(&step.keep, 1));
}

void ParameterState::apply_on_cpu(const Elements& there, Step step) {
  Device& device = storage_.device();
  const std::size_t bytes = there.count * size_of(there.dtype);
  std::vector<Block> copies;
  const auto read = [&](const void* from) -> void* {
    if (from == nullptr) return nullptr;
    copies.emplace_back(bytes);
    device.read(copies.back().data(), from, bytes);
    return copies.back().data();
  };
  Elements here = there;
  here.values = read(there.values);
  here.gradient = read(there.gradient);
  for (std::size_t i = 0; i < moment_count_; ++i) here.moments[i] = read(there.moments[i]);
  rule_->apply(cpu_updates(), here, step);
  device.write(there.values, here.values, bytes);
  for (std::size_t i = 0; i < moment_count_; ++i) {
    device.write(there.moments[i], here.moments[i], bytes);
  }
}

void ParameterState::make_up(std::size_t first, std::size_t count, const Steps& steps) {
  if (!steps.apply_rule) return decay(first, count, steps.keeps);
  const bool by_pieces = rule_->is_elementwise() && storage_.device().is_cpu();
  const std::size_t piece = by_pieces ? kZeroBytes / size_of(storage_.dtype) : count;
  const void* zeros = by_pieces ? kZeros.data() : nullptr;
  for (std::size_t i = 0; i < count; i += piece) {
    const std::size_t n = std::min(piece, count - i);
    for (std::size_t j = 0; j < steps.rates.size(); ++j) {
      apply(first + i, n, zeros, {steps.rates[j], 1, steps.keeps[j]});
    }
  }
}

void ParameterState::update_all(const void* gradient, Step step, bool exact) {
  const bool acts = exact && acts_without_gradient_;
  if (gradient != nullptr) {
    apply(0, storage_.size(), gradient, step);
  } else if (acts || step.keep != 1) {
    make_up(0, storage_.size(), {std::span(&step.rate, 1), std::span(&step.keep, 1), acts});
  } else {
    return;
  }
  storage_.values_changed();
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

// In one pass. Whoever reads rows on a device cannot wait for them: those without a gradient are
// never left behind there.
void ParameterState::update_rows_at_once(const Gradients::Rows* rows, Step step, bool apply_rule) {
  const bool all = apply_rule || step.keep != 1;
  if (!all && rows == nullptr) return;
  Elements table = elements(0, storage_.entry_size());
  for (std::size_t i = 0; i < moment_count_; ++i) table.moments[i] = moment_data(i, 0);
  table.row_count = apply_rule ? storage_.rows() : rows == nullptr ? 0 : rows->rows.size();
  if (rows != nullptr) {
    table.gradient = rows->values.data();
    if (apply_rule) {
      table.slots = rows->slot_of_row.data();
    } else {
      table.rows = rows->rows.data();
    }
  }
  if (table.row_count > 0) rule_->apply(updates(), table, step);
  if (step.keep != 1) decay(0, storage_.size(), std::span(&step.keep, 1));
  storage_.values_changed();
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

void ParameterState::update_rows(const Gradients::Rows* rows, Step step, bool exact) {
  const bool apply_rule = exact && acts_without_gradient_;
  if (!storage_.device().is_cpu()) return update_rows_at_once(rows, step, apply_rule);
  const bool leaves_behind = this->leaves_behind(step, exact);
  refresh_others();
  if (leaves_behind && storage_.refresher.get() != this) storage_.refresher = shared_from_this();
  std::lock_guard lock(mutex_);
  // The steps that rows lack are of one kind.
  if (!leaves_behind || apply_rule != apply_rule_ || rates_.size() == kMostSteps) catch_up_all();
  apply_rule_ = apply_rule;
  if (leaves_behind) {
    for (std::size_t i = 0; rows != nullptr && i < rows->rows.size(); ++i) {
      catch_up(rows->rows[i]);
      ++done_[rows->rows[i]];
    }
    rates_.push_back(step.rate);
    keeps_.push_back(step.keep);
    decay_ |= step.keep != 1;
  }
  apply_rows(rows, step);
  if (leaves_behind || rows != nullptr) ++storage_.version;
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
  const std::size_t done = done_[row];
  if (done == rates_.size()) return;
  const std::size_t entry = storage_.entry_size(), first = row * entry;
  // Rows that never had a gradient are many; nothing but a decay moves them.
  const bool moves = apply_rule_ && !is_zero(first, entry);
  if (moves || decay_) {
    make_up(first, entry,
            {std::span(rates_).subspan(done), std::span(keeps_).subspan(done), moves});
  }
  done_[row] = static_cast<std::uint32_t>(rates_.size());
}

void ParameterState::catch_up_all() {
  if (rates_.empty()) return;
  for (std::uint32_t row = 0; row < done_.size(); ++row) catch_up(row);
  rates_.clear();
  keeps_.clear();
  decay_ = false;
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
