// Items that are copied, or added to what is there, in few calls.
#pragma once

#include <cstdint>
#include <vector>

#include "dynet_like/exec/run_state.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail {

/// Collects copies, and makes a call for each stretch of equal sizes.
class ItemCopies {
 public:
  /// Time in kernels is added to `seconds`.
  ItemCopies(RunState& run, DType dtype, double& seconds)
      : run_(run), dtype_(dtype), seconds_(seconds) {}

  void add(std::uint32_t elements, const void* from, void* to, bool adds) {
    from_.push_back(from);
    to_.push_back(to);
    adds_.push_back(adds);
    size_.push_back(elements);
  }

  // What `identity` does with gradients: it writes or adds them wherever they belong.
  void run() {
    for (std::size_t first = 0, end; first < size_.size(); first = end) {
      for (end = first; end < size_.size() && size_[end] == size_[first];) ++end;
      Signature signature;
      signature.op = &ops::identity;
      signature.dtype = dtype_;
      signature.inputs = {Dim({size_[first]})};
      signature.shared = {0};
      signature.output = signature.inputs[0];
      signature.output_size = size_[first];
      const Destination destination{to_.data() + first, adds_.data() + first};
      BackwardCall call;
      call.type = &signature;
      call.n = end - first;
      call.dy.items = from_.data() + first;
      call.dx = &destination;
      const KernelTime time(run_, seconds_);
      const Kernels& kernels = run_.queue->kernels(ops::identity);
      run_.queue->backward(kernels.backward[static_cast<int>(dtype_)], call);
    }
    forget();
  }

  void forget() {
    from_.clear();
    to_.clear();
    adds_.clear();
    size_.clear();
  }

 private:
  RunState& run_;
  DType dtype_;
  double& seconds_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
  std::vector<std::uint8_t> adds_;
  std::vector<std::uint32_t> size_;
};

}  // namespace dynet_like::detail
