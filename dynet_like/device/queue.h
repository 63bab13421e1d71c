// A queue of a device: runs kernels, in the order in which they were asked for.
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
  bool fresh = false;  ///< the sum begins with zeros; what is there is not read
};

/// What a sum begins with.
enum class SumStart : std::uint8_t {
  there,  ///< what is there already
  zero,   ///< zeros; without addends this clears
  first   ///< its first addend; with one this copies
};

/// Runs kernels. Results do not depend on the number of threads. Not for use by several threads at
/// once: every executor has its own. Another device may begin with what it was asked for only when
/// `submit` is called or something is read; lists of pointers and numbers are of no use to it after
/// a call, and may change.
class Queue {
 public:
  virtual ~Queue() = default;

  /// The kernels of an op; throws DeviceError for an op that this device does not have.
  virtual const Kernels& kernels(const Op& op) const = 0;
  /// Whether the CPU runs these kernels for another device, with copies.
  virtual bool runs_on_cpu(const Op& /*op*/) const { return false; }

  virtual void forward(Kernels::Forward kernel, const ForwardCall& call) = 0;
  virtual void backward(Kernels::Backward kernel, const BackwardCall& call) = 0;

  virtual void add_outer_products(DType dtype, const OuterProducts& call) = 0;
  /// sum += dy_1 + dy_2 + ..., in that order; on the CPU, one chain per element. Sums that follow
  /// one another without another call between them may run together, so that none of them may read
  /// what another one writes; but they may have the same place.
  virtual void add_all(DType dtype, void* sum, std::size_t size, const Addends& addends,
                       SumStart start = SumStart::there) = 0;
  /// What follows sees the results of all sums before.
  virtual void finish_sums() {}
  /// At least `size` ones.
  virtual const void* ones(DType dtype, std::size_t size) = 0;
  /// Copies `size` bytes of this process, which may change after the call, to the device.
  virtual void write(void* to, const void* from, std::size_t size) = 0;
  /// Lets the device begin with all that it was asked for; does not wait for it.
  virtual void submit() {}

  /// Packs a matrix, or its transpose, in the layout that products read fastest. `packing` names
  /// the layout; matrices packed in another one are of no use to this device. 0: it has none.
  virtual std::size_t packing(DType dtype) const = 0;
  virtual std::size_t packed_bytes(DType dtype, std::size_t rows, std::size_t columns,
                                   bool transposed) const = 0;
  virtual void pack(DType dtype, const void* matrix, std::size_t rows, std::size_t columns,
                    bool transposed, void* to) const = 0;
};

/// The CPU, with the threads of a pool; without one, the caller's alone.
std::unique_ptr<Queue> make_cpu_queue(std::shared_ptr<ThreadPool> pool = nullptr);

}  // namespace dynet_like::detail
