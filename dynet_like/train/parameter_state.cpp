// ParameterState: updates all elements or only rows, and lets rows catch up.
#include "dynet_like/train/parameter_state.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dynet_like/core/make_room.h"
#include "dynet_like/device/updates.h"

namespace dynet_like::detail {

namespace {

// After so many steps all rows catch up, which bounds the memory of steps and the work to read a
// row.
constexpr std::size_t kMostSteps = 4096;

// Zeros, with which is_zero compares moments piece by piece.
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
  for (std::size_t i = 0; i < moment_count_; ++i) elements.moments[i] = moment_data(i, first);
  return elements;
}

void ParameterState::apply(std::size_t first, std::size_t count, const void* gradient, Step step) {
  Elements some = elements(first, count);
  some.gradient = gradient;
  rule_->apply(updates(), std::span(&some, 1), step);
}

void ParameterState::make_up(std::size_t first, std::size_t count, const Steps& steps) {
  if (!steps.apply_rule) return updates().scale(elements(first, count), steps.keeps);
  for (std::size_t j = 0; j < steps.rates.size(); ++j) {
    apply(first, count, nullptr, {steps.rates[j], 1, steps.keeps[j]});
  }
}

std::optional<Elements> ParameterState::all_elements(const void* gradient, Step step) const {
  if (gradient == nullptr && !acts_without_gradient_ && step.keep == 1) return {};
  Elements all = elements(0, storage_.size());
  all.gradient = gradient;
  all.only_kept = !acts_without_gradient_;
  return all;
}

std::optional<Elements> ParameterState::row_elements(const Gradients::Rows* rows, Step step,
                                                     bool exact) const {
  const bool acts = exact && acts_without_gradient_, all = acts || step.keep != 1;
  if (rows == nullptr && !all) return {};
  Elements table = elements(0, storage_.entry_size());
  table.row_count = all ? storage_.rows() : rows->rows.size();
  table.only_kept = !acts;
  if (rows == nullptr) return table;
  table.gradient = rows->values.data();
  (all ? table.slots : table.rows) = all ? rows->slot_of_row.data() : rows->rows.data();
  return table;
}

void ParameterState::apply_rows(const Gradients::Rows* rows, Step step) {
  if (rows == nullptr || rows->rows.empty()) return;
  Elements table = elements(0, storage_.entry_size());
  table.gradient = rows->values.data();
  table.row_count = rows->rows.size();
  table.rows = rows->rows.data();
  rule_->apply(updates(), std::span(&table, 1), step);
}

// Another trainer may have left rows of the same table behind: makes its steps first.
void ParameterState::refresh_others() {
  RowRefresher* refresher = storage_.refresher.get();
  if (refresher != nullptr && refresher != this) refresher->refresh_all();
}

void ParameterState::update_rows(const Gradients::Rows* rows, Step step, bool exact) {
  const bool apply_rule = exact && acts_without_gradient_;
  const bool leaves_behind = this->leaves_behind(step, exact);
  refresh_others();
  if (leaves_behind && storage_.refresher.get() != this) storage_.refresher = shared_from_this();
  std::lock_guard lock(mutex_);
  // All steps that rows lack must be of one kind.
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
  if (leaves_behind || rows != nullptr) storage_.values.count_change();
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
  // Most rows never had a gradient; only weight decay moves those.
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

}  // namespace dynet_like::detail
