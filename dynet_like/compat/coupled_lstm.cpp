// CoupledLSTMBuilder: dropout of the values that its gates read.
#include "dynet/lstm.h"

namespace dynet {

void CoupledLSTMBuilder::set_dropout(float d, float d_h, float d_c) {
  VariationalDropout::set_dropout(d, d_h);
  dropout_rate_c = detail::checked_dropout_rate("set_dropout", d_c);
}

void CoupledLSTMBuilder::set_dropout_masks(unsigned batch_size) {
  VariationalDropout::set_dropout_masks(batch_size);
  for (std::vector<Expression>& of_layer : masks) {
    of_layer.push_back(mask(hid, dropout_rate_c, batch_size));
  }
}

Expression CoupledLSTMBuilder::seen_input(unsigned layer, const Expression& x) const {
  return dropped(x, dropout_rate, layer, 0);
}
Expression CoupledLSTMBuilder::seen_output(unsigned layer, const Expression& output) const {
  return dropped(output, dropout_rate_h, layer, 1);
}
Expression CoupledLSTMBuilder::seen_cell(unsigned layer, const Expression& cell) const {
  return dropped(cell, dropout_rate_c, layer, 2);
}

}  // namespace dynet
