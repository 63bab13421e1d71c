// Finds the runs of a stretched item.
#include "dynet_like/device/cpu/runs.h"

namespace dynet_like::detail::cpu {

Runs::Runs(const Signature& type) {
  unsigned d = 0;
  for (unsigned j = 0; j < 2; ++j) {
    advances[j] = type.inputs[j].size() == type.output_size || type.inputs[j][0] == type.output[0];
  }
  // The inner run: the leading dimensions along which each operand always advances or always stays.
  std::size_t inner[2] = {1, 1};
  for (; d < type.output.nd; ++d) {
    bool same = true;
    for (unsigned j = 0; j < 2; ++j) {
      same = same && type.inputs[j][d] == (advances[j] ? type.output.d[d] : 1);
    }
    if (!same) break;
    length *= type.output.d[d];
    for (unsigned j = 0; j < 2; ++j) inner[j] *= type.inputs[j][d];
  }
  for (; d < type.output.nd; ++d) {
    outer_[outer_count_] = type.output.d[d];
    count *= type.output.d[d];
    for (unsigned j = 0; j < 2; ++j) {
      const unsigned size = type.inputs[j][d];
      stride_[j][outer_count_] = size == 1 ? 0 : inner[j];
      inner[j] *= size;
    }
    ++outer_count_;
  }
}

}  // namespace dynet_like::detail::cpu
