// The ops that are not elementwise formulas. Device kernels compute them.
#pragma once

#include <bit>

#include "dynet_like/ops/op.h"

namespace dynet_like::ops {

// Sources: values that exist without a kernel, and constants. Attributes: dtype, then the sizes.
extern const Op input, parameter, lookup_parameter, constant;
/// Integers: the row.
extern const Op lookup;

// Products.
extern const Op matrix_product, affine_transform, dot_product, squared_distance;

// Of square matrices.
extern const Op inverse, logdet;

// Cells. Attributes of lstm_cell: the number of children, and 1 if the input gate comes before the
// forget gates.
extern const Op lstm_cell, gru_cell;

// Sums over inputs, and over one dimension (attribute: the dimension).
extern const Op sum, average, sum_dim, mean_dim;

// Norms along one dimension (attribute: the dimension), and of columns.
extern const Op norm_dim, rms_dim, layer_norm, rms_norm;
/// The epsilon of a layer_norm or rms_norm: its attribute has the bits; without one it is 0.
inline float epsilon_of(const Signature& type) {
  return type.attributes.empty() ? 0 : std::bit_cast<float>(type.attributes[0]);
}

// Along one dimension (attribute 0). select: attribute 1 is the number of integers; kmax_pooling:
// it is the number of elements.
extern const Op max_dim, argmax, cumsum, logsumexp_dim, select, kmax_pooling;

/// Attribute: the number of integers. These are the masks of the rows (see row_masks.h).
extern const Op fill_rows;

/// Of a matrix. Integers: the number of columns, and the first and the end of a segment of these.
extern const Op segment_sum, segment_max;

// Shapes. Attributes: concatenate, the dimension; pick_range, dimension and length (integer: the
// start); transpose, the source of every dimension.
extern const Op identity, concatenate, pick_range, transpose;

// Softmax and its loss. Attribute: the dimension. cross_entropy's integer is the class.
extern const Op softmax, log_softmax, cross_entropy;
/// One column of the softmax along a segment of a matrix's columns. Integers: the number of
/// columns, the first and the end of the segment, and the column.
extern const Op segment_softmax;
/// Of scores, a gate, weights and the words that they belong to. Integer: the number of weights.
extern const Op copy_log_softmax;
/// Of emissions, transitions, start, end and tags, where -1 is any tag. Attribute: the number of
/// columns with room in memory, at least as many as there are. Integer: the number of columns.
extern const Op chain_log_partition;
/// Of log probabilities and labels, where -1 marks the end of the labels. Attribute: how many
/// numbers are kept, at least (2 labels + 1) steps. Integer: the number of steps.
extern const Op ctc_log_probability;

/// Of a query, keys and values. Attribute: the number of heads. Integers: the number of keys, and
/// the first and the end of those that the query sees.
extern const Op attention;
/// The same with dropout of the weights. Integers: those of attention, two of a seed, and the first
/// block of the query's random words (see random_block); every head has a whole number of blocks.
/// Real: the rate.
extern const Op attention_dropout;
/// Of a query and keys: each head's weight of one of the keys. Attribute: the number of heads.
/// Integers: the number of keys, the first and the end of those that the query sees, and the key.
extern const Op attention_weights;

// Vectors. sparsemax_loss: the attribute is the number of integers; the integers are the target.
extern const Op sparsemax, sparsemax_loss, constrained_softmax;

/// Integers: the count.
extern const Op poisson_loss;

// Attributes: the dimension, and the number of lines along it. There is an integer for each line.
extern const Op hinge;

// Random ops: dropout has an input; the others are sources (attributes: dtype, then the sizes).
extern const Op dropout;
extern const Op random_uniform, random_normal, random_bernoulli, random_gumbel;

}  // namespace dynet_like::ops
