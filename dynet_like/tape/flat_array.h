// A growing array of plain values, to which recording appends node by node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "dynet_like/core/memory.h"

namespace dynet_like::detail {

/// Like a vector, but new elements are uninitialised: appending several needs one check of
/// capacity.
template <class T>
class FlatArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  std::size_t size() const { return size_; }
  const T* data() const { return data_; }
  T* data() { return data_; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& operator[](std::size_t i) { return data_[i]; }
  operator std::span<const T>() const { return {data_, size_}; }

  /// Makes room for `count` more elements, to be written before `commit`. Throws DeviceError.
  T* reserve(std::size_t count) {
    if (count > capacity_ - size_) grow(count);
    return data_ + size_;
  }
  /// Makes the elements that were written to reserved room part of the array.
  void commit(std::size_t count) { size_ += count; }
  /// Appends `count` elements, which the caller must write.
  T* append(std::size_t count = 1) {
    T* added = reserve(count);
    commit(count);
    return added;
  }
  void push_back(const T& value) { *append() = value; }
  /// Removes the elements from `size` on.
  void truncate(std::size_t size) { size_ = size; }

 private:
  static constexpr std::size_t kFirstBytes = 1024;

  [[gnu::noinline]] void grow(std::size_t count) {
    const std::size_t capacity = std::max({kFirstBytes / sizeof(T), 2 * capacity_, size_ + count});
    Block memory(capacity * sizeof(T));
    if (size_ > 0) std::memcpy(memory.data(), data_, size_ * sizeof(T));
    memory_ = std::move(memory);
    data_ = reinterpret_cast<T*>(memory_.data());
    capacity_ = capacity;
  }

  Block memory_;
  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace dynet_like::detail
