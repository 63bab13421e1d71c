// A list whose elements never move: several threads may read it while one appends.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <memory>

namespace dynet_like::detail {

/// Chunks of doubling size. `append` and `size` need a lock. A thread that learned of an element
/// under that lock may read the element without it.
template <class T>
class StableList {
 public:
  std::size_t size() const { return size_; }

  const T& operator[](std::size_t i) const {
    const std::size_t place = i + kFirst;
    const int chunk = std::bit_width(place) - kFirstWidth;
    return chunks_[static_cast<std::size_t>(chunk)][place - (kFirst << chunk)];
  }

  /// After this, the next `append` cannot fail.
  void make_room() {
    const std::size_t place = size_ + kFirst;
    const int chunk = std::bit_width(place) - kFirstWidth;
    std::unique_ptr<T[]>& memory = chunks_[static_cast<std::size_t>(chunk)];
    if (memory == nullptr) memory = std::make_unique<T[]>(kFirst << chunk);
  }

  /// Appends a default-constructed element.
  T& append() {
    make_room();
    const std::size_t place = size_++ + kFirst;
    const int chunk = std::bit_width(place) - kFirstWidth;
    return chunks_[static_cast<std::size_t>(chunk)][place - (kFirst << chunk)];
  }

  void clear() {
    for (std::unique_ptr<T[]>& chunk : chunks_) chunk.reset();
    size_ = 0;
  }

 private:
  static constexpr std::size_t kFirst = 8;
  static constexpr int kFirstWidth = std::bit_width(kFirst);

  std::array<std::unique_ptr<T[]>, 29> chunks_;  // for 2^32 elements
  std::size_t size_ = 0;
};

}  // namespace dynet_like::detail
