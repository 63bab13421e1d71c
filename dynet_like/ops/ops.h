// The operations: everything that makes an Expression. Read this to know what there is.
//
// Every operation batches automatically: equal operations on equal shapes run in one kernel call,
// whichever samples they belong to. Every operation takes a minibatch dimension: inputs have the
// same number of minibatch elements, or one, which then serves all. Shapes below are those of one
// minibatch element. Shapes that do not fit throw ShapeError, arguments out of range UsageError.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "dynet_like/core/dim.h"

namespace dynet_like {

class ComputationGraph;
class LookupParameter;
class Parameter;
struct CellState;
struct Expression;
struct Op;

// ---------------------------------------------------------------------------------- sources

/// Data of the user: copied now. Those behind a pointer are read when the graph runs, and must live
/// until then. Shapes: `dim`, or {1} for one number.
Expression input(ComputationGraph& graph, float value);
Expression input(ComputationGraph& graph, const float* value);
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<float>& values);
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<float>* values);

/// The same number everywhere.
Expression constant(ComputationGraph& graph, const Dim& dim, float value);
Expression zeros(ComputationGraph& graph, const Dim& dim);
Expression ones(ComputationGraph& graph, const Dim& dim);

/// A parameter, or a whole table with the rows as its last dimension; `const_`: without gradient.
/// Asked for twice, it is the same node.
Expression parameter(ComputationGraph& graph, const Parameter& parameter);
Expression parameter(ComputationGraph& graph, const LookupParameter& table);
Expression const_parameter(ComputationGraph& graph, const Parameter& parameter);
Expression const_parameter(ComputationGraph& graph, const LookupParameter& table);

/// A row of a table; several rows make a minibatch. `const_`: without gradient.
Expression lookup(ComputationGraph& graph, const LookupParameter& table, unsigned row);
Expression lookup(ComputationGraph& graph, const LookupParameter& table,
                  const std::vector<unsigned>& rows);
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table, unsigned row);
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table,
                        const std::vector<unsigned>& rows);

// ------------------------------------------------------------------------------- arithmetic

/// Element by element. Dimensions of size 1 stretch to those of the other input.
Expression operator+(const Expression& a, const Expression& b);
Expression operator-(const Expression& a, const Expression& b);
Expression cmult(const Expression& a, const Expression& b);
Expression cdiv(const Expression& a, const Expression& b);
Expression operator/(const Expression& a, const Expression& b);

/// With a number. Different numbers do not keep nodes from being batched.
Expression operator-(const Expression& x);
Expression operator+(const Expression& x, float c);
Expression operator+(float c, const Expression& x);
Expression operator-(const Expression& x, float c);
Expression operator-(float c, const Expression& x);
Expression operator*(const Expression& x, float c);
Expression operator*(float c, const Expression& x);
Expression operator/(const Expression& x, float c);

/// Matrix product. Shapes: {m, k} {k, n} -> {m, n}; {m, k} {k} -> {m}.
Expression operator*(const Expression& a, const Expression& b);
/// b + W1 x1 + W2 x2 + ..., from {b, W1, x1, W2, x2, ...}; at most 16 products.
/// Shapes: {m} {m, k1} {k1} ... -> {m}, or {m, n} if the x are {k, n}; b may be {m} then, too.
Expression affine_transform(std::initializer_list<Expression> xs);
Expression affine_transform(const std::vector<Expression>& xs);
/// Sum of all a * b, and of all (a - b)^2. Shapes: equal -> {1}.
Expression dot_product(const Expression& a, const Expression& b);
Expression squared_distance(const Expression& a, const Expression& b);

// --------------------------------------------------------------------------- sums and means

/// Sum and mean of expressions of one shape.
Expression sum(std::initializer_list<Expression> xs);
Expression sum(const std::vector<Expression>& xs);
Expression average(std::initializer_list<Expression> xs);
Expression average(const std::vector<Expression>& xs);
/// Sum and mean of all elements. Shapes: any -> {1}.
Expression sum_elems(const Expression& x);
Expression mean_elems(const Expression& x);
/// Sum and mean over dimensions, which disappear; `batches`: over the minibatch too.
Expression sum_dim(const Expression& x, const std::vector<unsigned>& dimensions,
                   bool batches = false);
Expression mean_dim(const Expression& x, const std::vector<unsigned>& dimensions,
                    bool batches = false);
/// Sum and mean over the minibatch.
Expression sum_batches(const Expression& x);
Expression mean_batches(const Expression& x);

// ------------------------------------------------------------------------- element by element

Expression tanh(const Expression& x);
/// 1 / (1 + e^-x)
Expression logistic(const Expression& x);
/// max(x, 0)
Expression rectify(const Expression& x);
Expression exp(const Expression& x);
Expression log(const Expression& x);
Expression sqrt(const Expression& x);
Expression square(const Expression& x);

// ------------------------------------------------------------------------------------ shapes

/// One behind the other along dimension d. Shapes: equal but for dimension d.
Expression concatenate(std::initializer_list<Expression> xs, unsigned d = 0);
Expression concatenate(const std::vector<Expression>& xs, unsigned d = 0);
Expression concatenate_cols(std::initializer_list<Expression> xs);
Expression concatenate_cols(const std::vector<Expression>& xs);
/// Element v of dimension d, which disappears; several v: one per minibatch element.
Expression pick(const Expression& x, unsigned v, unsigned d = 0);
Expression pick(const Expression& x, const std::vector<unsigned>& v, unsigned d = 0);
/// Elements start to end - 1 of dimension d. No copy where they lie one behind the other.
Expression pick_range(const Expression& x, unsigned start, unsigned end, unsigned d = 0);
/// Elements of the minibatch. No copy.
Expression pick_batch_elem(const Expression& x, unsigned v);
/// The same elements, column by column, in another shape. No copy.
Expression reshape(const Expression& x, const Dim& dim);
/// Dimension i of the result is dimension dims[i] of x.
Expression transpose(const Expression& x, const std::vector<unsigned>& dims = {1, 0});

// ------------------------------------------------------------------------------------ cells

/// LSTM and Tree-LSTM cells in one node, from the cells c_1, c_2, ... of the children (a sequence
/// has one, a leaf none) and the map s = b + W1 x1 + W2 x2 + ..., xs being {W1, x1, W2, x2, ...}:
///   f_k, i, o = logistic and u = tanh of the blocks of s
///   c = i * u + f_1 * c_1 + f_2 * c_2 + ...;  h = o * tanh(c)
/// Blocks of rows are in the order f_1, f_2, ..., i, o, u; `input_first`: i, f_1, f_2, ..., o, u.
/// Shapes: b {(3 + children) n}, W {(3 + children) n, k}, x {k}, c {n} -> {n} and {n}.
/// Hochreiter and Schmidhuber (1997), Gers et al. (2000), Tai et al. (2015).
CellState lstm_cell(const Expression& b, std::span<const Expression> xs,
                    std::span<const Expression> cells, bool input_first = false);
/// A gated recurrent unit (Cho et al. 2014) with the reset gate behind the product, in one node:
///   r, z = logistic(b_x + W x + b_h + U h) in their blocks
///   n = tanh(b_x + W x + r * (b_h + U h));  h' = (1 - z) * n + z * h
/// Blocks of rows are in the order r, z, n; {b_x, W, x} may be left out.
/// Shapes: b {3n}, U {3n, n}, W {3n, k}, x {k}, h {n} -> {n}.
Expression gru_cell(const Expression& b_h, const Expression& u, const Expression& h);
Expression gru_cell(const Expression& b_h, const Expression& u, const Expression& h,
                    const Expression& b_x, const Expression& w, const Expression& x);

// ---------------------------------------------------------------- softmax, losses, the rest

/// Softmax along dimension d, and its logarithm.
Expression softmax(const Expression& x, unsigned d = 0);
Expression log_softmax(const Expression& x, unsigned d = 0);
/// Negative log likelihood of class v; several v: one per minibatch element. Shapes: {n} -> {1}.
Expression pickneglogsoftmax(const Expression& x, unsigned v);
Expression pickneglogsoftmax(const Expression& x, const std::vector<unsigned>& v);

/// Zero with probability p, else x / (1 - p) (Srivastava et al. 2014). Needs GraphOptions::random.
/// Leave it out, or p 0, where you do not train.
Expression dropout(const Expression& x, float p);
/// x, through which no gradient flows.
Expression nobackprop(const Expression& x);

// ---------------------------------------------------------------------------------- any op

/// A node of any op, the user's own too: see docs/custom_ops.md. Numbers are per minibatch element.
Expression apply_op(const Op& op, std::span<const Expression> inputs,
                    std::span<const std::uint32_t> attributes = {},
                    std::span<const std::uint32_t> integers = {},
                    std::span<const double> reals = {});

}  // namespace dynet_like
