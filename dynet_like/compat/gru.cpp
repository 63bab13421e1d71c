// GRUBuilder.
#include "dynet/gru.h"

namespace dynet {

namespace {

enum { X2Z, H2Z, BZ, X2R, H2R, BR, X2H, H2H, BH };

}  // namespace

GRUBuilder::GRUBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_size,
                       ParameterCollection& model)
    : OutputBuilder(layer_count, input_size, hidden_size, model.add_subcollection("gru-builder")) {
  for (unsigned layer = 0; layer < layers; ++layer) {
    params.emplace_back();
    for (int block = 0; block < 3; ++block) {
      params.back().push_back(local_model.add_parameters({hid, inputs_of(layer)}));
      params.back().push_back(local_model.add_parameters({hid, hid}));
      params.back().push_back(local_model.add_parameters({hid}, ParameterInitConst(0)));
    }
  }
}

Expression GRUBuilder::add_input_impl(int prev, const Expression& x) {
  const Expression output = OutputBuilder::add_input_impl(prev, x);
  return dropout_rate > 0 ? dropout(output, dropout_rate) : output;
}

Expression GRUBuilder::step(unsigned layer, const Expression& input, int prev) {
  const std::vector<Expression>& w = param_vars[layer];
  const Expression x = dropout_rate > 0 ? dropout(input, dropout_rate) : input;
  const Expression before = h_before(prev, layer);
  const Expression z = logistic(affine_transform({w[BZ], w[X2Z], x, w[H2Z], before}));
  const Expression r = logistic(affine_transform({w[BR], w[X2R], x, w[H2R], before}));
  const Expression n = tanh(affine_transform({w[BH], w[X2H], x, w[H2H], cmult(r, before)}));
  return before + cmult(z, n - before);
}

}  // namespace dynet
