// Moments, deviations, norms and normalisation.
#include "dynet_like/graph/recording.h"

#include <cmath>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

const Op norm_dim = [] {
  Op op = along_axis("norm_dim",
                     "sqrt(x1^2 + x2^2 + ...) along a dimension, which disappears; dy/dx = x / y, "
                     "but 0 at 0",
                     Needs::inputs_and_output, cost_per_element<1>);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("norm_dim", in, attributes);
    return without_axis(in, attributes);
  };
  return op;
}();

const Op rms_dim = [] {
  Op op = along_axis("rms_dim",
                     "sqrt((x1^2 + ... + xn^2) / n) along a dimension, which disappears; dy/dx = x "
                     "/ (n y), but 0 at 0",
                     Needs::inputs_and_output, cost_per_element<1>);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("rms_dim", in, attributes);
    return without_axis(in, attributes);
  };
  return op;
}();

namespace {

// Columns, then g and perhaps b.
template <unsigned inputs>
Op norm_of_columns(std::string_view name, std::string_view formula) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.min_inputs = op.max_inputs = inputs;
  op.batching.join = [](unsigned input, Attributes) {
    return input == 0 ? Join::stacked : Join::broadcast;
  };
  op.batching.by_column = [](unsigned input, unsigned, Attributes) { return input == 0; };
  op.gradient.needs = Needs::inputs;
  op.shape = [](Inputs in, Attributes attributes) {
    const char* const user = inputs == 3 ? "layer_norm" : "rms_norm";
    if (attributes.size() > 1) throw_shape_error(user, "at most one attribute", in);
    for (const Dim& vector : in.subspan(1)) {
      if (vector.rows() == in[0].rows() && vector.size() == vector.rows()) continue;
      throw_shape_error(
          user, inputs == 3 ? "{n}, or {n} columns, and twice {n}" : "{n}, or {n} columns, and {n}",
          in);
    }
    return in[0];
  };
  op.gradient.shared = [](const Signature&, unsigned input) {
    return input == 0 ? SharedGradient::dense : SharedGradient::sum;
  };
  // For every column: the distance of the mean to the first number (0 in rms_norm), and the factor
  // of the differences.
  op.gradient.saved_size = [](const Signature& type) -> std::size_t {
    return 2 * (type.inputs[0].size() / type.inputs[0].rows());
  };
  // The gradients of g, then of b.
  op.gradient.deferred_size = [](const Signature& type) -> std::size_t {
    return (inputs - 1) * type.inputs[1].size();
  };
  op.gradient.deferred_offset = [](const Signature& type, unsigned input) -> std::size_t {
    return input == 2 ? type.inputs[1].size() : 0;
  };
  op.cost = cost_per_element<10>;
  return op;
}

}  // namespace

const Op layer_norm = norm_of_columns<3>(
    "layer_norm",
    "g (x - mean) / max(deviation, 1e-12) + b for every column, or what is along dimension 0 "
    "(Ba et al. 2016); a smaller deviation is 0, and dy/dx with it. With epsilon, the divisor is "
    "sqrt(deviation^2 + epsilon)");
const Op rms_norm = norm_of_columns<2>(
    "rms_norm",
    "g x / max(r, 1e-12) for every column, or what is along dimension 0, where r = sqrt(mean of "
    "x^2) (Zhang and Sennrich 2019); a smaller r is 0, and dy/dx with it. With epsilon, the "
    "divisor is sqrt(r^2 + epsilon)");

std::span<const Op* const> norm_ops() {
  static const Op* const all[] = {&norm_dim, &rms_dim, &layer_norm, &rms_norm};
  return all;
}

}  // namespace ops

using namespace detail::recording;

namespace {

Expression power(const Expression& x, unsigned r) {
  if (r == 0) {
    throw UsageError("[moment] need an order of at least 1; got 0" + labels_of(x));
  }
  if (r == 1) return x;
  if (r == 2) return square(x);
  if (r == 3) return cube(x);
  return pow(x, static_cast<float>(r));
}

// The reduced value with as many dimensions as x: those that disappeared return with size 1.
Expression stretched(const Expression& reduced, const Expression& x,
                     const std::vector<unsigned>& dimensions) {
  Dim dim = x.dim();
  dim.bd = reduced.dim().bd;
  for (unsigned d : dimensions) dim.set(d, 1);
  return reshape(reduced, dim);
}

std::vector<unsigned> all_dimensions(const Expression& x) {
  std::vector<unsigned> all;
  for (unsigned d = 0; d < x.dim().nd; ++d) all.push_back(d);
  return all;
}

// x minus its mean. For equal numbers it is exactly zero: it first subtracts the first number,
// since the mean of equal numbers may be rounded, but that of zeros is not. Subtracting a constant
// does not change the gradient.
Expression centred(const Expression& x, const std::vector<unsigned>& dimensions, bool batches) {
  Expression first = batches ? pick_batch_elem(x, 0) : x;
  for (unsigned d : dimensions) first = pick_range(first, 0, 1, d);
  const Expression shifted = x - nobackprop(first);
  return shifted - stretched(mean_dim(shifted, dimensions, batches), x, dimensions);
}

Expression normalised(const Op& op, std::span<const Expression> inputs, float epsilon) {
  if (!(epsilon >= 0 && std::isfinite(epsilon))) {
    throw UsageError('[' + std::string(op.name) + "] need a finite epsilon of at least 0; got " +
                     std::to_string(epsilon) + labels_of(inputs[0]));
  }
  const auto bits = std::bit_cast<std::uint32_t>(epsilon);
  return many(op, inputs, std::span(&bits, epsilon == 0 ? 0 : 1));
}

}  // namespace

Expression mean_dim(const Expression& x, const std::vector<unsigned>& dimensions, bool batches,
                    unsigned n) {
  if (n == 0) return mean_dim(x, dimensions, batches);
  return sum_dim(x, dimensions, batches) / static_cast<float>(n);
}
Expression moment_elems(const Expression& x, unsigned r) { return mean_elems(power(x, r)); }
Expression moment_batches(const Expression& x, unsigned r) { return mean_batches(power(x, r)); }
Expression moment_dim(const Expression& x, const std::vector<unsigned>& dimensions, unsigned r,
                      bool batches, unsigned n) {
  return mean_dim(power(x, r), dimensions, batches, n);
}
// The root mean square of root mean squares is that of all elements.
Expression std_elems(const Expression& x) {
  return reduce_elements(ops::rms_dim, centred(x, all_dimensions(x), false));
}
Expression std_batches(const Expression& x) {
  return reduce_batches(ops::rms_dim, centred(x, {}, true));
}
Expression std_dim(const Expression& x, const std::vector<unsigned>& dimensions, bool batches,
                   unsigned n) {
  const Op& op = n == 0 ? ops::rms_dim : ops::norm_dim;
  const Expression difference =
      n == 0 ? centred(x, dimensions, batches)
             : x - stretched(mean_dim(x, dimensions, batches, n), x, dimensions);
  Expression result = dimensions.empty() ? abs(difference) : reduce(op, difference, dimensions);
  if (batches) result = reduce_batches(op, result);
  return n == 0 ? result : result / std::sqrt(static_cast<float>(n));
}
Expression sum_rows(const Expression& x) { return sum_dim(x, {0}); }
Expression sum_cols(const Expression& x) { return sum_dim(x, {1}); }
Expression average_cols(const Expression& x) { return mean_dim(x, {1}); }
Expression squared_norm(const Expression& x) { return sum_elems(square(x)); }
Expression l2_norm(const Expression& x) { return reduce_elements(ops::norm_dim, x); }
Expression layer_norm(const Expression& x, const Expression& g, const Expression& b,
                      float epsilon) {
  return normalised(ops::layer_norm, std::array{x, g, b}, epsilon);
}
Expression rms_norm(const Expression& x, const Expression& g, float epsilon) {
  return normalised(ops::rms_norm, std::array{x, g}, epsilon);
}
Expression weight_norm(const Expression& w, const Expression& g) {
  return cmult(cdiv(w, l2_norm(w)), g);  // w / |w| is neither huge nor tiny
}

}  // namespace dynet_like
