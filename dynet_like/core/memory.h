// Memory: an aligned block, and an arena of blocks that never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace dynet_like::detail {

/// A source of memory other than this process's own, such as a device. Host code can pass its
/// addresses on, but cannot read the memory.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// Uninitialised bytes, aligned to 64 at least. Throws DeviceError.
  virtual std::byte* allocate(std::size_t size) = 0;
  virtual void free(std::byte* memory, std::size_t size) noexcept = 0;

  // For tools that look for accesses out of bounds:
  /// Bytes that an arena leaves unused behind every allocation.
  virtual std::size_t gap() const { return 0; }
  /// Called when an arena hands out these bytes or takes them back; first a new chunk is taken
  /// back.
  virtual void lend(const std::byte*, std::size_t) {}
  virtual void take_back(const std::byte*, std::size_t) noexcept {}
};

struct FreeAligned {
  std::align_val_t alignment{64};
  std::size_t shared_size = 0;  ///< not 0 for memory that processes share
  std::shared_ptr<MemorySource> source = nullptr;
  std::size_t size = 0;
  void operator()(std::byte* memory) const;
};

/// Uninitialised bytes, aligned to 64. Large blocks use huge pages where the system has them,
/// because the first access to a page costs more than the arithmetic on it. Throws DeviceError,
/// with the size, if there is no memory.
class Block {
 public:
  Block() = default;
  explicit Block(std::size_t size);
  /// Uses the memory of a device, or of this process if `source` is null.
  Block(std::size_t size, const std::shared_ptr<MemorySource>& source);
  /// Zeros that this process shares with the processes that it forks later. Throws DeviceError.
  static Block shared(std::size_t size);

  bool is_shared() const { return memory_.get_deleter().shared_size != 0; }
  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<std::byte, FreeAligned> memory_;
  std::size_t size_ = 0;
};

/// Hands out memory from chunks that never move, and keeps the chunks when it is reset. Without
/// NDEBUG a reset fills memory with NaN, and the address sanitizer stops a program that reads it.
class Arena {
 public:
  /// Uses the memory of a device, or of this process if `source` is null.
  explicit Arena(std::shared_ptr<MemorySource> source = nullptr);

  struct Mark {
    std::size_t chunk = 0, used = 0, total = 0;
  };

  /// Uninitialised memory, aligned to 64 bytes, valid until the arena is reset or rewound.
  void* allocate(std::size_t size);
  /// The bytes of a chunk that this allocation takes. The next allocation begins behind them.
  std::size_t room_for(std::size_t size) const {
    return size == 0 ? 0 : rounded(size) + rounded(gap_);
  }
  /// For a caller that hands on allocated memory to others and takes it back.
  void lend(const std::byte* memory, std::size_t size) const {
    if (source_ != nullptr) source_->lend(memory, size);
  }
  void take_back(const std::byte* memory, std::size_t size) const noexcept {
    if (source_ != nullptr) source_->take_back(memory, size);
  }
  template <class T>
  T* allocate_array(std::size_t count) {
    return static_cast<T*>(allocate(count * sizeof(T)));
  }

  Mark mark() const { return {chunk_, used_, total_}; }
  /// Gives back what was allocated after the mark.
  void rewind(const Mark& mark);
  void reset() { rewind({}); }
  /// From now on memory is filled with NaN when it is given back, even with NDEBUG.
  void spoil() { spoils_ = source_ == nullptr; }
  /// How many of these bytes were handed out before the mark. They must lie in one chunk.
  std::size_t bytes_before(const Mark& mark, const std::byte* memory, std::size_t size) const;
  /// Whether a chunk begins at this address. Memory before it then belongs to something else.
  bool begins_chunk(const std::byte* memory) const;

  /// The bytes in use now, the most so far (both without gaps), and the bytes of all chunks.
  std::size_t used() const { return total_; }
  std::size_t peak() const { return peak_; }
  std::size_t capacity() const;

 private:
  static std::size_t rounded(std::size_t size) { return (size + 63) / 64 * 64; }
  template <class Action>
  void for_all_from(const Mark& mark, const Action& action) const;
  void spoil_from(const Mark& mark);

  std::shared_ptr<MemorySource> source_;
  bool spoils_;
  std::size_t gap_;
  std::vector<Block> chunks_;
  std::size_t chunk_ = 0, used_ = 0, total_ = 0, peak_ = 0;
};

}  // namespace dynet_like::detail
