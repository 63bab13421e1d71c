// The values of a parameter: where they lie, and how changes are detected.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dynet_like/core/memory.h"
#include "dynet_like/device/device.h"

namespace dynet_like::detail {

class PackedMatrices;

/// Memory of a device. If that is not the CPU, also a copy in this process for those who read and
/// write there. Every reported change increases the version. A holder of the memory may write to it
/// at any time without reporting it; a digest detects that.
class ParameterValues {
 public:
  /// The state of the values when somebody read them.
  struct Snapshot {
    std::uint64_t version = 0, changes = 0;
    bool has_digest = false;
    std::uint64_t digest = 0;
  };

  /// `size` uninitialised bytes. `is_watched`: whether to detect writes by holders of the memory,
  /// which takes time in proportion to the size.
  void allocate(Device& device, std::size_t size, bool is_watched);
  /// Makes the memory shared with processes that this one forks later. Only on the CPU, and before
  /// anybody holds the memory.
  void move_to_shared_memory();

  /// The device's memory.
  std::byte* data() const { return memory_.data(); }
  std::size_t size() const { return memory_.size(); }
  bool is_shared() const { return memory_.is_shared(); }

  /// The values in this process's memory: on the CPU the values themselves, otherwise the copy, up
  /// to date. Call host_written after writing.
  std::byte* on_host() const;
  /// The same for a caller that will write all bytes: nothing is copied from the device.
  std::byte* on_host_to_fill();
  void host_written(std::size_t first, std::size_t count);
  void device_written();

  /// From now on somebody holds this process's memory.
  void hand_out();
  /// Somebody may write to a part of this process's memory before the next run.
  void expose();
  bool is_handed_out() const { return handed_out_; }
  /// Copies unreported writes to memory that was handed out to the device.
  void take_writes() const;
  /// From now on other processes write to the memory: changes are no longer looked for.
  void stop_watching() { handed_out_ = false; }

  std::uint64_t version() const { return version_; }
  void count_change() { ++version_; }
  Snapshot snapshot() const;
  bool may_differ(const Snapshot& seen) const { return version_ != seen.version; }
  /// Whether the values differ, as far as that can be detected. Reads all memory that is watched.
  bool differ(const Snapshot& seen) const;

  /// Packed copies for products, by version. They cannot be used while somebody holds the memory.
  std::shared_ptr<PackedMatrices> packed;

 private:
  bool is_on_cpu() const { return device_ == nullptr || device_->is_cpu(); }
  std::uint64_t digest() const;
  void read() const;
  void write(std::size_t first, std::size_t count) const;

  Device* device_ = nullptr;  // the collection's device
  Block memory_;
  bool is_watched_ = false;
  // Counts changes and chances to make one; and these chances alone.
  std::atomic<std::uint64_t> version_ = 0, chances_ = 0;
  std::atomic<bool> handed_out_ = false;
  std::uint64_t first_digest_ = 0;  // when the memory was first handed out
  // For another device: the copy, whether it is up to date, and the digest of what the device has.
  mutable Block copy_;
  mutable bool copy_is_good_ = false;
  mutable std::uint64_t copy_digest_ = 0;
};

}  // namespace dynet_like::detail
