// Operations that DyNet has for its own builders and examples. Those of ops.h do the same faster or
// more simply.
#pragma once

#include <vector>

namespace dynet_like {

class Expression;

/// Sums of n consecutive columns. Shapes: {m, k} -> {m, k - n + 1}.
Expression kmh_ngram(const Expression& x, unsigned n);

/// The steps of DyNet's VanillaLSTM. The gates {4n} are i, f, o = sigmoid and g = tanh of the
/// blocks of b + Wx x + Wh h, with 1 added to f before its sigmoid. Weights may get normal noise,
/// inputs may be masked, and several x may be concatenated. Then c' = f c + i g and h' = o
/// tanh(c'). Shapes: x {k}, h {n}, Wx {4n, k}, Wh {4n, n}, b {4n}; c {n}, gates {4n} -> {n}.
Expression vanilla_lstm_gates(const Expression& x, const Expression& h, const Expression& wx,
                              const Expression& wh, const Expression& b,
                              float weightnoise_std = 0.0f);
Expression vanilla_lstm_gates_concat(const std::vector<Expression>& xs, const Expression& h,
                                     const Expression& wx, const Expression& wh,
                                     const Expression& b, float weightnoise_std = 0.0f);
Expression vanilla_lstm_gates_dropout(const Expression& x, const Expression& h,
                                      const Expression& wx, const Expression& wh,
                                      const Expression& b, const Expression& mask_x,
                                      const Expression& mask_h, float weightnoise_std = 0.0f);
Expression vanilla_lstm_gates_dropout_concat(const std::vector<Expression>& xs, const Expression& h,
                                             const Expression& wx, const Expression& wh,
                                             const Expression& b, const Expression& mask_x,
                                             const Expression& mask_h,
                                             float weightnoise_std = 0.0f);
Expression vanilla_lstm_c(const Expression& c, const Expression& gates);
Expression vanilla_lstm_h(const Expression& c, const Expression& gates);

}  // namespace dynet_like
