// Random numbers, noise and dropout.
#include "dynet_like/graph/recording.h"

#include <cmath>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/philox.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/source.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

namespace {

Op distribution(std::string_view name, std::string_view formula) {
  Op op = source(name, formula);
  op.numbers.random = true;
  op.batching.shareable = false;
  op.numbers.integers = detail::kRandomIntegers;
  op.numbers.reals = 2;
  op.cost = [](const Signature& type) { return 30.0 * type.output_size; };
  return op;
}

}  // namespace

const Op random_uniform =
    distribution("random_uniform", "from [a, b), equally likely; rounding may give b");
const Op random_normal =
    distribution("random_normal", "mean a, standard deviation b (Box and Muller 1958)");
const Op random_bernoulli = distribution("random_bernoulli", "b with probability a, else 0");
const Op random_gumbel = distribution("random_gumbel", "a - b ln(-ln u), u from (0, 1)");

const Op dropout = [] {
  Op op;
  op.name = "dropout";
  op.formula = "0 with probability p, else x / (1 - p) (Srivastava et al. 2014)";
  op.gradient.needs = Needs::nothing;
  op.numbers.integers = detail::kRandomIntegers;
  op.numbers.reals = 1;
  op.numbers.random = true;
  op.batching.shareable = false;
  op.batching.by_column = [](unsigned, unsigned, Attributes) { return true; };
  op.shape = [](Inputs in, Attributes) { return in[0]; };
  op.cost = [](const Signature& type) { return 10.0 * type.output_size; };
  return op;
}();

std::span<const Op* const> random_ops() {
  static const Op* const all[] = {&dropout, &random_uniform, &random_normal, &random_bernoulli,
                                  &random_gumbel};
  return all;
}

}  // namespace ops

using namespace detail::recording;

bool detail::recording::drops(const char* user, const Expression& x, float p) {
  if (p >= 0 && p < 1) return p > 0 && x.graph(user).trains();
  throw UsageError(std::string("[") + user +
                   "] need a probability of at least 0 and below 1; got " + std::to_string(p) +
                   labels_of(x));
}

namespace {

// Checks the two parameters of a distribution, which must also be finite.
void check(const char* distribution, bool is_good, const char* rule, float a, float b) {
  if (is_good && std::isfinite(a) && std::isfinite(b)) return;
  throw UsageError(std::string("[") + distribution + "] need " + rule +
                   ", and finite numbers; got " + std::to_string(a) + " and " + std::to_string(b));
}

Expression draw(ComputationGraph& graph, const Op& distribution, const Dim& dim, float a, float b) {
  const double parameters[] = {static_cast<double>(a), static_cast<double>(b)};
  const Recorder here(graph);
  return here.expression(here.writer().add_source(distribution, dim, parameters));
}

// Makes columns minibatch elements, so that matrices of any number of columns are drawn in one
// batch.
Dim by_column(Dim dim) {
  if (dim.nd < 2) return dim;
  dim.bd *= dim[dim.nd - 1];
  dim.resize(dim.nd - 1);
  return dim;
}

// x / (1 - p) where a mask of this shape has a 1, else 0.
Expression masked(const char* user, const Expression& x, const Dim& mask, float p) {
  if (!drops(user, x, p)) return x;
  const Recorder graph = graph_of(user, x);
  return cmult(x, reshape(random_bernoulli(graph, by_column(mask), 1 - p, 1 / (1 - p)), mask));
}

}  // namespace

Expression random_uniform(ComputationGraph& graph, const Dim& dim, float left, float right) {
  check("random_uniform", left <= right, "a left end that is not right of the right one", left,
        right);
  return draw(graph, ops::random_uniform, dim, left, right);
}
Expression random_normal(ComputationGraph& graph, const Dim& dim, float mean, float stddev) {
  check("random_normal", stddev >= 0, "a standard deviation of at least 0", mean, stddev);
  return draw(graph, ops::random_normal, dim, mean, stddev);
}
Expression random_bernoulli(ComputationGraph& graph, const Dim& dim, float p, float scale) {
  check("random_bernoulli", p >= 0 && p <= 1, "a probability of 0 to 1", p, scale);
  return draw(graph, ops::random_bernoulli, dim, p, scale);
}
Expression random_gumbel(ComputationGraph& graph, const Dim& dim, float mu, float beta) {
  check("random_gumbel", beta >= 0, "a scale of at least 0", mu, beta);
  return draw(graph, ops::random_gumbel, dim, mu, beta);
}
Expression noise(const Expression& x, float stddev) {
  check("noise", stddev >= 0, "a standard deviation of at least 0", 0, stddev);
  if (!x.graph("noise").trains()) return x;
  const Recorder graph = graph_of("noise", x);
  return x + reshape(random_normal(graph, by_column(x.dim()), 0, stddev), x.dim());
}
Expression dropout(const Expression& x, float p) {
  return drops("dropout", x, p) ? with_number(ops::dropout, x, p) : x;
}
Expression dropout_dim(const Expression& x, unsigned d, float p) {
  Dim mask = x.dim();
  if (d >= mask.nd) {
    throw UsageError("[dropout_dim] need a dimension of " + to_string(mask) + "; got dimension " +
                     std::to_string(d) + labels_of(x));
  }
  mask.set(d, 1);
  return masked("dropout_dim", x, mask, p);
}
Expression dropout_batch(const Expression& x, float p) {
  return masked("dropout_batch", x, Dim({1}, x.dim().bd), p);
}
Expression block_dropout(const Expression& x, float p) {
  return masked("block_dropout", x, Dim({1}), p);
}

}  // namespace dynet_like
