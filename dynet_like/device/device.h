// A device: where batches run.
#pragma once

#include <cstddef>
#include <memory>

#include "dynet_like/core/thread_pool.h"
#include "dynet_like/device/kernel.h"

namespace dynet_like {

/// The columns of an outer product, or the addends of a sum, in the order of accumulation.
struct Addends {
  const void* const* dy = nullptr;
  const void* const* x = nullptr;  ///< null for a sum
  std::size_t n = 0;
};

/// sum[r, c] += dy_1[r] x_1[c] + dy_2[r] x_2[c] + ..., one chain per element, in that order.
struct OuterProducts {
  void* sum = nullptr;
  std::size_t rows = 0, columns = 0;
  Addends addends;
  bool fresh = false;  ///< the sum begins with zeros; what is there is not read
};

/// Runs kernels. Results do not depend on the number of threads. Not for use by several threads at
/// once: every executor has its own.
class Device {
 public:
  virtual ~Device() = default;

  /// The kernels of an op; throws DeviceError for an op that this device does not have.
  virtual const Kernels& kernels(const Op& op) const = 0;

  virtual void forward(Kernels::Forward kernel, const ForwardCall& call) = 0;
  virtual void backward(Kernels::Backward kernel, const BackwardCall& call) = 0;

  virtual void add_outer_products(DType dtype, const OuterProducts& call) = 0;
  /// sum += dy_1 + dy_2 + ..., one chain per element, in that order; `fresh`: from zero.
  virtual void add_all(DType dtype, void* sum, std::size_t size, const Addends& addends,
                       bool fresh = false) = 0;

  /// Packs a matrix, or its transpose, in the layout that products read fastest. `packing` names
  /// the layout; matrices packed in another one are of no use to this device.
  virtual std::size_t packing(DType dtype) const = 0;
  virtual std::size_t packed_bytes(DType dtype, std::size_t rows, std::size_t columns,
                                   bool transposed) const = 0;
  virtual void pack(DType dtype, const void* matrix, std::size_t rows, std::size_t columns,
                    bool transposed, void* to) const = 0;
};

/// The CPU, with the threads of a pool; without one, the caller's alone.
std::unique_ptr<Device> make_cpu_device(std::shared_ptr<ThreadPool> pool = nullptr);

}  // namespace dynet_like
