// Memory for the outputs of batches: taken from an arena, and reused after it is given back.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "dynet_like/core/memory.h"

namespace dynet_like::detail {

/// Hands out the smallest free piece that is large enough, the first if several are equal. The rest
/// of that piece stays free. Free pieces that touch are merged. If there is no memory to note a
/// freed piece in, that piece is free again only after the reset.
class BlockPool {
 public:
  /// Uses the memory of a device, or of this process if `source` is null.
  explicit BlockPool(std::shared_ptr<MemorySource> source) : arena_(std::move(source)) {}

  std::byte* allocate(std::size_t size);
  /// Takes only memory that was given back. Returns null if no piece is large enough.
  std::byte* allocate_free(std::size_t size);
  void give_back(std::byte* block, std::size_t size) noexcept { keep(block, 0, size); }
  /// Keeps the first `kept` bytes of a block and gives back the rest.
  void keep(std::byte* block, std::size_t kept, std::size_t size) noexcept;

  void reset();
  /// Memory that was allocated before the mark and given back stays free.
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
