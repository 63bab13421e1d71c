// A queue of a device: runs kernels in the order of the calls.
#pragma once

#include <cstddef>
#include <memory>

#include "dynet_like/core/thread_pool.h"
#include "dynet_like/device/kernel.h"

namespace dynet_like::detail {

/// The columns of an outer product, or the addends of a sum, in the order of accumulation.
struct Addends {
  const void* const* dy = nullptr;
  const void* const* x = nullptr;  ///< null for a sum
  std::size_t n = 0;
};

/// sum[r, c] += dy_1[r] x_1[c] + dy_2[r] x_2[c] + ..., in that order; on the CPU, one chain per
/// element.
struct OuterProducts {
  void* sum = nullptr;
  std::size_t rows = 0, columns = 0;
  Addends addends;
  bool fresh = false;  ///< the sum begins with zeros; the old contents are not read
};

/// The initial value of a sum.
enum class SumStart : std::uint8_t {
  there,  ///< the old contents
  zero,   ///< zero; without addends this clears the sum
  first   ///< the first addend; with one addend this copies
};

/// Runs kernels. Results do not depend on the number of threads. Only one thread at a time may use
/// it: every executor has its own. A GPU may delay its work until `submit` is called or something
/// is read. Lists of pointers and numbers are copied: they may change after a call.
class Queue {
 public:
  virtual ~Queue() = default;

  /// The kernels of an op; throws DeviceError for an op that this device does not have.
  virtual const Kernels& kernels(const Op& op) const = 0;
  /// Whether the CPU runs the kernels of this op for another device, with copies.
  virtual bool runs_on_cpu(const Op& /*op*/) const { return false; }

  virtual void forward(Kernels::Forward kernel, const ForwardCall& call) = 0;
  virtual void backward(Kernels::Backward kernel, const BackwardCall& call) = 0;

  virtual void add_outer_products(DType dtype, const OuterProducts& call) = 0;
  /// sum += dy_1 + dy_2 + ..., in that order; on the CPU, one chain per element. Consecutive sums
  /// without another call between them may run together. So none of them may read what another one
  /// writes. Several may write to the same place, or to places that overlap: they are added in the
  /// order of the calls.
  virtual void add_all(DType dtype, void* sum, std::size_t size, const Addends& addends,
                       SumStart start = SumStart::there) = 0;
  /// Later calls see the results of all earlier sums.
  virtual void finish_sums() {}
  /// At least `size` ones.
  virtual const void* ones(DType dtype, std::size_t size) = 0;
  /// Copies `size` bytes of this process to the device. They may change after the call.
  virtual void write(void* to, const void* from, std::size_t size) = 0;
  /// Makes the device begin with the calls so far; does not wait for it.
  virtual void submit() {}

  /// Packs a matrix, or its transpose, in the layout that products read fastest. `packing`
  /// identifies the layout: this device can only use such matrices. 0: it reads no packed matrices.
  virtual std::size_t packing(DType dtype) const = 0;
  virtual std::size_t packed_bytes(DType dtype, std::size_t rows, std::size_t columns,
                                   bool transposed) const = 0;
  virtual void pack(DType dtype, const void* matrix, std::size_t rows, std::size_t columns,
                    bool transposed, void* to) const = 0;
};

/// The queue of the CPU, with the threads of a pool, or the caller's thread alone.
std::unique_ptr<Queue> make_cpu_queue(std::shared_ptr<ThreadPool> pool = nullptr);

}  // namespace dynet_like::detail
