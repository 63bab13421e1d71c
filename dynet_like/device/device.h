// A device: it holds parameters, values and gradients, and runs batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/memory.h"
#include "dynet_like/device/device_counts.h"

namespace dynet_like {

namespace detail {
class Queue;
class ThreadPool;
class Updates;
}  // namespace detail

/// How a GPU computes large products: those of thousands of columns, and sums of as many outer
/// products. With all choices but `exact`, an item may have other bits in a large batch than in a
/// small one. The bits are still the same from run to run.
enum class LargeProducts : std::uint8_t {
  exact,    ///< like small products: every product and sum is rounded to 24 bits
  library,  ///< weight gradients by cuBLAS, as exact; the bits depend on its version
  tf32      ///< 32-bit numbers by tensor cores: they are rounded to 11 bits, sums have 24
};

/// Reads bytes from a device while the device goes on with later calls.
class Reading {
 public:
  virtual ~Reading() = default;
  /// Requests `size` bytes as they are after all earlier calls. Discards the bytes of an earlier
  /// one.
  virtual void begin(const void* from, std::size_t size) = 0;
  /// Waits for these bytes and nothing else. They are valid until the next `begin`.
  virtual std::byte* wait() = 0;
};

/// The CPU or a GPU. Its functions, and those of its queues, take effect in the order of the calls.
/// Several threads may call them.
class Device {
 public:
  virtual ~Device() = default;

  /// "cpu", "cuda:0", or "cuda-host", which runs CUDA's kernels on the CPU.
  virtual std::string name() const = 0;
  /// The source of its memory; null for the CPU, which uses the memory of this process.
  virtual std::shared_ptr<detail::MemorySource> memory() = 0;
  bool is_cpu() { return memory() == nullptr; }

  virtual std::unique_ptr<detail::Queue> make_queue(
      std::shared_ptr<detail::ThreadPool> pool = nullptr) = 0;
  virtual const detail::Updates& updates() const = 0;

  /// Copies from this process to the device, or back. `read` waits for all earlier calls.
  virtual void write(void* to, const void* from, std::size_t size) = 0;
  virtual void read(void* to, const void* from, std::size_t size) = 0;
  /// Null for the CPU, whose memory is readable at any time.
  virtual std::unique_ptr<Reading> make_reading() { return nullptr; }
  /// Copies within the device. The ranges must not overlap.
  virtual void copy(void* to, const void* from, std::size_t size) = 0;
  virtual void zero(void* to, std::size_t size) = 0;

  /// Makes the device begin with the calls so far; does not wait for it.
  virtual void submit() {}

  /// Chooses how large products are computed from now on; the default is `exact`. The CPU ignores
  /// it.
  virtual void set_large_products(LargeProducts /*how*/) {}

  /// From now on, counts().busy_seconds is the time that the device took for its finished
  /// submissions, measured on the device from the first copy of each to its last kernel. That costs
  /// two events per submission. For benchmarks.
  virtual void measure_busy_time(bool /*wanted*/) {}

  virtual DeviceCounts counts() const { return {}; }
};

/// The CPU.
const std::shared_ptr<Device>& cpu_device();

/// The names of all devices: "cpu" and, if the library was built with CUDA, the GPUs that the
/// driver finds.
std::vector<std::string> device_names();

/// The device of that name; "cuda" is the first GPU. A device is opened once and shared by all
/// callers. Throws DeviceError, which says what is missing, if there is no such device.
std::shared_ptr<Device> open_device(std::string_view name);

/// The device of collections and graphs for which none is chosen: the one in the environment
/// variable DYNET_LIKE_DEVICE, or the CPU.
const std::shared_ptr<Device>& default_device();

}  // namespace dynet_like
