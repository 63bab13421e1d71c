// The few functions of a GPU that the library needs: over CUDA's runtime and cuBLAS, or on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynet_like/core/dtype.h"
#include "dynet_like/device/cuda/loans.h"
#include "dynet_like/device/device_counts.h"

namespace dynet_like::detail::cuda {

/// Blocks of a launch, and threads of a block.
struct Shape {
  unsigned blocks_x = 1, blocks_y = 1, blocks_z = 1;
  unsigned threads_x = 1, threads_y = 1;
  /// Its threads call wait_for_earlier before they touch memory. So it may begin before the kernels
  /// before it have ended (programmatic dependent launch), where the GPU can do that.
  bool waits = false;
};
/// The same for such a kernel.
inline Shape early(Shape shape) {
  shape.waits = true;
  return shape;
}

/// Whether threads of a block wait for each other, at barriers or in shuffles. On the CPU those
/// that do not run in a plain loop.
enum class Threads : std::uint8_t { independent, cooperating };

/// A kernel with its arguments, as CUDA's runtime wants them.
struct KernelCall {
  const void* kernel;
  void** arguments;
};

/// A point among what was begun.
using Mark = unsigned;
/// Whether a mark tells when the device came to it, which costs it a little.
enum class MarkKind : std::uint8_t { plain, timed };

/// c = a b + beta c, column-major, as a library computes it: a is [rows, inner], or [inner, rows]
/// if it is transposed; b is [inner, columns], or [columns, inner].
struct LibraryProduct {
  DType dtype = DType::f32;
  std::size_t rows = 0, columns = 0, inner = 0;
  const void* a = nullptr;
  std::size_t a_stride = 0;  ///< elements from column to column
  bool a_transposed = false;
  const void* b = nullptr;
  std::size_t b_stride = 0;
  bool b_transposed = false;
  void* c = nullptr;
  std::size_t c_stride = 0;
  double beta = 0;
};

/// One device with one stream, on which everything happens in the order of the calls. Not for use
/// by several threads at once. Errors of the driver throw DeviceError, and may be those of what was
/// begun before. The calling thread's device is afterwards what it was before.
class Runtime {
 public:
  /// The names of the devices there are, and why there are none.
  static std::vector<std::string> names();
  static std::string why_none();

  explicit Runtime(unsigned device);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Memory of the device, aligned to 256 bytes. `allocate` throws DeviceError with the size.
  void* allocate(std::size_t size);
  void free(void* memory) noexcept;
  /// Memory of this process from which copies are fast and need not be waited for. To free it waits
  /// for all that was begun.
  void* allocate_pinned(std::size_t size);
  void free_pinned(void* memory) noexcept;

  /// Begins a copy of memory that lives, and does not change, until somebody has waited for it.
  void copy_to_device(void* to, const void* from, std::size_t size);
  void copy_to_host(void* to, const void* from, std::size_t size);
  void copy(void* to, const void* from, std::size_t size);
  void zero(void* to, std::size_t size);

  /// Makes the device this thread's current one. All functions do that by themselves, but once
  /// around many of them is cheaper. May be nested.
  void begin_use();
  void end_use() noexcept;

  /// Begins a kernel; `call` is what the launch function of launch.h makes of it. An error names
  /// the kernel; errors that come later do so if CUDA_LAUNCH_BLOCKING=1 makes every launch a wait.
  void launch(const Shape& shape, const KernelCall& call);
  /// Makes ready for products of the library; once is enough. They need it.
  void open_products();
  void multiply(const LibraryProduct& product);

  /// Waits for all that was begun.
  void wait();
  Mark make_mark(MarkKind kind = MarkKind::plain);
  void free_mark(Mark mark) noexcept;
  /// Puts a mark behind all that was begun; from where it was before it is taken away.
  void mark(Mark mark);
  /// Whether all before it is done; also if it was never put anywhere.
  bool has_passed(Mark mark);
  void wait_for(Mark mark);
  /// What the device took from one timed mark to a later one, both of which it has passed.
  double seconds_between(Mark first, Mark last);

  const DeviceCounts& counts() const { return counts_; }
  /// Of the memory that its kernels touch.
  Loans& loans();

 private:
  struct Implementation;

  std::unique_ptr<Implementation> implementation_;
  DeviceCounts counts_;
};

/// Around calls that follow one another.
class RuntimeUse {
 public:
  explicit RuntimeUse(Runtime& runtime) : runtime_(runtime) { runtime_.begin_use(); }
  ~RuntimeUse() { runtime_.end_use(); }
  RuntimeUse(const RuntimeUse&) = delete;
  RuntimeUse& operator=(const RuntimeUse&) = delete;

 private:
  Runtime& runtime_;
};

}  // namespace dynet_like::detail::cuda
