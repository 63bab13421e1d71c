// The pointwise parts of the Tree-LSTM by hand, forward and backward, item by item.
#pragma once

#include <cstddef>

namespace dynet_like::bench::by_hand {

/// What one node keeps. In `gates` are the five sums, f_l, f_r, i, o and u, hidden rows each, then
/// the gates, and then the gradients of the sums; a leaf has only the last three.
struct Cell {
  float *gates, *h, *c;
  float *dh, *dc;  ///< gradients: of h from all that reads it, of c from the parent
};

/// c = i * u + f_l * c_l + f_r * c_r;  h = o * tanh(c)  (Tai et al. 2015). Without children for a
/// leaf.
void leaf_forward(std::size_t hidden, const Cell& cell);
void inner_forward(std::size_t hidden, const Cell& cell, const Cell& left, const Cell& right);

/// Turns the gates into the gradients of their sums; writes dc of the children.
void leaf_backward(std::size_t hidden, const Cell& cell);
void inner_backward(std::size_t hidden, const Cell& cell, const Cell& left, const Cell& right);

/// The sum over n nodes of -log softmax(scores)[label]; `with_gradient`: scores become the gradient
/// of it. The classes of node i are scores[i * classes], at most 16 of them.
double softmax_losses(std::size_t n, std::size_t classes, float* scores, const unsigned* labels,
                      bool with_gradient);

/// sum += x_0 + x_1 + ..., rows of that size one behind the other; y += factor * x.
void add_rows(std::size_t n, std::size_t size, const float* x, float* sum);
void add_scaled(std::size_t size, float factor, const float* x, float* y);

}  // namespace dynet_like::bench::by_hand
