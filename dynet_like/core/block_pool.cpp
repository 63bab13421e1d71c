// Memory for the outputs of batches.
#include "dynet_like/core/block_pool.h"

#include <iterator>
#include <new>

namespace dynet_like::detail {

void BlockPool::add(std::byte* piece, std::size_t size) noexcept {
  try {
    free_.emplace(piece, size);
    by_size_.emplace(size, piece);
  } catch (const std::bad_alloc&) {
    free_.erase(piece);  // nobody gets this memory before the reset
  }
}

void BlockPool::remove(Pieces::iterator piece) {
  by_size_.erase({piece->second, piece->first});
  free_.erase(piece);
}

std::byte* BlockPool::allocate(std::size_t size) {
  std::byte* const free = allocate_free(size);
  return free != nullptr ? free : arena_.allocate_array<std::byte>(size);
}

std::byte* BlockPool::allocate_free(std::size_t size) {
  const std::size_t room = arena_.room_for(size);
  const auto found = by_size_.lower_bound({room, nullptr});
  if (found == by_size_.end() || size == 0) return nullptr;
  const auto [all, piece] = *found;
  remove(free_.find(piece));
  if (all > room) add(piece + room, all - room);
  arena_.lend(piece, size);
  return piece;
}

void BlockPool::keep(std::byte* block, std::size_t kept, std::size_t size) noexcept {
  std::byte* begin = block + arena_.room_for(kept);
  std::byte* end = block + arena_.room_for(size);
  arena_.take_back(block + kept, size - kept);
  if (begin == end) return;
  const auto next = free_.lower_bound(begin);
  const auto before = next == free_.begin() ? free_.end() : std::prev(next);
  if (next != free_.end() && next->first == end && !arena_.begins_chunk(end)) {
    end += next->second;
    remove(next);
  }
  if (before != free_.end() && before->first + before->second == begin &&
      !arena_.begins_chunk(begin)) {
    begin = before->first;
    remove(before);
  }
  add(begin, static_cast<std::size_t>(end - begin));
}

void BlockPool::reset() {
  free_.clear();
  by_size_.clear();
  arena_.reset();
}

void BlockPool::rewind(const Arena::Mark& mark) {
  for (auto piece = free_.begin(); piece != free_.end();) {
    const std::size_t before = arena_.bytes_before(mark, piece->first, piece->second);
    auto of_size = by_size_.extract({piece->second, piece->first});
    if (before == 0) {
      free_.erase(piece++);
      continue;
    }
    of_size.value().first = piece->second = before;
    by_size_.insert(std::move(of_size));
    ++piece;
  }
  arena_.rewind(mark);
}

}  // namespace dynet_like::detail
