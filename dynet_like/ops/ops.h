// All operations but those of chains.h: what makes an Expression. Read this to know what there is.
//
// Every operation batches automatically: equal operations on equal shapes run in one kernel call,
// whichever samples they belong to. Every operation takes a minibatch dimension: inputs have the
// same number of minibatch elements, or one, which then serves all. Shapes below are those of one
// minibatch element. Shapes that do not fit throw ShapeError, arguments out of range UsageError.
//
// A NaN wins over all numbers: it is both the larger and the smaller of the two, in max and min,
// along dimensions, in pools, relu and hinge. Of max, min, pools the first gets the gradient.
#pragma once

#include <cstdint>
#include <vector>

#include "dynet_like/core/dim.h"
#include "dynet_like/core/list_of.h"
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

/// Where a function takes several expressions, they come in braces, a vector, an array or a span.
using Expressions = ListOf<Expression>;

/// What the gradient of a step function is: its derivative, or the gradient as it comes.
enum class GradientMode { zero_gradient, straight_through_gradient };

// Where a function takes integers, it takes pointers too: `IntegersAt` are read when the graph
// runs.

// --------------------------------------------------------------------------------------- sources

/// Data of the user: copied now. Those behind a pointer are read when the graph runs, and must live
/// until then. Shapes: `dim`, or {1} for one number.
Expression input(ComputationGraph& graph, float value);
Expression input(ComputationGraph& graph, const float* value);
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<float>& values);
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<float>* values);

/// Zeros but for a 1; several: one per minibatch element. Shapes: {n}.
Expression one_hot(ComputationGraph& graph, unsigned n, unsigned index);
Expression one_hot(ComputationGraph& graph, unsigned n, const std::vector<unsigned>& indices);
/// The same number but for some elements, counted over the whole minibatch.
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<unsigned>& elements,
                 const std::vector<float>& values, float elsewhere = 0.0f);

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
Expression lookup(ComputationGraph& graph, const LookupParameter& table, IntegersAt rows);
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table, unsigned row);
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table,
                        const std::vector<unsigned>& rows);
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table, IntegersAt rows);

// ------------------------------------------------------------------------------------ arithmetic

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

/// The same in place. A long chain of += runs link by link: `sum` of all is faster.
Expression& operator+=(Expression& a, const Expression& b);
Expression& operator-=(Expression& a, const Expression& b);
Expression& operator+=(Expression& x, float c);
Expression& operator-=(Expression& x, float c);
Expression& operator*=(Expression& x, float c);
Expression& operator/=(Expression& x, float c);

// -------------------------------------------------------------------------------------- products

/// Matrix product. Shapes: {m, k} {k, n} -> {m, n}; {m, k} {k} -> {m}.
Expression operator*(const Expression& a, const Expression& b);
/// The inverse of a matrix; the natural logarithm of its determinant. Of a singular matrix, the
/// inverse is infinite or NaN, and logdet -infinity; of a negative determinant, logdet is NaN.
/// Shapes: {n, n} -> {n, n}, {1}.
Expression inverse(const Expression& x);
Expression logdet(const Expression& x);
/// b + W1 x1 + W2 x2 + ..., from {b, W1, x1, W2, x2, ...}; at most 16 products.
/// Shapes: {m} {m, k1} {k1} ... -> {m}, or {m, n} if the x are {k, n}; b may be {m} then, too.
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
/// max(x, 0); x < 0: slope x
Expression relu(const Expression& x);
Expression leaky_relu(const Expression& x, float slope = 0.01f);
/// x (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel 2016), and their approximation with tanh
Expression gelu(const Expression& x);
Expression gelu_tanh(const Expression& x);
/// ln(1 + e^x), exact for large |x| too
Expression softplus(const Expression& x);
/// x > 0: x, else alpha (e^x - 1) (Clevert et al. 2016); with its own constants (Klambauer et al.
/// 2017); x sigmoid(beta x) (Elfwing et al. 2018); x / (1 + |x|)
Expression elu(const Expression& x, float alpha = 1.0f);
Expression selu(const Expression& x);
Expression silu(const Expression& x, float beta = 1.0f);
Expression softsign(const Expression& x);
/// ln sigmoid(x), exact for large |x| too
Expression log_sigmoid(const Expression& x);

// ---------------------------------------------------------------------------- softmax and losses

/// Softmax along dimension d, and its logarithm. Of infinity, and of nothing but -infinity, it is
/// NaN.
Expression softmax(const Expression& x, unsigned d = 0);
Expression log_softmax(const Expression& x, unsigned d = 0);
/// Of scores x of n words and a gate, with weights of some places and the word at each, what a
/// pointer-generator says (See et al. 2017): ln(g softmax(x) + (1 - g) copied), where g =
/// sigmoid(gate), and a word's share in `copied` is the sum of the weights of its places. Any
/// number of places batches. Shapes: x {n}, gate {1}, weights of k elements, k words -> {n}. Throws
/// UsageError for a word that is not below n.
Expression copy_log_softmax(const Expression& x, const Expression& gate, const Expression& weights,
                            const std::vector<unsigned>& words);
/// -ln of the softmax of x for the right class: the loss of a classifier. Several classes: one for
/// each minibatch element, or for each column of a matrix, whose losses are the elements of a
/// minibatch then. With `smoothing`, from 0 to 1, the target is that much of the uniform
/// distribution and the rest of the right class (Szegedy et al. 2016), which takes more nodes.
/// Shapes: {classes} -> {1}; {classes, n} with n right classes -> {1}, n minibatch elements.
Expression cross_entropy(const Expression& x, unsigned right, float smoothing = 0.0f);
Expression cross_entropy(const Expression& x, const std::vector<unsigned>& right,
                         float smoothing = 0.0f);
Expression cross_entropy(const Expression& x, IntegersAt right, float smoothing = 0.0f);
/// Over these classes alone, at least one; the others have -infinity.
Expression log_softmax(const Expression& x, const std::vector<unsigned>& restriction);

/// The sum of max(0, margin - x[index] + x[k]) over all other k; several indices: one per minibatch
/// element, or per line along dimension d, line by line. Shapes: {n} -> {1}; dimension d
/// disappears.
Expression hinge(const Expression& x, unsigned index, float margin = 1.0f);
Expression hinge(const Expression& x, const std::vector<unsigned>& indices, float margin = 1.0f);
Expression hinge(const Expression& x, IntegersAt indices, float margin = 1.0f);
Expression hinge_dim(const Expression& x, const std::vector<unsigned>& indices, unsigned d = 0,
                     float margin = 1.0f);
Expression hinge_dim(const Expression& x, IntegersAt indices, unsigned d = 0, float margin = 1.0f);
Expression hinge_dim(const Expression& x, const std::vector<std::vector<unsigned>>& indices,
                     unsigned d = 0, float margin = 1.0f);
/// Sums over all elements: |x - y|; d^2 / 2 where d = |x - y| < c, else c (d - c / 2) (Huber 1964);
/// -(y ln x + (1 - y) ln(1 - x)) of probabilities x, where 0 ln 0 is 0, and -ln of the smallest
/// normal number where that is infinite. Shapes: equal -> {1}.
Expression l1_distance(const Expression& x, const Expression& y);
Expression huber_distance(const Expression& x, const Expression& y, float c = 1.345f);
Expression binary_log_loss(const Expression& x, const Expression& y);
/// -(y ln p + (1 - y) ln(1 - p)) with p = sigmoid(x), summed over all elements; exact however
/// large the x are. Shapes: equal -> {1}.
Expression binary_cross_entropy_with_logits(const Expression& x, const Expression& y);
/// The sum of all p (ln p - ln q) (Kullback and Leibler 1951). Its arguments are logarithms, such
/// as log_softmax gives; where p is 0 it is 0. Shapes: equal -> {1}.
Expression kl_divergence(const Expression& log_p, const Expression& log_q);
/// x'y / (|x| |y|) for every column, in fourteen nodes; next to nothing, and so is its gradient,
/// where one of them is shorter than 1e-12. Shapes: {n} {n} -> {1}; {n, k} {n, k} -> {k}.
Expression cosine_similarity(const Expression& x, const Expression& y);
/// max(0, margin + |a - p|^2 - |a - n|^2) (Schroff et al. 2015), in five nodes. Shapes: equal ->
/// {1}.
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
/// over keys (columns of k) of q k / sqrt(d / heads). Every head does so with its share of the rows
/// of q, k and v (Vaswani et al. 2017). `causal`: query i sees keys 0 to i. Any numbers of queries
/// and of keys batch. Shapes: q {d, m} or {d}, k {d, n}, v {e, n} -> {e, m} or {e}; one key may be
/// {d}, and its value {e}.
Expression attention(const Expression& q, const Expression& k, const Expression& v,
                     unsigned heads = 1, bool causal = false);
/// The weights themselves: the softmax over keys of q k / sqrt(d / heads), one for each head. Any
/// number of keys batches; of several queries, each is a node. Shapes: q {d}, k {d, n} -> {heads,
/// n}; q {d, m} -> {heads, n, m}.
Expression attention_weights(const Expression& q, const Expression& k, unsigned heads = 1);

// -------------------------------------------------------------------- dropout and random numbers

/// Random numbers; noise adds normal ones, in inference none. A graph by itself needs
/// GraphOptions::seed for them.
/// Parameters are finite, left <= right, and deviations and scales (beta) are at least 0.
Expression random_uniform(ComputationGraph& graph, const Dim& dim, float left, float right);
Expression random_normal(ComputationGraph& graph, const Dim& dim, float mean = 0.0f,
                         float stddev = 1.0f);
/// `scale` with probability p, from 0 to 1, else 0.
Expression random_bernoulli(ComputationGraph& graph, const Dim& dim, float p, float scale = 1.0f);
Expression random_gumbel(ComputationGraph& graph, const Dim& dim, float mu = 0.0f,
                         float beta = 1.0f);
Expression noise(const Expression& x, float stddev);
/// Zero with probability p, else x / (1 - p) (Srivastava et al. 2014). In inference p is 0.
Expression dropout(const Expression& x, float p);
/// The same for what stays or goes together, by a product: dropout_dim for all elements along
/// dimension d, dropout_batch for a whole minibatch element, block_dropout for all of x.
Expression dropout_dim(const Expression& x, unsigned d, float p);
Expression dropout_batch(const Expression& x, float p);
Expression block_dropout(const Expression& x, float p);

// ------------------------------------------------------------------------- sums, extremes, norms

/// Sum and mean of expressions of one shape; of one, it is that one.
Expression sum(Expressions xs);
Expression average(Expressions xs);
/// Sum and mean of all elements; where the sum overflows, so does the mean. Shapes: any -> {1}.
Expression sum_elems(const Expression& x);
Expression mean_elems(const Expression& x);
/// Sum and mean over dimensions, which disappear; `batches`: over the minibatch too.
Expression sum_dim(const Expression& x, const std::vector<unsigned>& dimensions,
                   bool batches = false);
Expression mean_dim(const Expression& x, const std::vector<unsigned>& dimensions,
                    bool batches = false);
/// The largest and the smallest element along dimension d, which disappears. Of equal ones the
/// first gets the gradient.
Expression max_dim(const Expression& x, unsigned d = 0);
Expression min_dim(const Expression& x, unsigned d = 0);
/// 1 where the largest element of a column is (the first of equal ones), else 0.
Expression argmax(const Expression& x, GradientMode mode);
/// The running (cumulative) sum along dimension d: x1, x1 + x2, x1 + x2 + x3, ...
Expression cumsum(const Expression& x, unsigned d);
/// ln(e^x1 + e^x2 + ...) along dimension d, which disappears; or of expressions of one shape,
/// element by element. No overflow, however large the elements.
Expression logsumexp_dim(const Expression& x, unsigned d);
Expression logsumexp(Expressions xs);
/// Sum and mean over the minibatch.
Expression sum_batches(const Expression& x);
Expression mean_batches(const Expression& x);

/// With the divisor n instead of the number of elements (0: that number).
Expression mean_dim(const Expression& x, const std::vector<unsigned>& dimensions, bool batches,
                    unsigned n);
/// The mean of x^r; r is at least 1.
Expression moment_elems(const Expression& x, unsigned r);
Expression moment_dim(const Expression& x, const std::vector<unsigned>& dimensions, unsigned r,
                      bool batches = false, unsigned n = 0);
Expression moment_batches(const Expression& x, unsigned r);
/// Standard deviation, sqrt(mean((x - mean)^2)). Of equal numbers it is 0, and so is the gradient.
Expression std_elems(const Expression& x);
Expression std_dim(const Expression& x, const std::vector<unsigned>& dimensions,
                   bool batches = false, unsigned n = 0);
Expression std_batches(const Expression& x);
/// The sum of every column, of every row, and the mean of all columns. Shapes: {n, k} -> {k}, {n},
/// {n}.
Expression sum_rows(const Expression& x);
Expression sum_cols(const Expression& x);
Expression average_cols(const Expression& x);
/// The sum of all x^2, and its square root (whose gradient is 0 at 0).
Expression squared_norm(const Expression& x);
Expression l2_norm(const Expression& x);
/// Every column with mean 0 and deviation 1, times g, plus b (Ba et al. 2016). A column of equal
/// numbers becomes b, and gets no gradient. Shapes: {n} or {n, k}, {n} {n} -> that of x.
Expression layer_norm(const Expression& x, const Expression& g, const Expression& b);
/// g w / |w| (Salimans and Kingma 2016). Zeros have no direction: of them it is NaN. Shapes: any,
/// {1} -> that of w.
Expression weight_norm(const Expression& w, const Expression& g);
/// The k largest elements along dimension d, in the order in which they stand there, under two
/// names; top_k_of_columns (core/largest.h) says where they are. Shapes: dimension d becomes k.
Expression kmax_pooling(const Expression& x, unsigned k, unsigned d = 1);
Expression top_k(const Expression& x, unsigned k, unsigned d = 0);

// ---------------------------------------------------------------------------------------- shapes

/// One behind the other along dimension d. Shapes: equal but for dimension d.
Expression concatenate(Expressions xs, unsigned d = 0);
Expression concatenate_cols(Expressions xs);
/// Element v of dimension d, which disappears; several v: one per minibatch element.
Expression pick(const Expression& x, unsigned v, unsigned d = 0);
Expression pick(const Expression& x, const std::vector<unsigned>& v, unsigned d = 0);
Expression pick(const Expression& x, IntegersAt v, unsigned d = 0);
/// Elements start to end - 1 of dimension d. No copy where they lie one behind the other.
Expression pick_range(const Expression& x, unsigned start, unsigned end, unsigned d = 0);
/// These rows or columns, in this order; one may come several times. Shapes: {n, k} -> {rows, k}.
Expression select_rows(const Expression& x, const std::vector<unsigned>& rows);
Expression select_rows(const Expression& x, IntegersAt rows);
Expression select_cols(const Expression& x, const std::vector<unsigned>& columns);
Expression select_cols(const Expression& x, IntegersAt columns);
/// The number in these rows, and in all but these; the others stay. Shapes: that of x.
Expression fill_rows(const Expression& x, ListOf<unsigned> rows, float number);
Expression fill_other_rows(const Expression& x, ListOf<unsigned> rows, float number);
/// Elements of the minibatch. One is no copy.
Expression pick_batch_elem(const Expression& x, unsigned v);
Expression pick_batch_elem(const Expression& x, IntegersAt v);
Expression pick_batch_elems(const Expression& x, const std::vector<unsigned>& v);
Expression pick_batch_elems(const Expression& x, IntegersAt v);
/// One minibatch of all elements of several. Shapes: equal.
Expression concatenate_to_batch(Expressions xs);
/// Every strides[d]-th element from from[d] to to[d] - 1 of dimension d; the entry after the last
/// dimension is for the minibatch. What is not given: from 0, to the end, every element.
Expression strided_select(const Expression& x, const std::vector<int>& strides,
                          const std::vector<int>& from = {}, const std::vector<int>& to = {});
/// Sums of `rows` rows that follow each other. Shapes: {m, k} -> {m / rows, k}.
Expression fold_rows(const Expression& x, unsigned rows = 2);
/// The same elements, column by column, in another shape. No copy.
Expression reshape(const Expression& x, const Dim& dim);
/// Dimension i of the result is dimension dims[i] of x.
Expression transpose(const Expression& x, const std::vector<unsigned>& dims = {1, 0});

// --------------------------------------------------------------------------- places and segments

/// These elements along dimension d, in this order; one may come several times. Shapes: dimension d
/// becomes their number.
Expression gather(const Expression& x, const std::vector<unsigned>& places, unsigned d = 0);
Expression gather(const Expression& x, IntegersAt places, unsigned d = 0);
/// Along dimension d, every element of x goes to one of `count` places: their sums, and the largest
/// of each (without any, 0 and -infinity). Shapes: dimension d becomes `count`.
Expression scatter_add(const Expression& x, const std::vector<unsigned>& places, unsigned count,
                       unsigned d = 0);
Expression scatter_max(const Expression& x, const std::vector<unsigned>& places, unsigned count,
                       unsigned d = 0);
/// Of the first lengths[0] columns, the next lengths[1], and so on: sum and mean (0 without any),
/// largest element (-infinity without any), softmax. `d`: along another dimension.
/// Shapes: {n, k} -> {n, segments}; of softmax, that of x.
Expression segment_sum(const Expression& x, const std::vector<unsigned>& lengths, unsigned d = 1);
Expression segment_mean(const Expression& x, const std::vector<unsigned>& lengths, unsigned d = 1);
Expression segment_max(const Expression& x, const std::vector<unsigned>& lengths, unsigned d = 1);
Expression segment_softmax(const Expression& x, const std::vector<unsigned>& lengths,
                           unsigned d = 1);

// ----------------------------------------------------------------------------------------- cells

/// LSTM and Tree-LSTM cells in one node, from the cells c_1, c_2, ... of the children (a sequence
/// has one, a leaf none) and the map s = b + W1 x1 + W2 x2 + ..., xs being {W1, x1, W2, x2, ...}:
///   f_k, i, o = sigmoid and u = tanh of the blocks of s
///   c = i * u + f_1 * c_1 + f_2 * c_2 + ...;  h = o * tanh(c)
/// Blocks of rows are in the order f_1, f_2, ..., i, o, u; `input_first`: i, f_1, f_2, ..., o, u.
/// Shapes: b {(3 + children) n}, W {(3 + children) n, k}, x {k}, c {n} -> {n} and {n}.
/// Hochreiter and Schmidhuber (1997), Gers et al. (2000), Tai et al. (2015).
CellState lstm_cell(const Expression& b, Expressions xs, Expressions cells,
                    bool input_first = false);
/// A gated recurrent unit (Cho et al. 2014) with the reset gate behind the product, in one node:
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

/// With two inputs; dimensions of size 1 stretch. Of equal numbers, the gradient is the first's.
Expression pow(const Expression& x, const Expression& y);
Expression min(const Expression& x, const Expression& y);
Expression max(const Expression& x, const Expression& y);
Expression min(const Expression& x, float c);
Expression max(const Expression& x, float c);
Expression min(Expressions xs);
Expression max(Expressions xs);
/// The nearest number in [low, high], in two nodes; the gradient outside is 0, on the ends it is 1.
Expression clip(const Expression& x, float low, float high);

/// -1, 0 or 1; without gradient.
Expression sign(const Expression& x);
/// 1 where it holds, else 0 (also where one of the two is NaN); without gradient. Of such p and q,
/// cmult(p, q) is "and", max(p, q) is "or", 1.0f - p is "not".
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
/// a where the condition is not 0, else b, in three nodes. Where the condition is NaN, so is the
/// result. It gets no gradient, and what is not taken gets 0, of which an infinite slope makes NaN,
/// as that of log(x) at 0: write where(p, log(where(p, x, ones(graph, {1}))), b).
Expression where(const Expression& condition, const Expression& a, const Expression& b);

// ------------------------------------------------------------------------------------- gradients

/// x; its gradient is stopped, negated or multiplied.
Expression nobackprop(const Expression& x);
Expression flip_gradient(const Expression& x);
Expression scale_gradient(const Expression& x, float factor = 1.0f);

// ---------------------------------------------------------------------- convolutions and pooling

/// Every filter over all windows, `stride` rows and columns apart; `b`: a number per filter.
/// `is_valid`: windows lie inside, else there are zeros around, and ceil(size / stride) windows.
/// Shapes: {height, width, channels} {h, w, channels, filters} -> {height', width', filters}.
Expression conv2d(const Expression& x, const Expression& f, const std::vector<unsigned>& stride,
                  bool is_valid = true);
Expression conv2d(const Expression& x, const Expression& f, const Expression& b,
                  const std::vector<unsigned>& stride, bool is_valid = true);
/// The largest element of every window, per channel. Windows as in conv2d.
Expression maxpooling2d(const Expression& x, const std::vector<unsigned>& ksize,
                        const std::vector<unsigned>& stride, bool is_valid = true);
/// Filters that slide over columns. Shapes: {n, k} {n, w, filters} -> {filters, k - w + 1}.
Expression filter1d_narrow(const Expression& x, const Expression& f);
/// Element i is the sum of all u[k] v[(i - k) mod n], or u[k] v[(i + k) mod n]. Shapes: {n} {n} ->
/// {n}.
Expression circ_conv(const Expression& u, const Expression& v);
Expression circ_corr(const Expression& u, const Expression& v);

// ----------------------------------------------------------------------------------- projections

/// The projection of x onto the simplex, and its loss for a target that shares 1 equally among some
/// classes (Martins and Astudillo 2016). Of infinity it is NaN. Shapes: {n} -> {n}, {1}.
Expression sparsemax(const Expression& x);
Expression sparsemax_loss(const Expression& x, const std::vector<unsigned>& target);
Expression sparsemax_loss(const Expression& x, IntegersAt target);
/// The softmax of x with no element above its bound y; bounds add up to 1 or more (Martins and
/// Kreutzer 2017). Shapes: {n} {n} -> {n}.
Expression constrained_softmax(const Expression& x, const Expression& y);

// ---------------------------------------------------------------------------------------- any op

/// A node of any op, the user's own too: see docs/custom_ops.md. Numbers are per minibatch element.
Expression apply_op(const ops::Op& op, Expressions inputs, ListOf<std::uint32_t> attributes = {},
                    ListOf<std::uint32_t> integers = {}, ListOf<double> reals = {});

}  // namespace dynet_like
