// Lists on their way to the device.
#pragma once

#include <cstddef>
#include <vector>

#include "dynet_like/device/cuda/runtime.h"

namespace dynet_like::detail::cuda {

/// Pinned memory of this process with a mirror on the device: what is added gets its address there
/// at once, and travels in one copy as soon as one chunk is large enough for all.
class Staging {
 public:
  explicit Staging(Runtime& runtime) : runtime_(runtime), read_(runtime.make_mark()) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// The address on the device of a copy of these bytes.
  void* add(const void* from, std::size_t size);
  /// Begins the copy of all that was added.
  void upload();
  /// What was begun until now are all readers of the lists.
  void end_reading() { runtime_.mark(read_); }
  bool is_read() { return runtime_.has_passed(read_); }
  void wait_until_read() { runtime_.wait_for(read_); }
  /// Forgets all lists, which the device must have read. There is room for so many bytes then.
  void recycle(std::size_t size) noexcept;
  /// Bytes of the lists.
  std::size_t used() const;
  bool empty() const { return chunks_.empty() || (chunks_.size() == 1 && chunks_[0].used == 0); }

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

}  // namespace dynet_like::detail::cuda
