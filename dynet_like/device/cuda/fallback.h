// Ops without a kernel on the device: their batches run on the CPU, with copies.
#pragma once

#include <memory>

#include "dynet_like/device/queue.h"

namespace dynet_like::detail::cuda {

struct Shared;

/// Copies the inputs of a call to this process, makes the call on the CPU, and copies its results
/// back. Waits for the device each time.
class Fallback {
 public:
  explicit Fallback(Shared& shared) : shared_(shared), cpu_(make_cpu_queue()) {}

  const Kernels& kernels(const Op& op) const { return cpu_->kernels(op); }
  void forward(Kernels::Forward kernel, const ForwardCall& call);
  void backward(Kernels::Backward kernel, const BackwardCall& call);

 private:
  void write_output(const ForwardCall& call, const void* block);

  Shared& shared_;
  std::unique_ptr<Queue> cpu_;
};

}  // namespace dynet_like::detail::cuda
