// The pointwise part of the Tree-LSTM cell whose forget gates read only their own child.
#pragma once

#include <cstddef>

namespace dynet_like::bench::by_hand {

/// For `count` nodes:
///   i, o, f_left, f_right = sigmoid and u = tanh of their sums
///   c = i * u + f_left * c_left + f_right * c_right;  h = o * tanh(c)
struct OwnForgetForward {
  std::size_t hidden, count;
  const float* sums;                    ///< of i, o, u, node by node
  const float *left_sums, *right_sums;  ///< of the forget gates, node by node
  const void *const *left_c, *const *right_c;
  float* states;  ///< h and c, node by node
  float* saved;   ///< kOwnForgetSaved blocks of `hidden` per node; null if nothing is to be saved
};
constexpr std::size_t kOwnForgetSaved = 6;  ///< i, o, u, f_left, f_right, tanh c
void forward(const OwnForgetForward& nodes);

/// Gradients of the same nodes. Those of the sums are in the order i, o, u, f_left, f_right.
struct OwnForgetBackward {
  std::size_t hidden, count;
  const void* const* dstates;
  const void *const *left_c, *const *right_c;
  const float* saved;
  float* dsums;
  void *const *left_dc, *const *right_dc;
};
void backward(const OwnForgetBackward& nodes);

}  // namespace dynet_like::bench::by_hand
