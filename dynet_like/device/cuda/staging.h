// Lists on their way to the device.
#pragma once

#include <cstddef>
#include <memory>
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

/// The stagings of submissions. Lists stay where they are until the device has read them, and
/// nobody waits for that unless very many are under way.
class StagingPool {
 public:
  explicit StagingPool(Runtime& runtime);

  /// That of the submission that is being asked for.
  Staging& current() { return *current_; }
  /// Comes before each `advance`, which then cannot fail.
  void find_free();
  /// The device reads the lists of the current one, and a free one takes its place.
  void advance() noexcept;

 private:
  using Stagings = std::vector<std::unique_ptr<Staging>>;

  Runtime& runtime_;
  std::unique_ptr<Staging> current_;
  Stagings free_;            ///< with room for the largest submission so far
  Stagings under_way_;       ///< the oldest first
  std::size_t largest_ = 0;  ///< bytes of that submission
};

}  // namespace dynet_like::detail::cuda
