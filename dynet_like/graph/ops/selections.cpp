// Elements chosen along a dimension, by integers or by their size; the minibatch is one, too.
#include "dynet_like/graph/recording.h"

#include <algorithm>
#include <numeric>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

const Op select = [] {
  Op op = along_axis("select", "elements i1, i2, ... along a dimension", Needs::nothing,
                     cost_per_element<1>);
  op.numbers.integer_count = [](Attributes attributes) {
    return attributes.size() == 2 ? attributes[1] : 0;
  };
  op.numbers.integer_limit = [](const Signature& type) {
    return type.inputs[0][type.attributes[0]];
  };
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("select", in, attributes, 2);
    if (attributes[1] == 0) throw_shape_error("select", "at least one element", in);
    return with_axis(in, attributes, attributes[1]);
  };
  return op;
}();

const Op kmax_pooling = [] {
  Op op = along_axis("kmax_pooling",
                     "the k largest elements along a dimension, in their order; of equal ones "
                     "the first",
                     Needs::inputs, cost_per_element<20>);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("kmax_pooling", in, attributes, 2);
    const unsigned size = in[0][attributes[0]];
    if (attributes[1] == 0 || attributes[1] > size) {
      throw_shape_error(
          "kmax_pooling",
          "1 to " + std::to_string(size) + " elements, not " + std::to_string(attributes[1]), in);
    }
    return with_axis(in, attributes, attributes[1]);
  };
  return op;
}();

namespace {

// Attributes: the dimension, its size, and its size in the result; an integer for each of its
// elements says where that goes.
Op scatter(std::string_view name, std::string_view formula, Needs needs) {
  Op op = along_axis(name, formula, needs, cost_per_element<2>);
  op.numbers.integer_count = [](Attributes attributes) {
    return attributes.size() == 3 ? attributes[1] : 0;
  };
  op.numbers.integer_limit = [](const Signature& type) { return type.attributes[2]; };
  return op;
}

Dim scattered_shape(std::string_view op, Inputs in, Attributes attributes) {
  check_axis(op, in, attributes, 3);
  if (attributes[1] != in[0][attributes[0]] || attributes[2] == 0) {
    throw_shape_error(op,
                      "a place for each of " + std::to_string(in[0][attributes[0]]) +
                          " elements, and at least one; not " + std::to_string(attributes[1]) +
                          " in " + std::to_string(attributes[2]),
                      in);
  }
  return with_axis(in, attributes, attributes[2]);
}

}  // namespace

const Op scatter_add = [] {
  Op op = scatter("scatter_add", "element k is the sum of all x[j] with i[j] = k", Needs::nothing);
  op.shape = [](Inputs in, Attributes a) { return scattered_shape("scatter_add", in, a); };
  return op;
}();

const Op scatter_max = [] {
  Op op = scatter("scatter_max",
                  "element k is the largest x[j] with i[j] = k, or -infinity; the gradient goes to "
                  "the first of equal ones",
                  Needs::inputs);
  // So many elements that every place gets one: the tests compare no infinities.
  op.shape = [](Inputs in, Attributes a) { return scattered_shape("scatter_max", in, a); };
  return op;
}();

std::span<const Op* const> selection_ops() {
  static const Op* const all[] = {&select, &kmax_pooling, &scatter_add, &scatter_max};
  return all;
}

}  // namespace ops

using namespace detail::recording;

namespace {

Expression select(const Expression& x, Integers elements, unsigned d) {
  const std::uint32_t attributes[] = {d, static_cast<std::uint32_t>(elements.size())};
  return unary(ops::select, x, attributes, {elements});
}
Expression select(const Expression& x, IntegersAt elements, unsigned d) {
  const std::uint32_t attributes[] = {d, static_cast<std::uint32_t>(elements.size())};
  return unary(ops::select, x, attributes, {{}, {}, elements});
}

// Elements of the minibatch, which is one more dimension meanwhile.
template <class Elements>
Expression select_elements(const Expression& x, Elements elements, std::size_t count) {
  Dim dim = x.dim();
  const Expression columns = reshape(x, Dim({dim.batch_size(), dim.bd}));
  dim.bd = static_cast<unsigned>(count);
  return reshape(select(columns, elements, 1), dim);
}

Expression scatter(const Op& op, const Expression& x, Integers places, unsigned count, unsigned d) {
  const std::uint32_t attributes[] = {d, static_cast<std::uint32_t>(places.size()), count};
  return unary(op, x, attributes, {places});
}

// The segment of every element: 0 as often as the first length says, and so on.
std::vector<unsigned> segments(const char* user, const Expression& x,
                               const std::vector<unsigned>& lengths, unsigned d) {
  std::vector<unsigned> result;
  const std::size_t size = x.dim()[d];
  for (std::size_t s = 0; s < lengths.size() && result.size() <= size; ++s) {
    result.insert(result.end(), std::min<std::size_t>(lengths[s], size + 1),
                  static_cast<unsigned>(s));
  }
  if (lengths.empty() || result.size() != size) {
    const auto sum = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
    throw UsageError(std::string("[") + user + "] need lengths that add up to " +
                     std::to_string(size) + ", the size of dimension " + std::to_string(d) +
                     "; got " + std::to_string(lengths.size()) + " that add up to " +
                     std::to_string(sum) + labels_of(x));
  }
  return result;
}

// from, from + stride, ... below `to`, of a dimension of x with this size.
std::vector<unsigned> strided(const Expression& x, unsigned size, int stride, int from, int to) {
  if (stride < 1 || from < 0 || to > static_cast<int>(size) || from >= to) {
    throw UsageError("[strided_select] need a stride of at least 1 and a range in [0, " +
                     std::to_string(size) + "); got stride " + std::to_string(stride) + " from " +
                     std::to_string(from) + " to " + std::to_string(to) + labels_of(x));
  }
  std::vector<unsigned> result;
  for (std::int64_t i = from; i < to; i += stride) result.push_back(static_cast<unsigned>(i));
  return result;
}

}  // namespace

Expression pick(const Expression& x, IntegersAt v, unsigned d) {
  // One of every minibatch element.
  const std::uint32_t attributes[] = {d, 1};
  const Expression picked = unary(ops::select, x, attributes, {{}, {}, v});
  Dim dim = picked.dim();
  dim.delete_dim(d);
  return reshape(picked, dim);
}
Expression pick_batch_elem(const Expression& x, IntegersAt v) { return pick_batch_elems(x, v); }
Expression select_rows(const Expression& x, const std::vector<unsigned>& rows) {
  return select(x, rows, 0);
}
Expression select_rows(const Expression& x, IntegersAt rows) { return select(x, rows, 0); }
Expression select_cols(const Expression& x, IntegersAt columns) { return select(x, columns, 1); }
Expression select_cols(const Expression& x, const std::vector<unsigned>& columns) {
  return select(x, columns, 1);
}
Expression pick_batch_elems(const Expression& x, const std::vector<unsigned>& v) {
  const Dim dim = x.dim();
  for (unsigned element : v) {
    if (element >= dim.bd) {
      throw UsageError("[pick_batch_elems] need elements of a minibatch of " +
                       std::to_string(dim.bd) + "; got " + std::to_string(element) + labels_of(x));
    }
  }
  return select_elements(x, Integers(v), v.size());
}
Expression pick_batch_elems(const Expression& x, IntegersAt v) {
  return select_elements(x, v, v.size());
}
Expression strided_select(const Expression& x, const std::vector<int>& strides,
                          const std::vector<int>& from, const std::vector<int>& to) {
  const Dim dim = x.dim();
  const auto entry = [](const std::vector<int>& list, std::size_t d, unsigned otherwise) {
    return d < list.size() ? list[d] : static_cast<int>(otherwise);
  };
  Expression result = x;
  for (unsigned d = 0; d <= dim.nd; ++d) {
    const unsigned size = d < dim.nd ? dim.d[d] : dim.bd;
    const auto chosen =
        strided(x, size, entry(strides, d, 1), entry(from, d, 0), entry(to, d, size));
    if (chosen.size() == size) continue;
    result = d < dim.nd ? select(result, chosen, d) : pick_batch_elems(result, chosen);
  }
  return result;
}
Expression kmax_pooling(const Expression& x, unsigned k, unsigned d) {
  const std::uint32_t attributes[] = {d, k};
  return unary(ops::kmax_pooling, x, attributes);
}

Expression top_k(const Expression& x, unsigned k, unsigned d) { return kmax_pooling(x, k, d); }

Expression gather(const Expression& x, const std::vector<unsigned>& places, unsigned d) {
  return select(x, places, d);
}
Expression gather(const Expression& x, IntegersAt places, unsigned d) {
  return select(x, places, d);
}
Expression scatter_add(const Expression& x, const std::vector<unsigned>& places, unsigned count,
                       unsigned d) {
  return scatter(ops::scatter_add, x, places, count, d);
}
Expression scatter_max(const Expression& x, const std::vector<unsigned>& places, unsigned count,
                       unsigned d) {
  return scatter(ops::scatter_max, x, places, count, d);
}

Expression segment_sum(const Expression& x, const std::vector<unsigned>& lengths, unsigned d) {
  const auto count = static_cast<unsigned>(lengths.size());
  return scatter_add(x, segments("segment_sum", x, lengths, d), count, d);
}
Expression segment_mean(const Expression& x, const std::vector<unsigned>& lengths, unsigned d) {
  const auto count = static_cast<unsigned>(lengths.size());
  const Expression sums = scatter_add(x, segments("segment_mean", x, lengths, d), count, d);
  std::vector<float> divisors;
  for (unsigned length : lengths) divisors.push_back(static_cast<float>(std::max(length, 1u)));
  Dim dim;
  dim.resize(d + 1);
  for (unsigned i = 0; i < d; ++i) dim.set(i, 1);
  dim.set(d, count);
  return cdiv(sums, input(graph_of("segment_mean", x), dim, divisors));
}
Expression segment_max(const Expression& x, const std::vector<unsigned>& lengths, unsigned d) {
  const auto count = static_cast<unsigned>(lengths.size());
  return scatter_max(x, segments("segment_max", x, lengths, d), count, d);
}
// What is taken off first makes no difference to the result, and so none to the gradient.
Expression segment_softmax(const Expression& x, const std::vector<unsigned>& lengths, unsigned d) {
  const std::vector<unsigned> places = segments("segment_softmax", x, lengths, d);
  const auto count = static_cast<unsigned>(lengths.size());
  const Expression largest = scatter_max(nobackprop(x), places, count, d);
  const Expression parts = exp(x - gather(largest, places, d));
  return cdiv(parts, gather(scatter_add(parts, places, count, d), places, d));
}

}  // namespace dynet_like
