// The few GPU functions that the library needs: over CUDA's runtime and cuBLAS, or on the CPU.
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

/// The blocks of a launch, and the threads of a block.
struct Shape {
  unsigned blocks_x = 1, blocks_y = 1, blocks_z = 1;
  unsigned threads_x = 1, threads_y = 1;
  /// Set if all threads call wait_for_earlier before they access memory. Such a kernel may begin
  /// before earlier kernels have ended (programmatic dependent launch), if the GPU supports it.
  bool waits = false;
  /// Set if blocks wait for each other, in in_steps (steps.h). So all must run at once.
  bool meets = false;
};
/// The same shape for such a kernel.
inline Shape early(Shape shape) {
  shape.waits = true;
  return shape;
}

/// Whether threads of a block wait for each other, at barriers or in shuffles. On the CPU
/// independent threads run in a plain loop.
enum class Threads : std::uint8_t { independent, cooperating };

/// A kernel with its arguments, in the form that CUDA's runtime takes.
struct KernelCall {
  const void* kernel;
  void** arguments;
};

/// A point in the work that was begun.
using Mark = unsigned;
/// Whether a mark records when the device reached it, which takes the device a little time.
enum class MarkKind : std::uint8_t { plain, timed };

/// c = a b + beta c, column-major, computed by a library: a is [rows, inner], or [inner, rows] if
/// it is transposed; b is [inner, columns], or [columns, inner].
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

/// Whether a library's products are computed exactly as prescribed, or in its fastest way with as
/// many digits: the one for results, the other to compare speeds with.
enum class ProductMath : std::uint8_t { prescribed, fastest };

/// One device with one stream, on which all work runs in the order of the calls. Only one thread at
/// a time may use it. Errors of the driver throw DeviceError; they may belong to work that was
/// begun before. Each call restores the calling thread's current device.
class Runtime {
 public:
  /// The names of all devices, and the reason if there are none.
  static std::vector<std::string> names();
  static std::string why_none();

  explicit Runtime(unsigned device);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Memory of the device, aligned to 256 bytes. `allocate` throws DeviceError with the size.
  void* allocate(std::size_t size);
  void free(void* memory) noexcept;
  /// Memory of this process from which copies are fast and asynchronous. Freeing it waits for all
  /// work that was begun.
  void* allocate_pinned(std::size_t size);
  void free_pinned(void* memory) noexcept;

  /// Begins a copy. The memory must stay unchanged until somebody has waited for the copy.
  void copy_to_device(void* to, const void* from, std::size_t size);
  void copy_to_host(void* to, const void* from, std::size_t size);
  void copy(void* to, const void* from, std::size_t size);
  void zero(void* to, std::size_t size);

  /// Makes the device this thread's current one. All functions do that themselves, but doing it
  /// once around many of them is cheaper. May be nested.
  void begin_use();
  void end_use() noexcept;

  /// Begins a kernel; launch() of launch.h makes `call`. An error names the kernel. Errors that are
  /// reported later name it only if CUDA_LAUNCH_BLOCKING=1 makes every launch wait.
  void launch(const Shape& shape, const KernelCall& call);
  /// How many blocks of a kernel, with so many threads, can wait for each other. 0: this device
  /// cannot do that.
  unsigned most_blocks_at_once(const void* kernel, unsigned threads);
  /// Prepares library products, which need it; once is enough.
  void open_products(ProductMath math = ProductMath::prescribed);
  void multiply(const LibraryProduct& product);

  /// Waits for all work that was begun.
  void wait();
  Mark make_mark(MarkKind kind = MarkKind::plain);
  void free_mark(Mark mark) noexcept;
  /// Moves a mark behind all work that was begun.
  void mark(Mark mark);
  /// Whether all work before the mark is done; also true if the mark was never set.
  bool has_passed(Mark mark);
  void wait_for(Mark mark);
  /// The device's time from one timed mark to a later one. It must have passed both.
  double seconds_between(Mark first, Mark last);

  const DeviceCounts& counts() const { return counts_; }
  /// The memory that kernels may access.
  Loans& loans();

 private:
  struct Implementation;

  std::unique_ptr<Implementation> implementation_;
  DeviceCounts counts_;
};

/// Keeps the device current during several calls.
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
