// Ops that move elements, most of them without a copy: ranges, concatenation, transposition.
#include "dynet_like/graph/recording.h"

#include <algorithm>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/views.h"

namespace dynet_like {

namespace ops {

namespace {

Dim concatenated_shape(Inputs in, Attributes attributes) {
  if (attributes.size() != 1) {
    throw_shape_error("concatenate", "one dimension, not " + std::to_string(attributes.size()), in);
  }
  const unsigned d = attributes[0];
  Dim result = in[0];
  if (d >= Dim::kMaxDimensions) {
    throw_shape_error("concatenate", "a dimension below 7, not " + std::to_string(d), in);
  }
  if (result.nd <= d) result.resize(d + 1);
  for (const Dim& dim : in.subspan(1)) {
    for (unsigned i = 0; i < Dim::kMaxDimensions; ++i) {
      if (i != d && dim[i] != result[i]) {
        throw_shape_error("concatenate", "equal sizes but for dimension " + std::to_string(d), in);
      }
    }
    if (dim[d] > ~0u - result.d[d]) throw_shape_error("concatenate", "fewer elements", in);
    result.d[d] += dim[d];
  }
  return result;
}

Dim range_shape(Inputs in, Attributes attributes) {
  if (attributes.size() != 2) {
    throw_shape_error(
        "pick_range",
        "two attributes, dimension and length, not " + std::to_string(attributes.size()), in);
  }
  const unsigned d = attributes[0], length = attributes[1];
  if (d >= in[0].nd || length == 0 || length > in[0][d]) {
    throw_shape_error("pick_range",
                      "a range of at least one element in an existing dimension, not " +
                          std::to_string(length) + " of dimension " + std::to_string(d),
                      in);
  }
  Dim result = in[0];
  result.d[d] = length;
  return result;
}

Dim transposed_shape(Inputs in, Attributes attributes) {
  Dim result;
  result.resize(static_cast<unsigned>(attributes.size()));
  bool valid = attributes.size() <= Dim::kMaxDimensions && attributes.size() >= in[0].nd;
  for (unsigned i = 0; valid && i < attributes.size(); ++i) {
    valid = attributes[i] < attributes.size() &&
            std::count(attributes.begin(), attributes.end(), attributes[i]) == 1;
    if (valid) result.d[i] = in[0][attributes[i]];
  }
  if (!valid) throw_shape_error("transpose", "every dimension exactly once", in);
  return result;
}

Op mover(std::string_view name, std::string_view formula) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.gradient.needs = Needs::nothing;
  op.cost = [](const Signature& type) { return 2.0 * type.output_size; };
  return op;
}

}  // namespace

const Op identity = [] {
  Op op = mover("identity", "x, copied to where it lies contiguously");
  op.role = Role::copy;
  op.shape = [](Inputs in, Attributes) { return in[0]; };
  op.gradient.shared = [](const Signature&, unsigned) { return SharedGradient::sum; };
  return op;
}();

const Op concatenate = [] {
  Op op = mover("concatenate", "the inputs one behind the other along a dimension");
  op.max_inputs = Op::kAnyNumber;
  op.batching.by_column = [](unsigned, unsigned rank, Attributes a) {
    return a.size() == 1 && a[0] + 1 < rank;
  };
  op.shape = concatenated_shape;
  return op;
}();

const Op pick_range = [] {
  Op op = mover("pick_range", "elements s to s + length - 1 along a dimension");
  op.numbers.integers = 1;
  op.numbers.integer_limit = [](const Signature& type) {
    return type.inputs[0][type.attributes[0]] - type.attributes[1] + 1;
  };
  op.shape = range_shape;
  op.batching.by_column = [](unsigned, unsigned rank, Attributes a) {
    return a.size() == 2 && a[0] + 1 < rank;
  };
  return op;
}();

const Op transpose = [] {
  Op op = mover("transpose", "dimension i of the result is dimension p(i) of x");
  op.shape = transposed_shape;
  return op;
}();

std::span<const Op* const> shape_ops() {
  static const Op* const all[] = {&identity, &concatenate, &pick_range, &transpose};
  return all;
}

}  // namespace ops

using namespace detail::recording;

namespace {

// Throws UsageError unless dimension d has `length` elements from each start on.
void check_range(const char* user, const Expression& x, std::span<const unsigned> starts,
                 unsigned length, unsigned d) {
  const Dim& dim = x.pg->record().tape().shape_of(x.i).dim;
  for (unsigned start : starts) {
    if (d < dim.nd && start <= dim.d[d] && length <= dim.d[d] - start) continue;
    throw UsageError(std::string("[") + user + "] need elements of dimension " + std::to_string(d) +
                     " of " + to_string(x.dim()) + "; got " + detail::index_text(start) +
                     (length == 1 ? "" : " to " + std::to_string(start + length - 1)) +
                     labels_of(x));
  }
}

Expression in_one_minibatch(std::span<const Expression> given) {
  const std::vector<Expression> xs = of_one_graph("concatenate_to_batch", given);
  const Dim dim = xs[0].dim().single_batch();
  std::vector<Expression> columns;
  unsigned count = 0;
  for (const Expression& x : xs) {
    const Dim other = x.dim();
    if (other.single_batch() != dim) {
      refuse_shapes("concatenate_to_batch", "equal shapes but for the minibatch", {xs[0], x});
    }
    columns.push_back(reshape(x, Dim({dim.size(), other.bd})));
    count += other.bd;
  }
  Dim all = dim;
  all.bd = count;
  return reshape(concatenate_cols(columns), all);
}

}  // namespace

Expression concatenate(Expressions xs, unsigned d) {
  return many(ops::concatenate, xs, std::span(&d, 1));
}
Expression concatenate_cols(Expressions xs) { return concatenate(xs, 1); }
Expression pick(const Expression& x, unsigned v, unsigned d) {
  const Recorder graph = graph_of("pick", x);
  check_range("pick", x, std::span(&v, 1), 1, d);
  return graph.expression(pick(graph.writer(), x.i, std::span(&v, 1), d));
}
Expression pick(const Expression& x, const std::vector<unsigned>& v, unsigned d) {
  const Recorder graph = graph_of("pick", x);
  check_range("pick", x, v, 1, d);
  check_one_each("pick", x, v.size());
  return graph.expression(pick(graph.writer(), x.i, v, d));
}
Expression pick_range(const Expression& x, unsigned start, unsigned end, unsigned d) {
  const Recorder graph = graph_of("pick_range", x);
  TapeWriter& writer = graph.writer();
  const Tape& tape = graph.tape();
  const RangeShape* range = tape.cache().recent_range(tape.value(x.i).shape, d, end - start);
  if (range != nullptr && range->is_contiguous && start <= range->last_start) {
    return graph.expression(add_range(writer, x.i, *range, start));
  }
  if (end <= start) {
    throw UsageError("[pick_range] need a start before the end; got " + detail::index_text(start) +
                     " and " + detail::index_text(end) + labels_of(x));
  }
  check_range("pick_range", x, std::span(&start, 1), end - start, d);
  return graph.expression(pick_range(writer, x.i, std::span(&start, 1), end - start, d));
}
Expression pick_batch_elem(const Expression& x, unsigned v) {
  const Recorder graph = graph_of("pick_batch_elem", x);
  return graph.expression(pick_minibatch_elements(graph.writer(), x.i, v, 1));
}
Expression concatenate_to_batch(Expressions xs) { return in_one_minibatch(xs); }
Expression fold_rows(const Expression& x, unsigned rows) {
  const Dim dim = x.dim();
  if (rows == 0 || dim.rows() % rows != 0) {
    throw UsageError("[fold_rows] need a divisor of " + detail::counted(dim.rows(), "row") +
                     "; got " + std::to_string(rows) + labels_of(x));
  }
  return sum_dim(reshape(x, Dim({rows, dim.rows() / rows, dim.cols()}, dim.bd)), {0});
}
Expression reshape(const Expression& x, const Dim& dim) {
  const Recorder graph = graph_of("reshape", x);
  return graph.expression(reshape(graph.writer(), x.i, dim));
}
Expression transpose(const Expression& x, const std::vector<unsigned>& dims) {
  const Recorder graph = graph_of("transpose", x);
  return graph.expression(transpose(graph.writer(), x.i, dims));
}

}  // namespace dynet_like
