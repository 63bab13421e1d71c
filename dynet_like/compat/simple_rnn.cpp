// SimpleRNNBuilder.
#include "dynet/rnn.h"
#include "dynet_like/core/errors.h"

namespace dynet {

namespace {

enum { X2H, H2H, HB, L2H };

}  // namespace

SimpleRNNBuilder::SimpleRNNBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_size,
                                   ParameterCollection& model, bool support_lags)
    : VariationalDropout(layer_count, input_size, hidden_size,
                         model.add_subcollection("simple-rnn-builder")) {
  for (unsigned layer = 0; layer < layers; ++layer) {
    params.push_back({local_model.add_parameters({hid, inputs_of(layer)}),
                      local_model.add_parameters({hid, hid}),
                      local_model.add_parameters({hid}, ParameterInitConst(0))});
    if (support_lags) params.back().push_back(local_model.add_parameters({hid, hid}));
  }
}

Expression SimpleRNNBuilder::add_auxiliary_input(const Expression& x, const Expression& aux) {
  if (params.empty() || params.front().size() <= L2H) {
    throw dynet_like::UsageError(
        "[add_auxiliary_input] need a SimpleRNNBuilder with support_lags; got one without");
  }
  const RNNPointer prev = state();
  check_can_follow(prev);
  prepare_masks(x);
  std::vector<Expression> outputs;
  for (unsigned layer = 0; layer < layers; ++layer) {
    std::vector<Expression> sum = terms(layer, layer == 0 ? x : outputs.back(), prev);
    sum.insert(sum.end(), {param_vars[layer][L2H], aux});
    outputs.push_back(tanh(affine_transform(sum)));
  }
  h.push_back(std::move(outputs));
  follow(prev);
  return back();
}

Expression SimpleRNNBuilder::step(unsigned layer, const Expression& x, int prev) {
  return tanh(affine_transform(terms(layer, x, prev)));
}

std::vector<Expression> SimpleRNNBuilder::terms(unsigned layer, const Expression& x,
                                                int prev) const {
  const std::vector<Expression>& w = param_vars[layer];
  return {w[HB], w[X2H], dropped(x, dropout_rate, layer, 0), w[H2H],
          dropped(h_before(prev, layer), dropout_rate_h, layer, 1)};
}

}  // namespace dynet
