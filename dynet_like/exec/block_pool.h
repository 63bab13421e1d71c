// Memory for the outputs of batches: from an arena, and again from what was given back.
#pragma once

#include <cstddef>
#include <map>

#include "dynet_like/core/memory.h"

namespace dynet_like {

/// Blocks given back are handed out again if they are not more than twice as large as asked for.
class BlockPool {
 public:
  std::byte* allocate(std::size_t size) {
    if (!free_.empty()) {
      const auto found = free_.lower_bound(size);
      if (found != free_.end() && found->first <= 2 * size) {
        std::byte* block = found->second;
        free_.erase(found);
        return block;
      }
    }
    return arena_.allocate_array<std::byte>(size);
  }

  void give_back(std::byte* block, std::size_t size) { free_.emplace(size, block); }

  void reset() {
    free_.clear();
    arena_.reset();
  }
  void rewind(const Arena::Mark& mark) {
    free_.clear();
    arena_.rewind(mark);
  }
  const Arena& arena() const { return arena_; }

 private:
  Arena arena_;
  std::multimap<std::size_t, std::byte*> free_;
};

}  // namespace dynet_like
