// Memory: an aligned block, and an arena of blocks that never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace dynet_like::detail {

/// Where memory comes from that is not this process's own: a device's, which code outside of it can
/// name but not read.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// Uninitialised bytes, aligned to 64 at least. Throws DeviceError.
  virtual std::byte* allocate(std::size_t size) = 0;
  virtual void free(std::byte* memory, std::size_t size) noexcept = 0;

  // Where somebody looks for code that touches what it was not given:
  /// Bytes that an arena leaves unused behind everything that it hands out.
  virtual std::size_t gap() const { return 0; }
  /// An arena hands out these bytes, or takes them back; at first it has all of a chunk.
  virtual void lend(const std::byte*, std::size_t) {}
  virtual void take_back(const std::byte*, std::size_t) noexcept {}
};

struct FreeAligned {
  std::align_val_t alignment{64};
  std::size_t shared_size = 0;  ///< not 0: of memory that processes share
  std::shared_ptr<MemorySource> source = nullptr;
  std::size_t size = 0;
  void operator()(std::byte* memory) const;
};

/// Uninitialised bytes, aligned to 64; large blocks in huge pages where the system has them, since
/// the first touch of a page costs more than arithmetic on it. Throws DeviceError, with the size,
/// if there is no memory.
class Block {
 public:
  Block() = default;
  explicit Block(std::size_t size);
  /// The same of a device's memory; null: of this process's.
  Block(std::size_t size, const std::shared_ptr<MemorySource>& source);
  /// Zeros that this process will share with those that it forks. Throws DeviceError.
  static Block shared(std::size_t size);

  bool is_shared() const { return memory_.get_deleter().shared_size != 0; }
  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<std::byte, FreeAligned> memory_;
  std::size_t size_ = 0;
};

/// Hands out memory from chunks that never move and keeps the chunks when it is reset. What was
/// handed out before is NaN then if NDEBUG is not defined, and the address sanitizer stops who
/// reads it.
class Arena {
 public:
  /// Of a device's memory; null: of this process's.
  explicit Arena(std::shared_ptr<MemorySource> source = nullptr);

  struct Mark {
    std::size_t chunk = 0, used = 0, total = 0;
  };

  /// Uninitialised memory, aligned to 64 bytes, valid until the arena is reset or rewound.
  void* allocate(std::size_t size);
  /// How many bytes of a chunk that takes: what lies behind them is handed out next.
  std::size_t room_for(std::size_t size) const {
    return size == 0 ? 0 : rounded(size) + rounded(gap_);
  }
  /// For who hands on what was handed out, and takes it back.
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
  /// From now on memory is NaN when it is given back, whatever NDEBUG says.
  void spoil() { spoils_ = source_ == nullptr; }
  /// How many of these bytes, which lie in one chunk, were handed out before the mark.
  std::size_t bytes_before(const Mark& mark, const std::byte* memory, std::size_t size) const;
  /// Whether a chunk begins there: what lies before it belongs to another, if to any.
  bool begins_chunk(const std::byte* memory) const;

  /// Bytes handed out now, at most so far (without what lies unused behind them), and held.
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
