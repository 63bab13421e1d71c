// Memory: an aligned block, and an arena of blocks that never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace dynet_like {

struct FreeAligned {
  std::align_val_t alignment{64};
  std::size_t shared_size = 0;  ///< not 0: of memory that processes share
  void operator()(std::byte* memory) const;
};

/// Uninitialised bytes, aligned to 64; large blocks in huge pages where the system has them, since
/// the first touch of a page costs more than arithmetic on it. Throws DeviceError, with the size,
/// if there is no memory.
class Block {
 public:
  Block() = default;
  explicit Block(std::size_t size);
  /// Zeros that this process will share with those that it forks. Throws DeviceError.
  static Block shared(std::size_t size);

  bool is_shared() const { return memory_.get_deleter().shared_size != 0; }
  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<std::byte, FreeAligned> memory_;
  std::size_t size_ = 0;
};

/// Hands out memory from chunks that never move and keeps the chunks when it is reset.
class Arena {
 public:
  struct Mark {
    std::size_t chunk = 0, used = 0, total = 0;
  };

  /// Uninitialised memory, aligned to 64 bytes, valid until the arena is reset or rewound.
  void* allocate(std::size_t size);
  template <class T>
  T* allocate_array(std::size_t count) {
    return static_cast<T*>(allocate(count * sizeof(T)));
  }

  Mark mark() const { return {chunk_, used_, total_}; }
  /// Gives back what was allocated after the mark.
  void rewind(const Mark& mark);
  void reset() { rewind({}); }

  /// Bytes handed out now, at most so far, and held.
  std::size_t used() const { return total_; }
  std::size_t peak() const { return peak_; }
  std::size_t capacity() const;

 private:
  std::vector<Block> chunks_;
  std::size_t chunk_ = 0, used_ = 0, total_ = 0, peak_ = 0;
};

}  // namespace dynet_like
