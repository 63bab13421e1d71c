// Memory for the outputs of batches: from an arena, and again from what was given back.
#pragma once

#include <cstddef>
#include <map>

#include "dynet_like/core/memory.h"

namespace dynet_like::detail {

/// Blocks given back are handed out again if they are not more than twice as large as asked for;
/// what is too much of them stays free.
class BlockPool {
 public:
  /// Of a device's memory; null: of this process's.
  explicit BlockPool(std::shared_ptr<MemorySource> source) : arena_(std::move(source)) {}

  std::byte* allocate(std::size_t size) {
    size = rounded(size);
    const auto found = free_.lower_bound(size);
    if (found == free_.end() || found->first > 2 * size) {
      return arena_.allocate_array<std::byte>(size);
    }
    auto node = free_.extract(found);
    std::byte* block = node.mapped();
    if (node.key() > size) {
      node.key() -= size;
      node.mapped() += size;
      free_.insert(std::move(node));
    }
    return block;
  }

  void give_back(std::byte* block, std::size_t size) { free_.emplace(rounded(size), block); }

  void reset() {
    free_.clear();
    arena_.reset();
  }
  /// Blocks from before the mark stay free.
  void rewind(const Arena::Mark& mark) {
    std::erase_if(free_, [&](const auto& block) { return !arena_.is_before(mark, block.second); });
    arena_.rewind(mark);
  }
  /// See Arena.
  void spoil() { arena_.spoil(); }
  const Arena& arena() const { return arena_; }

 private:
  static std::size_t rounded(std::size_t size) { return (size + 63) / 64 * 64; }

  Arena arena_;
  std::multimap<std::size_t, std::byte*> free_;
};

}  // namespace dynet_like::detail
