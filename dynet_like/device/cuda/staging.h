// Copies lists to the device.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "dynet_like/device/cuda/runtime.h"

namespace dynet_like::detail::cuda {

/// Pinned memory of this process with a mirror on the device. A list gets its device address when
/// it is added. All lists travel in one copy, once one chunk is large enough for all.
class Staging {
 public:
  explicit Staging(Runtime& runtime) : runtime_(runtime), read_(runtime.make_mark()) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Adds these bytes and returns their address on the device.
  void* add(const void* from, std::size_t size);
  /// Begins the copy of all lists.
  void upload();
  /// All work that was begun until now may read the lists; later work does not.
  void end_reading() { runtime_.mark(read_); }
  bool is_read() { return runtime_.has_passed(read_); }
  void wait_until_read() { runtime_.wait_for(read_); }
  /// Discards all lists, which the device must have read, and makes room for `size` bytes.
  void recycle(std::size_t size) noexcept;
  /// The bytes of all lists.
  std::size_t used() const;

 private:
  struct Chunk {
    std::byte *here, *there;
    std::size_t size, used;
  };
  void add_chunk(std::size_t size);
  void free_chunks() noexcept;

  Runtime& runtime_;
  const Mark read_;
  std::vector<Chunk> chunks_;
};

/// The stagings of submissions. Lists stay in place until the device has read them. The host only
/// waits for that if very many submissions are under way.
class StagingPool {
 public:
  explicit StagingPool(Runtime& runtime);

  /// The staging of the submission that is being recorded.
  Staging& current() { return *current_; }
  /// Must be called before each `advance`, which then cannot fail.
  void find_free();
  /// The device reads the lists of the current staging, and a free one replaces it.
  void advance() noexcept;

 private:
  using Stagings = std::vector<std::unique_ptr<Staging>>;

  Runtime& runtime_;
  std::unique_ptr<Staging> current_;
  Stagings free_;            ///< with room for the largest submission so far
  Stagings under_way_;       ///< the oldest first
  std::size_t largest_ = 0;  ///< the bytes of that submission
};

}  // namespace dynet_like::detail::cuda
