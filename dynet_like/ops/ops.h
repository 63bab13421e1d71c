// All operations except those of chains.h: the functions that make an Expression.
//
// Every operation batches automatically: equal operations on equal shapes run in one kernel call,
// whichever samples they belong to. Every operation takes a minibatch dimension: inputs have the
// same number of elements, or one, which is used for all. Shapes below are those of one minibatch
// element. Shapes that do not fit throw ShapeError, arguments out of range UsageError.
//
// If an operand of max, min, max_dim, min_dim, pooling, relu or hinge is NaN, so is the result.
// Where equal elements tie in max, min or pooling, the first one gets the gradient.
#pragma once

#include <cstdint>
#include <vector>

#include "dynet_like/core/dim.h"
#include "dynet_like/core/list_of.h"
#include "dynet_like/ops/attention_options.h"
#include "dynet_like/ops/integers_at.h"

namespace dynet_like {

class ComputationGraph;
class LookupParameter;
class Parameter;
struct CellState;
class Expression;
namespace ops {
struct Op;
}

/// A list of expressions: pass it in braces, or as a vector, an array or a span.
using Expressions = ListOf<Expression>;

/// The gradient of a step function: zero, as its derivative, or the output's gradient unchanged.
enum class GradientMode { zero_gradient, straight_through_gradient };

// `IntegersAt` takes a pointer to integers, which are read when the graph runs.

// --------------------------------------------------------------------------------------- sources

/// Your data. Values are copied now; values behind a pointer are read when the graph runs, and must
/// live until then. Shapes: `dim`, or {1} for one number.
Expression input(ComputationGraph& graph, float value);
Expression input(ComputationGraph& graph, const float* value);
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<float>& values);
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<float>* values);

/// Zeros except for a 1 at `index`; several indices make a minibatch. Shapes: {n}.
Expression one_hot(ComputationGraph& graph, unsigned n, unsigned index);
Expression one_hot(ComputationGraph& graph, unsigned n, const std::vector<unsigned>& indices);
/// `elsewhere` in all elements except those listed, which are numbered over the whole minibatch.
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<unsigned>& elements,
                 const std::vector<float>& values, float elsewhere = 0.0f);

/// The same number everywhere.
Expression constant(ComputationGraph& graph, const Dim& dim, float value);
Expression zeros(ComputationGraph& graph, const Dim& dim);
Expression ones(ComputationGraph& graph, const Dim& dim);

/// A parameter, or a whole table with the rows as its last dimension; `const_`: without gradient.
/// Two calls for one parameter give the same node.
Expression parameter(ComputationGraph& graph, const Parameter& parameter);
Expression parameter(ComputationGraph& graph, const LookupParameter& table);
Expression const_parameter(ComputationGraph& graph, const Parameter& parameter);
Expression const_parameter(ComputationGraph& graph, const LookupParameter& table);

/// A row of a table; several rows make a minibatch. `const_`: without gradient.
Expression lookup(ComputationGraph& graph, const LookupParameter& table, unsigned row);
Expression lookup(ComputationGraph& graph, const LookupParameter& table,
                  const std::vector<unsigned>& rows);
Expression lookup(ComputationGraph& graph, const LookupParameter& table, IntegersAt rows);
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table, unsigned row);
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table,
                        const std::vector<unsigned>& rows);
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table, IntegersAt rows);

// ------------------------------------------------------------------------------------ arithmetic

/// Element by element. Dimensions of size 1 stretch to those of the other input. `mul` is `cmult`,
/// DyNet's name.
Expression operator+(const Expression& a, const Expression& b);
Expression operator-(const Expression& a, const Expression& b);
Expression mul(const Expression& a, const Expression& b);
Expression cmult(const Expression& a, const Expression& b);
Expression cdiv(const Expression& a, const Expression& b);
Expression operator/(const Expression& a, const Expression& b);

/// With a number. Nodes with different numbers still share a batch.
Expression operator-(const Expression& x);
Expression operator+(const Expression& x, float c);
Expression operator+(float c, const Expression& x);
Expression operator-(const Expression& x, float c);
Expression operator-(float c, const Expression& x);
Expression operator*(const Expression& x, float c);
Expression operator*(float c, const Expression& x);
Expression operator/(const Expression& x, float c);

/// The same in place. A chain of += runs one addition at a time: `sum` of all terms is faster.
Expression& operator+=(Expression& a, const Expression& b);
Expression& operator-=(Expression& a, const Expression& b);
Expression& operator+=(Expression& x, float c);
Expression& operator-=(Expression& x, float c);
Expression& operator*=(Expression& x, float c);
Expression& operator/=(Expression& x, float c);

// -------------------------------------------------------------------------------------- products

/// Matrix product. Shapes: {m, k} {k, n} -> {m, n}; {m, k} {k} -> {m}.
Expression operator*(const Expression& a, const Expression& b);
Expression matmul(const Expression& a, const Expression& b);
/// The inverse of a matrix; the natural logarithm of its determinant. For a singular matrix, the
/// inverse is infinite or NaN, and logdet is -infinity; for a negative determinant, logdet is NaN.
/// Shapes: {n, n} -> {n, n}, {1}.
Expression inverse(const Expression& x);
Expression logdet(const Expression& x);
/// b + W1 x1 + W2 x2 + ..., from {b, W1, x1, W2, x2, ...}; at most 16 products.
/// Shapes: {m} {m, k1} {k1} ... -> {m}; or {m, n} if each x is {k, n}, and then b may still be {m}.
Expression affine_transform(Expressions xs);
/// x + bias for every column. Shapes: {n, k} {n} -> {n, k}.
Expression colwise_add(const Expression& x, const Expression& bias);
/// The sum over the last dimension of x times y; the same, times z (plus b).
/// Shapes: {m, n, k} {k} -> {m, n}; {m, n, k} {k} {n} -> {m}.
Expression contract3d_1d(const Expression& x, const Expression& y);
Expression contract3d_1d(const Expression& x, const Expression& y, const Expression& b);
Expression contract3d_1d_1d(const Expression& x, const Expression& y, const Expression& z);
Expression contract3d_1d_1d(const Expression& x, const Expression& y, const Expression& z,
                            const Expression& b);
/// Sum of all a * b, and of all (a - b)^2. Shapes: equal -> {1}.
Expression dot_product(const Expression& a, const Expression& b);
Expression squared_distance(const Expression& a, const Expression& b);
/// The trace of x y'. Shapes: equal -> {1}.
Expression trace_of_product(const Expression& x, const Expression& y);

// -------------------------------------------------------------------------- activation functions

Expression tanh(const Expression& x);
/// tanh(a + b) in one node; shapes as in a + b.
Expression tanh_of_sum(const Expression& a, const Expression& b);
/// 1 / (1 + e^-x)
Expression sigmoid(const Expression& x);
/// max(x, 0); and the same, but slope x for x < 0
Expression relu(const Expression& x);
Expression leaky_relu(const Expression& x, float slope = 0.01f);
/// x (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel 2016), and its approximation by tanh
Expression gelu(const Expression& x);
Expression gelu_tanh(const Expression& x);
/// ln(1 + e^x), exact for large |x| too
Expression softplus(const Expression& x);
/// elu: x for x > 0, else alpha (e^x - 1) (Clevert et al. 2016); selu: elu with the constants of
/// Klambauer et al. (2017); silu: x sigmoid(beta x) (Elfwing et al. 2018); softsign: x / (1 + |x|)
Expression elu(const Expression& x, float alpha = 1.0f);
Expression selu(const Expression& x);
Expression silu(const Expression& x, float beta = 1.0f);
Expression softsign(const Expression& x);
/// ln sigmoid(x), exact for large |x| too
Expression log_sigmoid(const Expression& x);

// ---------------------------------------------------------------------------- softmax and losses

/// Softmax along dimension d, and its logarithm. Both are NaN if an element is infinity, or if all
/// are -infinity.
Expression softmax(const Expression& x, unsigned d = 0);
Expression log_softmax(const Expression& x, unsigned d = 0);
/// The log-probabilities of a pointer-generator (See et al. 2017): ln(g softmax(x) + (1 - g)
/// copied), where x are the scores of n words and g = sigmoid(gate). A word's share in `copied` is
/// the sum of the weights of its places i in the source, where words[i] is that word. Nodes of any
/// k share a batch. Shapes: x {n}, gate {1}, weights of k elements, k words -> {n}. Throws
/// UsageError for a word that is not below n.
Expression copy_log_softmax(const Expression& x, const Expression& gate, const Expression& weights,
                            const std::vector<unsigned>& words);
/// -ln of the softmax of x at the right class: the loss of a classifier. Several classes: one for
/// each minibatch element, or for each column of a matrix, whose losses then form a minibatch. With
/// `smoothing` s, from 0 to 1, the target is s times the uniform distribution plus 1 - s at the
/// right class (Szegedy et al. 2016); this takes more nodes. Shapes: {classes} -> {1}; {classes, n}
/// with n right classes -> {1}, n minibatch elements.
Expression cross_entropy(const Expression& x, unsigned right, float smoothing = 0.0f);
Expression cross_entropy(const Expression& x, const std::vector<unsigned>& right,
                         float smoothing = 0.0f);
Expression cross_entropy(const Expression& x, IntegersAt right, float smoothing = 0.0f);
/// Over these classes only, at least one; the result is -infinity for all others.
Expression log_softmax(const Expression& x, const std::vector<unsigned>& restriction);

/// The sum of max(0, margin - x[index] + x[k]) over all other k. Several indices: one per minibatch
/// element; for hinge_dim, one per line along dimension d, in order. Shapes: {n} -> {1}; dimension
/// d disappears.
Expression hinge(const Expression& x, unsigned index, float margin = 1.0f);
Expression hinge(const Expression& x, const std::vector<unsigned>& indices, float margin = 1.0f);
Expression hinge(const Expression& x, IntegersAt indices, float margin = 1.0f);
Expression hinge_dim(const Expression& x, const std::vector<unsigned>& indices, unsigned d = 0,
                     float margin = 1.0f);
Expression hinge_dim(const Expression& x, IntegersAt indices, unsigned d = 0, float margin = 1.0f);
Expression hinge_dim(const Expression& x, const std::vector<std::vector<unsigned>>& indices,
                     unsigned d = 0, float margin = 1.0f);
/// Sums over all elements. l1: |x - y|. huber: d^2 / 2 where d = |x - y| < c, else c (d - c / 2)
/// (Huber 1964). binary_log_loss: -(y ln x + (1 - y) ln(1 - x)) for probabilities x, with 0 ln 0 =
/// 0, and -ln of the smallest normal number in place of infinity. Shapes: equal -> {1}.
Expression l1_distance(const Expression& x, const Expression& y);
Expression huber_distance(const Expression& x, const Expression& y, float c = 1.345f);
Expression binary_log_loss(const Expression& x, const Expression& y);
/// -(y ln p + (1 - y) ln(1 - p)) with p = sigmoid(x), summed over all elements; exact however
/// large the x are. Shapes: equal -> {1}.
Expression binary_cross_entropy_with_logits(const Expression& x, const Expression& y);
/// The sum of all p (ln p - ln q) (Kullback and Leibler 1951). Its arguments are logarithms, such
/// as log_softmax returns; terms with p = 0 are 0. Shapes: equal -> {1}.
Expression kl_divergence(const Expression& log_p, const Expression& log_q);
/// x'y / (|x| |y|) for every column, in fourteen nodes. Where |x| or |y| is below 1e-12, the result
/// and its gradient are close to 0. Shapes: {n} {n} -> {1}; {n, k} {n, k} -> {k}.
Expression cosine_similarity(const Expression& x, const Expression& y);
/// max(0, margin + |a - p|^2 - |a - n|^2) (Schroff et al. 2015), five nodes. Shapes: equal -> {1}.
Expression triplet_loss(const Expression& anchor, const Expression& positive,
                        const Expression& negative, float margin = 1.0f);
/// |x - y|^2 where `same` is 1, max(0, margin - |x - y|)^2 where it is 0 (Hadsell et al. 2006), in
/// ten nodes. Shapes: {n} {n} {1} -> {1}.
Expression contrastive_loss(const Expression& x, const Expression& y, const Expression& same,
                            float margin = 1.0f);
/// max(0, margin - x + y), element by element.
Expression pairwise_rank_loss(const Expression& x, const Expression& y, float margin = 1.0f);
/// -ln of the probability of y for a Poisson distribution whose mean is e^x; several y behind a
/// pointer: one per minibatch element. Shapes: {1} -> {1}.
Expression poisson_loss(const Expression& x, unsigned y);
Expression poisson_loss(const Expression& x, IntegersAt y);

// ------------------------------------------------------------------------------------ attention

/// For every query (column of q) the mean of the values (columns of v), weighted by the softmax
/// over keys (columns of k) of q k / sqrt(d / heads). Every head uses its own share of the rows of
/// q, k and v (Vaswani et al. 2017). Nodes with any numbers of queries and keys share a batch.
/// Shapes: q {d, m} or {d}, k {d, n}, v {e, n} -> {e, m} or {e}; one key may be {d}, its value {e}.
Expression attention(const Expression& q, const Expression& k, const Expression& v,
                     const AttentionOptions& options = {});
/// The weights themselves: the softmax over keys of q k / sqrt(d / heads), for each head. Nodes
/// with different numbers of keys share a batch; every query is a node of its own. Shapes: q {d}, k
/// {d, n} -> {heads, n}; q {d, m} -> {heads, n, m}.
Expression attention_weights(const Expression& q, const Expression& k, unsigned heads = 1);

// -------------------------------------------------------------------- dropout and random numbers

/// Random numbers. `noise` adds normal ones in training, and nothing in inference. A graph outside
/// a minibatch needs GraphOptions::seed. Arguments must be finite, left <= right, and stddev and
/// beta at least 0.
Expression random_uniform(ComputationGraph& graph, const Dim& dim, float left, float right);
Expression random_normal(ComputationGraph& graph, const Dim& dim, float mean = 0.0f,
                         float stddev = 1.0f);
/// `scale` with probability p, from 0 to 1, else 0.
Expression random_bernoulli(ComputationGraph& graph, const Dim& dim, float p, float scale = 1.0f);
Expression random_gumbel(ComputationGraph& graph, const Dim& dim, float mu = 0.0f,
                         float beta = 1.0f);
Expression noise(const Expression& x, float stddev);
/// 0 with probability p, else x / (1 - p) (Srivastava et al. 2014). In inference it is x.
Expression dropout(const Expression& x, float p);
/// The same by a product with a mask, for elements together: dropout_dim for all elements along
/// dimension d, dropout_batch for a whole minibatch element, block_dropout for all of x.
Expression dropout_dim(const Expression& x, unsigned d, float p);
Expression dropout_batch(const Expression& x, float p);
Expression block_dropout(const Expression& x, float p);

// ------------------------------------------------------------------------- sums, extremes, norms

/// Sum and mean of expressions of one shape. A single expression is returned as it is.
Expression sum(Expressions xs);
Expression average(Expressions xs);
/// Sum and mean of all elements; where the sum overflows, so does the mean. Shapes: any -> {1}.
Expression sum_elems(const Expression& x);
Expression mean_elems(const Expression& x);
/// Sum and mean over dimensions, which disappear; `batches`: over the minibatch as well.
Expression sum_dim(const Expression& x, const std::vector<unsigned>& dimensions,
                   bool batches = false);
Expression mean_dim(const Expression& x, const std::vector<unsigned>& dimensions,
                    bool batches = false);
/// The largest and the smallest element along dimension d, which disappears.
Expression max_dim(const Expression& x, unsigned d = 0);
Expression min_dim(const Expression& x, unsigned d = 0);
/// 1 at the largest element of every column (the first of equal ones), else 0.
Expression argmax(const Expression& x, GradientMode mode);
/// The running (cumulative) sum along dimension d: x1, x1 + x2, x1 + x2 + x3, ...
Expression cumsum(const Expression& x, unsigned d);
/// ln(e^x1 + e^x2 + ...) along dimension d, which disappears; or over expressions of one shape,
/// element by element. It does not overflow for large elements.
Expression logsumexp_dim(const Expression& x, unsigned d);
Expression logsumexp(Expressions xs);
/// Sum and mean over the minibatch.
Expression sum_batches(const Expression& x);
Expression mean_batches(const Expression& x);

/// With the divisor n; 0: the number of elements.
Expression mean_dim(const Expression& x, const std::vector<unsigned>& dimensions, bool batches,
                    unsigned n);
/// The mean of x^r; r is at least 1.
Expression moment_elems(const Expression& x, unsigned r);
Expression moment_dim(const Expression& x, const std::vector<unsigned>& dimensions, unsigned r,
                      bool batches = false, unsigned n = 0);
Expression moment_batches(const Expression& x, unsigned r);
/// Standard deviation, sqrt(mean((x - mean)^2)). For equal numbers it is 0, and so is its gradient.
Expression std_elems(const Expression& x);
Expression std_dim(const Expression& x, const std::vector<unsigned>& dimensions,
                   bool batches = false, unsigned n = 0);
Expression std_batches(const Expression& x);
/// The sums of columns, of rows, and the mean of all columns. Shapes: {n, k} -> {k}, {n}, {n}.
Expression sum_rows(const Expression& x);
Expression sum_cols(const Expression& x);
Expression average_cols(const Expression& x);
/// The sum of all x^2, and its square root (whose gradient is 0 at 0).
Expression squared_norm(const Expression& x);
Expression l2_norm(const Expression& x);
/// Every column with mean 0 and deviation 1, times g, plus b (Ba et al. 2016). `epsilon` is added
/// to the variance; equal numbers become b. Shapes: {n} or {n, k}, {n} {n} -> that of x.
Expression layer_norm(const Expression& x, const Expression& g, const Expression& b,
                      float epsilon = 0);
/// g x / sqrt(mean of x^2 + epsilon) for every column (Zhang and Sennrich 2019); zeros stay zeros.
/// Shapes: {n} or {n, k}, {n} -> that of x.
Expression rms_norm(const Expression& x, const Expression& g, float epsilon = 0);
/// g w / |w| (Salimans and Kingma 2016). If all of w is 0, the result is NaN. Shapes: any, {1} ->
/// that of w.
Expression weight_norm(const Expression& w, const Expression& g);
/// The k largest elements along dimension d, in their original order, under two names.
/// top_k_of_columns (core/largest.h) returns their places. Shapes: dimension d becomes k.
Expression kmax_pooling(const Expression& x, unsigned k, unsigned d = 1);
Expression top_k(const Expression& x, unsigned k, unsigned d = 0);

// ---------------------------------------------------------------------------------------- shapes

/// Joins the inputs along dimension d. Shapes: equal except for dimension d.
Expression concatenate(Expressions xs, unsigned d = 0);
Expression concatenate_cols(Expressions xs);
/// Element v of dimension d, which disappears. Several v: one per minibatch element.
Expression pick(const Expression& x, unsigned v, unsigned d = 0);
Expression pick(const Expression& x, const std::vector<unsigned>& v, unsigned d = 0);
Expression pick(const Expression& x, IntegersAt v, unsigned d = 0);
/// Elements start to end - 1 of dimension d. Nothing is copied if they are contiguous in memory.
Expression pick_range(const Expression& x, unsigned start, unsigned end, unsigned d = 0);
/// These rows or columns, in this order, with repetitions allowed. Shapes: {n, k} -> {rows, k}.
Expression select_rows(const Expression& x, const std::vector<unsigned>& rows);
Expression select_rows(const Expression& x, IntegersAt rows);
Expression select_cols(const Expression& x, const std::vector<unsigned>& columns);
Expression select_cols(const Expression& x, IntegersAt columns);
/// x with these rows, or all other rows, replaced by the number. Shapes: that of x.
Expression fill_rows(const Expression& x, ListOf<unsigned> rows, float number);
Expression fill_other_rows(const Expression& x, ListOf<unsigned> rows, float number);
/// Elements of the minibatch. Picking one element copies nothing.
Expression pick_batch_elem(const Expression& x, unsigned v);
Expression pick_batch_elem(const Expression& x, IntegersAt v);
Expression pick_batch_elems(const Expression& x, const std::vector<unsigned>& v);
Expression pick_batch_elems(const Expression& x, IntegersAt v);
/// All minibatch elements of the inputs, as one minibatch. Shapes: equal.
Expression concatenate_to_batch(Expressions xs);
/// Every strides[d]-th element from from[d] to to[d] - 1 of dimension d; the entry after the last
/// dimension is for the minibatch. Missing entries mean: from 0, to the end, every element.
Expression strided_select(const Expression& x, const std::vector<int>& strides,
                          const std::vector<int>& from = {}, const std::vector<int>& to = {});
/// Sums of `rows` consecutive rows. Shapes: {m, k} -> {m / rows, k}.
Expression fold_rows(const Expression& x, unsigned rows = 2);
/// The same elements, column by column, in another shape. Nothing is copied.
Expression reshape(const Expression& x, const Dim& dim);
/// Dimension i of the result is dimension dims[i] of x.
Expression transpose(const Expression& x, const std::vector<unsigned>& dims = {1, 0});

// --------------------------------------------------------------------------- places and segments

/// These elements along dimension d, in this order, with repetitions allowed. Shapes: dimension d
/// becomes their number.
Expression gather(const Expression& x, const std::vector<unsigned>& places, unsigned d = 0);
Expression gather(const Expression& x, IntegersAt places, unsigned d = 0);
/// Element i along dimension d goes to place places[i] of `count`. The result is the sum, or the
/// largest, at each place (0 or -infinity at an empty one). Shapes: dimension d becomes `count`.
Expression scatter_add(const Expression& x, const std::vector<unsigned>& places, unsigned count,
                       unsigned d = 0);
Expression scatter_max(const Expression& x, const std::vector<unsigned>& places, unsigned count,
                       unsigned d = 0);
/// Segments are the first lengths[0] columns, the next lengths[1], and so on; `d`: along another
/// dimension. For each: sum and mean (0 if it is empty), largest element (-infinity if it is
/// empty), softmax.
/// Shapes: {n, k} -> {n, segments}; for softmax, that of x.
Expression segment_sum(const Expression& x, const std::vector<unsigned>& lengths, unsigned d = 1);
Expression segment_mean(const Expression& x, const std::vector<unsigned>& lengths, unsigned d = 1);
Expression segment_max(const Expression& x, const std::vector<unsigned>& lengths, unsigned d = 1);
Expression segment_softmax(const Expression& x, const std::vector<unsigned>& lengths,
                           unsigned d = 1);

// ----------------------------------------------------------------------------------------- cells

/// LSTM and Tree-LSTM cells in one node, from the cells c_1, c_2, ... of the children (one in a
/// sequence, none at a leaf) and s = b + W1 x1 + W2 x2 + ..., where xs = {W1, x1, W2, x2, ...}:
///   f_k, i, o = sigmoid and u = tanh of the blocks of s
///   c = i * u + f_1 * c_1 + f_2 * c_2 + ...;  h = o * tanh(c)
/// Blocks of rows are in the order f_1, f_2, ..., i, o, u; `input_first`: i, f_1, f_2, ..., o, u.
/// Shapes: b {(3 + children) n}, W {(3 + children) n, k}, x {k}, c {n} -> {n} and {n}.
/// Hochreiter and Schmidhuber (1997), Gers et al. (2000), Tai et al. (2015).
CellState lstm_cell(const Expression& b, Expressions xs, Expressions cells,
                    bool input_first = false);
/// A gated recurrent unit (Cho et al. 2014), with the reset gate after the product, in one node:
///   r, z = sigmoid(b_x + W x + b_h + U h) in their blocks
///   n = tanh(b_x + W x + r * (b_h + U h));  h' = (1 - z) * n + z * h
/// Blocks of rows are in the order r, z, n; {b_x, W, x} may be left out.
/// Shapes: b {3n}, U {3n, n}, W {3n, k}, x {k}, h {n} -> {n}.
Expression gru_cell(const Expression& b_h, const Expression& u, const Expression& h);
Expression gru_cell(const Expression& b_h, const Expression& u, const Expression& h,
                    const Expression& b_x, const Expression& w, const Expression& x);

// ------------------------------------------------------------------------------------- functions

Expression exp(const Expression& x);
Expression log(const Expression& x);
/// ln |gamma(x)|, infinite at 0, -1, -2, ...
Expression lgamma(const Expression& x);
Expression erf(const Expression& x);
Expression sqrt(const Expression& x);
Expression square(const Expression& x);
Expression cube(const Expression& x);
Expression abs(const Expression& x);
Expression sin(const Expression& x);
Expression cos(const Expression& x);
Expression tan(const Expression& x);
Expression asin(const Expression& x);
Expression acos(const Expression& x);
Expression atan(const Expression& x);
Expression sinh(const Expression& x);
Expression cosh(const Expression& x);
Expression asinh(const Expression& x);
Expression acosh(const Expression& x);
Expression atanh(const Expression& x);

/// The nearest integer (halves away from zero), the next above, the next below.
Expression round(const Expression& x, GradientMode mode);
Expression ceil(const Expression& x, GradientMode mode);
Expression floor(const Expression& x, GradientMode mode);

// ----------------------------------------------------------------------- comparisons and choices

/// Element by element; dimensions of size 1 stretch. In min and max, x gets the gradient of a tie.
Expression pow(const Expression& x, const Expression& y);
Expression pow(const Expression& x, float y);
Expression min(const Expression& x, const Expression& y);
Expression max(const Expression& x, const Expression& y);
Expression min(const Expression& x, float c);
Expression max(const Expression& x, float c);
Expression min(Expressions xs);
Expression max(Expressions xs);
/// The nearest number in [low, high], in two nodes; the gradient is 0 outside, and 1 at both ends.
Expression clip(const Expression& x, float low, float high);

/// -1, 0 or 1; without gradient.
Expression sign(const Expression& x);
/// 1 where the comparison holds, else 0 (also if an operand is NaN); without gradient. For such
/// results p and q, cmult(p, q) is "and", max(p, q) is "or", 1.0f - p is "not".
Expression less(const Expression& a, const Expression& b);
Expression less(const Expression& a, float b);
Expression less_equal(const Expression& a, const Expression& b);
Expression less_equal(const Expression& a, float b);
Expression greater(const Expression& a, const Expression& b);
Expression greater(const Expression& a, float b);
Expression greater_equal(const Expression& a, const Expression& b);
Expression greater_equal(const Expression& a, float b);
Expression equal(const Expression& a, const Expression& b);
Expression equal(const Expression& a, float b);
/// a where the condition is not 0, else b, in three nodes; NaN where the condition is NaN. The
/// condition gets no gradient, and the input that is not chosen gets 0. 0 times an infinite slope,
/// as of log(x) at 0, is NaN: then write where(p, log(where(p, x, ones(graph, {1}))), b).
Expression where(const Expression& condition, const Expression& a, const Expression& b);

// ------------------------------------------------------------------------------------- gradients

/// x itself; its gradient is stopped, negated or scaled.
Expression nobackprop(const Expression& x);
Expression flip_gradient(const Expression& x);
Expression scale_gradient(const Expression& x, float factor = 1.0f);

// ---------------------------------------------------------------------- convolutions and pooling

/// Every filter over all windows, `stride` rows and columns apart, plus a number of `b` per filter.
/// `is_valid`: no padding; else zeros pad x so that there are ceil(size / stride) windows. Shapes:
/// {height, width, channels} {h, w, channels, filters} -> {height', width', filters}.
Expression conv2d(const Expression& x, const Expression& f, const std::vector<unsigned>& stride,
                  bool is_valid = true);
Expression conv2d(const Expression& x, const Expression& f, const Expression& b,
                  const std::vector<unsigned>& stride, bool is_valid = true);
/// The largest element of every window, per channel. Windows as in conv2d.
Expression maxpooling2d(const Expression& x, const std::vector<unsigned>& ksize,
                        const std::vector<unsigned>& stride, bool is_valid = true);
/// Filters that slide over columns. Shapes: {n, k} {n, w, filters} -> {filters, k - w + 1}.
Expression filter1d_narrow(const Expression& x, const Expression& f);
/// Element i is the sum over k of u[k] v[(i - k) mod n], or of u[k] v[(i + k) mod n]. Shapes: {n}
/// {n} -> {n}.
Expression circ_conv(const Expression& u, const Expression& v);
Expression circ_corr(const Expression& u, const Expression& v);

// ----------------------------------------------------------------------------------- projections

/// The projection of x onto the simplex, and its loss for a target that is uniform over some
/// classes (Martins and Astudillo 2016). Infinite elements give NaN. Shapes: {n} -> {n}, {1}.
Expression sparsemax(const Expression& x);
Expression sparsemax_loss(const Expression& x, const std::vector<unsigned>& target);
Expression sparsemax_loss(const Expression& x, IntegersAt target);
/// The softmax of x with no element above its bound in y; the bounds must add up to 1 or more
/// (Martins and Kreutzer 2017). Shapes: {n} {n} -> {n}.
Expression constrained_softmax(const Expression& x, const Expression& y);

// ---------------------------------------------------------------------------------------- any op

/// A node of any op, including your own: see docs/custom_ops.md. Numbers are per minibatch element.
Expression apply_op(const ops::Op& op, Expressions inputs, ListOf<std::uint32_t> attributes = {},
                    ListOf<std::uint32_t> integers = {}, ListOf<double> reals = {});

}  // namespace dynet_like
