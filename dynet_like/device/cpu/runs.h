// How an elementwise op loops over an item if dimensions of size 1 are stretched.
#pragma once

#include "dynet_like/ops/op.h"

namespace dynet_like::detail::cpu {

/// Whether an input has fewer elements than the output.
inline bool stretches(const Signature& type) {
  for (const Dim& dim : type.inputs) {
    if (dim.size() != type.output_size) return true;
  }
  return false;
}

/// A stretched item as `count` runs of `length` output elements. In a run an operand either
/// advances with the output or stays at one element; `next` moves to the operands' next run.
struct Runs {
  std::size_t length = 1, count = 1;
  bool advances[2] = {true, true};
  std::size_t offset[2] = {0, 0};

  explicit Runs(const Signature& type);
  void next() {
    for (unsigned i = 0; i < outer_count_; ++i) {
      for (unsigned j = 0; j < 2; ++j) offset[j] += stride_[j][i];
      if (++at_[i] < outer_[i]) return;
      for (unsigned j = 0; j < 2; ++j) offset[j] -= stride_[j][i] * outer_[i];
      at_[i] = 0;
    }
  }

 private:
  std::size_t outer_[Dim::kMaxDimensions] = {}, at_[Dim::kMaxDimensions] = {};
  std::size_t stride_[2][Dim::kMaxDimensions] = {};
  unsigned outer_count_ = 0;
};

}  // namespace dynet_like::detail::cpu
