// Rows of a table, or of its gradient, as bytes that ranks exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like::detail {

/// Some rows of a table and their values, in this process's memory.
class RowList {
 public:
  RowList() = default;
  /// All rows of the gradient; none if it is null.
  RowList(const ParameterStorage& table, const Gradients::Rows* rows);
  /// The rows of the table with these indices.
  RowList(const ParameterStorage& table, std::vector<std::uint32_t> rows);

  /// Appends the rows for which `takes(row)`: their number, their indices, then their values.
  template <class Takes>
  void append_to(Communicator::Bytes& bytes, const Takes& takes) const {
    std::vector<std::uint32_t> places;
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      if (takes(rows_[i])) places.push_back(i);
    }
    append_places(bytes, places);
  }
  void append_to(Communicator::Bytes& bytes) const {
    append_to(bytes, [](std::uint32_t) { return true; });
  }
  /// Adds rows of the same table.
  void add(const RowList& more);
  /// Sorts the rows in ascending order.
  void sort();
  /// Makes these rows the whole gradient of the table.
  void put_into(Gradients& gradients, const ParameterStorage& table) const;
  /// Writes the rows into the table.
  void put_into(ParameterStorage& table) const;
  const std::vector<std::uint32_t>& rows() const { return rows_; }

 private:
  friend class RowReader;
  void append_places(Communicator::Bytes& bytes, std::span<const std::uint32_t> places) const;

  std::vector<std::uint32_t> rows_;
  std::vector<std::byte> values_;
  std::size_t entry_bytes_ = 0;
};

/// Reads what append_to() has written, list by list.
class RowReader {
 public:
  explicit RowReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  /// Throws RankError unless a list of this table follows.
  RowList read(const ParameterStorage& table);
  /// Takes other bytes between lists. Throws RankError unless there are as many.
  std::span<const std::byte> take(std::size_t size);

 private:
  std::span<const std::byte> rest_;
};

}  // namespace dynet_like::detail
