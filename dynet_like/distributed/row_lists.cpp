// RowList: indices of rows, then their values.
#include "dynet_like/distributed/row_lists.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

namespace dynet_like::detail {

namespace {

std::size_t bytes_of_entry(const ParameterStorage& table) {
  return table.entry_size() * size_of(table.dtype);
}

}  // namespace

RowList::RowList(const ParameterStorage& table, const Gradients::Rows* rows)
    : entry_bytes_(bytes_of_entry(table)) {
  if (rows == nullptr) return;
  rows_ = rows->rows;
  values_.resize(rows_.size() * entry_bytes_);
  table.device().read(values_.data(), rows->values.data(), values_.size());
}

RowList::RowList(const ParameterStorage& table, std::vector<std::uint32_t> rows)
    : rows_(std::move(rows)), entry_bytes_(bytes_of_entry(table)) {
  const auto* const from = static_cast<const std::byte*>(table.tensor().data());
  values_.reserve(rows_.size() * entry_bytes_);
  for (const std::uint32_t row : rows_) {
    append_bytes(values_, from + row * entry_bytes_, entry_bytes_);
  }
}

void RowList::append_places(Communicator::Bytes& bytes,
                            std::span<const std::uint32_t> places) const {
  const auto count = static_cast<std::uint32_t>(places.size());
  append_bytes(bytes, &count, sizeof(std::uint32_t));
  for (const std::uint32_t place : places)
    append_bytes(bytes, &rows_[place], sizeof(std::uint32_t));
  for (const std::uint32_t place : places) {
    append_bytes(bytes, &values_[place * entry_bytes_], entry_bytes_);
  }
}

void RowList::add(const RowList& more) {
  entry_bytes_ = more.entry_bytes_;
  rows_.insert(rows_.end(), more.rows_.begin(), more.rows_.end());
  values_.insert(values_.end(), more.values_.begin(), more.values_.end());
}

void RowList::sort() {
  std::vector<std::uint32_t> order(rows_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return rows_[a] < rows_[b]; });
  RowList sorted;
  sorted.entry_bytes_ = entry_bytes_;
  sorted.rows_.reserve(rows_.size());
  sorted.values_.reserve(values_.size());
  for (const std::uint32_t place : order) {
    sorted.rows_.push_back(rows_[place]);
    append_bytes(sorted.values_, &values_[place * entry_bytes_], entry_bytes_);
  }
  *this = std::move(sorted);
}

void RowList::put_into(Gradients& gradients, const ParameterStorage& table) const {
  if (rows_.empty()) return;
  Gradients::Rows& rows = gradients.rows(table);
  rows.touch(table, rows_);
  table.device().write(rows.values.data(), values_.data(), values_.size());
}

void RowList::put_into(ParameterStorage& table) const {
  auto* const to = static_cast<std::byte*>(table.tensor().data());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::memcpy(to + rows_[i] * entry_bytes_, &values_[i * entry_bytes_], entry_bytes_);
    table.values_written(rows_[i] * table.entry_size(), table.entry_size());
  }
}

std::span<const std::byte> RowReader::take(std::size_t size) {
  if (size > rest_.size()) {
    throw RankError(fmt::format("[GradientExchange] need {} more bytes from a rank; got {}", size,
                                rest_.size()));
  }
  const std::span<const std::byte> taken = rest_.first(size);
  rest_ = rest_.subspan(size);
  return taken;
}

RowList RowReader::read(const ParameterStorage& table) {
  RowList list;
  list.entry_bytes_ = bytes_of_entry(table);
  std::uint32_t count = 0;
  std::memcpy(&count, take(sizeof(count)).data(), sizeof(count));
  const std::span<const std::byte> rows = take(count * sizeof(std::uint32_t));
  list.rows_.resize(count);
  if (count > 0) std::memcpy(list.rows_.data(), rows.data(), rows.size());
  const std::span<const std::byte> values = take(count * list.entry_bytes_);
  list.values_.assign(values.begin(), values.end());
  for (const std::uint32_t row : list.rows_) {
    if (row < table.rows()) continue;
    throw RankError(fmt::format("[GradientExchange] need rows below {} of \"{}\"; got {}",
                                table.rows(), table.name, row));
  }
  return list;
}

}  // namespace dynet_like::detail
