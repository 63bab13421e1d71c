// Operations that DyNet's builders and examples use: steps of VanillaLSTM, n-grams of columns.
#include "dynet_like/graph/recording.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/dynet_ops.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like {

namespace {

Expression gate(const Expression& gates, unsigned block) {
  const unsigned hidden = gates.dim().rows() / 4;
  return pick_range(gates, block * hidden, (block + 1) * hidden);
}

}  // namespace

Expression kmh_ngram(const Expression& x, unsigned n) {
  const unsigned columns = x.dim().cols();
  if (n == 0 || n > columns) {
    throw UsageError("[kmh_ngram] need a width of 1 to " + std::to_string(columns) + "; got " +
                     std::to_string(n) + detail::recording::labels_of(x));
  }
  std::vector<Expression> shifted;
  for (unsigned i = 0; i < n; ++i) shifted.push_back(pick_range(x, i, columns - n + 1 + i, 1));
  return sum(shifted);
}

Expression vanilla_lstm_gates(const Expression& x, const Expression& h, const Expression& wx,
                              const Expression& wh, const Expression& b, float weightnoise_std) {
  const auto noisy = [&](const Expression& w) {
    return weightnoise_std == 0 ? w : noise(w, weightnoise_std);
  };
  const Expression sums = affine_transform({noisy(b), noisy(wx), x, noisy(wh), h});
  return concatenate({sigmoid(gate(sums, 0)), sigmoid(gate(sums, 1) + 1.0f), sigmoid(gate(sums, 2)),
                      tanh(gate(sums, 3))});
}
Expression vanilla_lstm_gates_concat(const std::vector<Expression>& xs, const Expression& h,
                                     const Expression& wx, const Expression& wh,
                                     const Expression& b, float weightnoise_std) {
  return vanilla_lstm_gates(concatenate(xs), h, wx, wh, b, weightnoise_std);
}
Expression vanilla_lstm_gates_dropout(const Expression& x, const Expression& h,
                                      const Expression& wx, const Expression& wh,
                                      const Expression& b, const Expression& mask_x,
                                      const Expression& mask_h, float weightnoise_std) {
  return vanilla_lstm_gates(cmult(x, mask_x), cmult(h, mask_h), wx, wh, b, weightnoise_std);
}
Expression vanilla_lstm_gates_dropout_concat(const std::vector<Expression>& xs, const Expression& h,
                                             const Expression& wx, const Expression& wh,
                                             const Expression& b, const Expression& mask_x,
                                             const Expression& mask_h, float weightnoise_std) {
  return vanilla_lstm_gates_dropout(concatenate(xs), h, wx, wh, b, mask_x, mask_h, weightnoise_std);
}
Expression vanilla_lstm_c(const Expression& c, const Expression& gates) {
  return cmult(gate(gates, 1), c) + cmult(gate(gates, 0), gate(gates, 3));
}
Expression vanilla_lstm_h(const Expression& c, const Expression& gates) {
  return cmult(gate(gates, 2), tanh(c));
}

}  // namespace dynet_like
