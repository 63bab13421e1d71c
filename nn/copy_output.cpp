// CopyOutput: one map for scores and gate, and one softmax with copying.
#include "nn/copy_output.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/ops.h"
#include "nn/check_input.h"

namespace dynet_like::nn {

CopyOutput::CopyOutput(ParameterCollection& model, unsigned states, unsigned words,
                       const CopyOutputOptions& options)
    : words_(words) {
  if (words == 0) throw ShapeError("[CopyOutput] need at least 1 word; got 0");
  const unsigned means = required("CopyOutput", "means", options.means);
  ParameterCollection own = add_layer(model, options.name, "copy_output");
  state_weights_ = own.add_parameters({words + 1, states}, "W");
  mean_weights_ = own.add_parameters({words + 1, means}, "V");
  bias_ = own.add_parameters({words + 1}, ParameterInitConst(0), "b");
}

Expression CopyOutput::operator()(const Expression& state, const Attended& found,
                                  const std::vector<unsigned>& source) const {
  check_input("CopyOutput", state, state_weights_.dim()[1], state_weights_.get_storage(), false,
              "states");
  check_input("CopyOutput", found.mean, mean_weights_.dim()[1], mean_weights_.get_storage(), false,
              "means");
  const Expression all =
      affine_transform({bias_, state_weights_, state, mean_weights_, found.mean});
  return copy_log_softmax(pick_range(all, 0, words_), pick_range(all, words_, words_ + 1),
                          found.weights, source);
}

Expression CopyOutput::loss(const Expression& state, const Attended& found,
                            const std::vector<unsigned>& source, unsigned word) const {
  return -pick((*this)(state, found, source), word);
}

}  // namespace dynet_like::nn
