// DyNet's expr.h: the functions that make an Expression. They are the library's own.
#pragma once

#include "dynet/dynet.h"
#include "dynet_like/ops/dynet_ops.h"
#include "dynet_like/ops/ops.h"

namespace dynet {

using enum dynet_like::GradientMode;
using dynet_like::GradientMode;

// Operators need no declaration here: argument-dependent lookup finds them.
using dynet_like::abs;
using dynet_like::acos;
using dynet_like::acosh;
using dynet_like::affine_transform;
using dynet_like::argmax;
using dynet_like::asin;
using dynet_like::asinh;
using dynet_like::atan;
using dynet_like::atanh;
using dynet_like::average;
using dynet_like::average_cols;
using dynet_like::binary_log_loss;
using dynet_like::block_dropout;
using dynet_like::cdiv;
using dynet_like::ceil;
using dynet_like::circ_conv;
using dynet_like::circ_corr;
using dynet_like::cmult;
using dynet_like::colwise_add;
using dynet_like::concatenate;
using dynet_like::concatenate_cols;
using dynet_like::concatenate_to_batch;
using dynet_like::const_lookup;
using dynet_like::const_parameter;
using dynet_like::constant;
using dynet_like::constrained_softmax;
using dynet_like::contract3d_1d;
using dynet_like::contract3d_1d_1d;
using dynet_like::conv2d;
using dynet_like::cos;
using dynet_like::cosh;
using dynet_like::cube;
using dynet_like::cumsum;
using dynet_like::dot_product;
using dynet_like::dropout;
using dynet_like::dropout_batch;
using dynet_like::dropout_dim;
using dynet_like::elu;
using dynet_like::erf;
using dynet_like::exp;
using dynet_like::filter1d_narrow;
using dynet_like::flip_gradient;
using dynet_like::floor;
using dynet_like::fold_rows;
using dynet_like::hinge;
using dynet_like::hinge_dim;
using dynet_like::huber_distance;
using dynet_like::input;
using dynet_like::inverse;
using dynet_like::kmax_pooling;
using dynet_like::kmh_ngram;
using dynet_like::l1_distance;
using dynet_like::l2_norm;
using dynet_like::layer_norm;
using dynet_like::lgamma;
using dynet_like::log;
using dynet_like::log_sigmoid;
using dynet_like::log_softmax;
using dynet_like::logdet;
using dynet_like::logsumexp;
using dynet_like::logsumexp_dim;
using dynet_like::lookup;
using dynet_like::max;
using dynet_like::max_dim;
using dynet_like::maxpooling2d;
using dynet_like::mean_batches;
using dynet_like::mean_dim;
using dynet_like::mean_elems;
using dynet_like::min;
using dynet_like::min_dim;
using dynet_like::moment_batches;
using dynet_like::moment_dim;
using dynet_like::moment_elems;
using dynet_like::nobackprop;
using dynet_like::noise;
using dynet_like::one_hot;
using dynet_like::ones;
using dynet_like::pairwise_rank_loss;
using dynet_like::parameter;
using dynet_like::pick;
using dynet_like::pick_batch_elem;
using dynet_like::pick_batch_elems;
using dynet_like::pick_range;
using dynet_like::poisson_loss;
using dynet_like::pow;
using dynet_like::random_bernoulli;
using dynet_like::random_gumbel;
using dynet_like::random_normal;
using dynet_like::random_uniform;
using dynet_like::reshape;
using dynet_like::round;
using dynet_like::scale_gradient;
using dynet_like::select_cols;
using dynet_like::select_rows;
using dynet_like::selu;
using dynet_like::silu;
using dynet_like::sin;
using dynet_like::sinh;
using dynet_like::softmax;
using dynet_like::softsign;
using dynet_like::sparsemax;
using dynet_like::sparsemax_loss;
using dynet_like::sqrt;
using dynet_like::square;
using dynet_like::squared_distance;
using dynet_like::squared_norm;
using dynet_like::std_batches;
using dynet_like::std_dim;
using dynet_like::std_elems;
using dynet_like::strided_select;
using dynet_like::sum;
using dynet_like::sum_batches;
using dynet_like::sum_cols;
using dynet_like::sum_dim;
using dynet_like::sum_elems;
using dynet_like::sum_rows;
using dynet_like::tan;
using dynet_like::tanh;
using dynet_like::trace_of_product;
using dynet_like::transpose;
using dynet_like::vanilla_lstm_c;
using dynet_like::vanilla_lstm_gates;
using dynet_like::vanilla_lstm_gates_concat;
using dynet_like::vanilla_lstm_gates_dropout;
using dynet_like::vanilla_lstm_gates_dropout_concat;
using dynet_like::vanilla_lstm_h;
using dynet_like::weight_norm;
using dynet_like::zeros;

// The same with a device, which has no effect: see devices.h.

inline Expression input(ComputationGraph& g, real s, Device*) { return input(g, s); }
inline Expression input(ComputationGraph& g, const real* ps, Device*) { return input(g, ps); }
inline Expression input(ComputationGraph& g, const Dim& d, const std::vector<float>& data,
                        Device*) {
  return input(g, d, data);
}
inline Expression input(ComputationGraph& g, const Dim& d, const std::vector<float>* pdata,
                        Device*) {
  return input(g, d, pdata);
}
inline Expression input(ComputationGraph& g, const Dim& d, const std::vector<unsigned>& ids,
                        const std::vector<float>& data, float defdata, Device*) {
  return input(g, d, ids, data, defdata);
}
inline Expression one_hot(ComputationGraph& g, unsigned d, unsigned idx, Device*) {
  return one_hot(g, d, idx);
}
inline Expression one_hot(ComputationGraph& g, unsigned d, const std::vector<unsigned>& ids,
                          Device*) {
  return one_hot(g, d, ids);
}
inline Expression zeros(ComputationGraph& g, const Dim& d, Device*) { return zeros(g, d); }
inline Expression zeroes(ComputationGraph& g, const Dim& d, Device* = nullptr) {
  return zeros(g, d);
}
inline Expression ones(ComputationGraph& g, const Dim& d, Device*) { return ones(g, d); }
inline Expression constant(ComputationGraph& g, const Dim& d, float val, Device*) {
  return constant(g, d, val);
}
inline Expression random_normal(ComputationGraph& g, const Dim& d, float mean, float stddev,
                                Device*) {
  return random_normal(g, d, mean, stddev);
}
inline Expression random_bernoulli(ComputationGraph& g, const Dim& d, real p, real scale, Device*) {
  return random_bernoulli(g, d, p, scale);
}
inline Expression random_uniform(ComputationGraph& g, const Dim& d, real left, real right,
                                 Device*) {
  return random_uniform(g, d, left, right);
}
inline Expression random_gumbel(ComputationGraph& g, const Dim& d, real mu, real beta, Device*) {
  return random_gumbel(g, d, mu, beta);
}
inline Expression to_device(const Expression& x, Device*) { return x; }

/// The old name of pick_range along the first dimension.
inline Expression pickrange(const Expression& x, unsigned s, unsigned e) {
  return pick_range(x, s, e);
}

/// The namespace of these functions in DyNet 1.
namespace expr {
using namespace dynet;
}

// Operations that have another name in the library.

inline Expression logistic(const Expression& x) { return dynet_like::sigmoid(x); }
inline Expression rectify(const Expression& x) { return dynet_like::relu(x); }
inline Expression pickneglogsoftmax(const Expression& x, unsigned v) {
  return dynet_like::cross_entropy(x, v);
}
inline Expression pickneglogsoftmax(const Expression& x, const std::vector<unsigned>& v) {
  return dynet_like::cross_entropy(x, v);
}
inline Expression pickneglogsoftmax(const Expression& x, dynet_like::IntegersAt v) {
  return dynet_like::cross_entropy(x, v);
}

}  // namespace dynet
