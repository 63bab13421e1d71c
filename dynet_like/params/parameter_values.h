// The values of a parameter: where they lie, and who may have changed them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dynet_like/core/memory.h"
#include "dynet_like/device/device.h"

namespace dynet_like::detail {

class PackedMatrices;

/// Memory of a device and, if that is not the CPU, a copy in this process for those who read and
/// write there. Every change counts the version up. Whoever holds the memory may write to it at any
/// time without a word; a digest tells whether somebody did.
class ParameterValues {
 public:
  /// The values as somebody has read them.
  struct Snapshot {
    std::uint64_t version = 0, changes = 0;
    bool has_digest = false;
    std::uint64_t digest = 0;
  };

  /// `size` bytes, not initialised. `is_watched`: whether writes by whoever holds the memory are
  /// looked for, which takes time in proportion to the size.
  void allocate(Device& device, std::size_t size, bool is_watched);
  /// From now on processes that this one forks share the memory. Of the CPU only, and before
  /// anybody holds it.
  void move_to_shared_memory();

  /// The device's memory.
  std::byte* data() const { return memory_.data(); }
  std::size_t size() const { return memory_.size(); }
  bool is_shared() const { return memory_.is_shared(); }

  /// This process's: the same on the CPU, else the copy, up to date. Call host_written after
  /// writing.
  std::byte* on_host() const;
  /// The same for bytes that will all be written: nothing is copied.
  std::byte* on_host_to_fill();
  void host_written(std::size_t first, std::size_t count);
  void device_written();

  /// Somebody holds this process's memory from now on.
  void hand_out();
  /// Somebody may write to some of it, before the next run.
  void expose();
  bool is_handed_out() const { return handed_out_; }
  /// What was written to memory that was handed out reaches the device.
  void take_writes() const;
  /// Other processes write to it now: there is no use in looking for changes.
  void stop_watching() { handed_out_ = false; }

  std::uint64_t version() const { return version_; }
  void count_change() { ++version_; }
  Snapshot snapshot() const;
  bool may_differ(const Snapshot& seen) const { return version_ != seen.version; }
  /// As far as that can be told. It reads all of memory that is watched.
  bool differ(const Snapshot& seen) const;

  /// Copies for products, by version; of no use once somebody holds the memory.
  std::shared_ptr<PackedMatrices> packed;

 private:
  bool is_on_cpu() const { return device_ == nullptr || device_->is_cpu(); }
  std::uint64_t digest() const;
  void read() const;
  void write(std::size_t first, std::size_t count) const;

  Device* device_ = nullptr;  // the collection's
  Block memory_;
  bool is_watched_ = false;
  // All changes, or chances to make one; and these chances alone.
  std::atomic<std::uint64_t> version_ = 0, chances_ = 0;
  std::atomic<bool> handed_out_ = false;
  std::uint64_t first_digest_ = 0;  // when they were handed out first
  // Of values on another device: the copy, whether it is up to date, and what the device got last.
  mutable Block copy_;
  mutable bool copy_is_good_ = false;
  mutable std::uint64_t copy_digest_ = 0;
};

}  // namespace dynet_like::detail
