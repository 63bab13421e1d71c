// RMSNorm: its parameter and its one call.
#include "nn/rms_norm.h"

#include "dynet_like/ops/ops.h"
#include "nn/check_input.h"

namespace dynet_like::nn {

RMSNorm::RMSNorm(ParameterCollection& model, unsigned size, const RMSNormOptions& options)
    : gain_(add_layer(model, options.name, "rms_norm")
                .add_parameters({size}, ParameterInitConst(1), "g")),
      epsilon_(options.epsilon) {}

Expression RMSNorm::operator()(const Expression& x) const {
  check_input("RMSNorm", x, gain_.dim()[0], gain_.get_storage(), true);
  return rms_norm(x, gain_, epsilon_);
}

}  // namespace dynet_like::nn
