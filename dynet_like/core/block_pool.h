// Memory for the outputs of batches: from an arena, and again from what was given back.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "dynet_like/core/memory.h"

namespace dynet_like::detail {

/// Of the free pieces that are large enough the smallest is handed out, the first of several; what
/// is too much of it stays free. Free pieces beside each other become one. What is given back while
/// there is no memory to note it in is free again after the reset.
class BlockPool {
 public:
  /// Of a device's memory; null: of this process's.
  explicit BlockPool(std::shared_ptr<MemorySource> source) : arena_(std::move(source)) {}

  std::byte* allocate(std::size_t size);
  /// The same of what was given back; null if no piece is large enough.
  std::byte* allocate_free(std::size_t size);
  void give_back(std::byte* block, std::size_t size) noexcept { keep(block, 0, size); }
  /// Keeps so many bytes of a block, and gives back those behind them.
  void keep(std::byte* block, std::size_t kept, std::size_t size) noexcept;

  void reset();
  /// What was given back from before the mark stays free.
  void rewind(const Arena::Mark& mark);
  /// See Arena.
  void spoil() { arena_.spoil(); }
  const Arena& arena() const { return arena_; }

 private:
  using Pieces = std::map<std::byte*, std::size_t>;

  void add(std::byte* piece, std::size_t size) noexcept;
  void remove(Pieces::iterator piece);

  Arena arena_;
  Pieces free_;
  std::set<std::pair<std::size_t, std::byte*>> by_size_;  ///< the same
};

}  // namespace dynet_like::detail
