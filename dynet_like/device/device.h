// A device: where parameters, values and gradients lie, and where batches run.
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

/// How a GPU computes large products: those of thousands of columns, and sums of so many outer
/// products. Tensor cores are for 32-bit numbers; their sums have 32 bits, too. With all but
/// `exact` an item may have other bits in a large batch than in a small one; the bits are still the
/// same from run to run.
enum class LargeProducts : std::uint8_t {
  exact,    ///< as small ones: every product and sum is rounded to 24 bits
  library,  ///< those of weight gradients by cuBLAS, as exactly; the bits follow from its version
  tf32x3,   ///< tensor cores, numbers in two parts of 11 bits each: almost as exact
  tf32,     ///< tensor cores, numbers rounded to 11 bits
  bf16      ///< tensor cores, numbers rounded to 8 bits
};

/// Bytes of a device on their way to this process, beside whatever is asked for later.
class Reading {
 public:
  virtual ~Reading() = default;
  /// Asks for `size` bytes as they are after all that was asked for before. Those of an earlier
  /// call are forgotten.
  virtual void begin(const void* from, std::size_t size) = 0;
  /// Waits for them, and for nothing else. They stay until the next `begin`.
  virtual std::byte* wait() = 0;
};

/// The CPU, or a GPU. Its functions do what they are asked for in the order of the calls, those of
/// its queues among them, and may be called by several threads.
class Device {
 public:
  virtual ~Device() = default;

  /// "cpu", "cuda:0", or "cuda-host", which runs CUDA's kernels on the CPU.
  virtual std::string name() const = 0;
  /// Where its memory comes from; null: this process, and everybody can read it.
  virtual std::shared_ptr<detail::MemorySource> memory() = 0;
  bool is_cpu() { return memory() == nullptr; }

  virtual std::unique_ptr<detail::Queue> make_queue(
      std::shared_ptr<detail::ThreadPool> pool = nullptr) = 0;
  virtual const detail::Updates& updates() const = 0;

  /// Bytes of this process to the device and back; `read` waits for all that was asked for before.
  virtual void write(void* to, const void* from, std::size_t size) = 0;
  virtual void read(void* to, const void* from, std::size_t size) = 0;
  /// Null for the CPU, whose memory need not be read.
  virtual std::unique_ptr<Reading> make_reading() { return nullptr; }
  /// From one place on the device to another, which must not overlap.
  virtual void copy(void* to, const void* from, std::size_t size) = 0;
  virtual void zero(void* to, std::size_t size) = 0;

  /// Lets the device begin with what it was asked for; does not wait for it.
  virtual void submit() {}

  /// How large products are computed from now on; `exact` unless it is asked for. The CPU has no
  /// use for it. Throws DeviceError if cuBLAS is wanted and not there.
  virtual void set_large_products(LargeProducts /*how*/) {}

  /// From now on, until it is told otherwise, counts().busy_seconds is what the device took for the
  /// submissions that it has done, measured on the device: from the first copy of each to its last
  /// kernel. That costs two events each. For benchmarks.
  virtual void measure_busy_time(bool /*wanted*/) {}

  virtual DeviceCounts counts() const { return {}; }
};

/// The CPU.
const std::shared_ptr<Device>& cpu_device();

/// The names of all devices there are: "cpu", and what CUDA's driver finds, if the library was
/// built with CUDA.
std::vector<std::string> device_names();

/// The device of that name; "cuda" is the first GPU. It is opened once and shared by all who ask.
/// Throws DeviceError, which says what is missing, if there is none.
std::shared_ptr<Device> open_device(std::string_view name);

/// The device that collections and graphs have unless they are told otherwise: that of the
/// environment variable DYNET_LIKE_DEVICE, or the CPU.
const std::shared_ptr<Device>& default_device();

}  // namespace dynet_like
