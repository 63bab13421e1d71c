// Activation: gelu, as its authors define it.
#include "nn/activation.h"

#include <numbers>

namespace dynet_like::nn {

Expression gelu(const Expression& x) {
  return cmult(x, erf(x * (1 / std::numbers::sqrt2_v<float>)) + 1.0f) * 0.5f;
}

}  // namespace dynet_like::nn
