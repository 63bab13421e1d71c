// Selections along a dimension or the minibatch, by integers or by the size of elements.
#include "dynet_like/core/counted.h"
#include "dynet_like/graph/recording.h"

#include <algorithm>
#include <numeric>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/row_masks.h"
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
    if (attributes[1] == 0) throw_shape_error("select", "at least 1 place, not 0", in);
    return with_axis(in, attributes, attributes[1]);
  };
  return op;
}();

const Op fill_rows = [] {
  Op op;
  op.name = "fill_rows";
  op.formula = "a number in some rows, x in the others";
  op.numbers.integer_count = [](Attributes attributes) {
    return attributes.empty() ? 0 : attributes[0];
  };
  op.numbers.integer_limit = [](const Signature&) { return 1u << detail::kRowsOfAMask; };
  op.numbers.reals = 1;
  op.gradient.needs = Needs::nothing;
  op.cost = cost_per_element<1>;
  op.shape = [](Inputs in, Attributes attributes) {
    const std::uint32_t masks = detail::masks_of_rows(in[0].rows());
    if (attributes.size() != 1 || attributes[0] != masks || masks == 0) {
      throw_shape_error(
          "fill_rows",
          "rows, and a mask for every " + std::to_string(detail::kRowsOfAMask) + " of them", in);
    }
    return in[0];
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
          "1 to " + detail::counted(size, "element") + ", not " + std::to_string(attributes[1]),
          in);
    }
    return with_axis(in, attributes, attributes[1]);
  };
  return op;
}();

namespace {

// Reduces any number of columns to any number of segments, which are the items of a node: neither
// number is part of the type.
Op segments(std::string_view name, std::string_view formula, Needs needs) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.batching.open_inputs = 1;
  op.batching.shareable = false;
  op.numbers.integers = 3;
  op.gradient.needs = needs;
  // The number of columns is unknown here: assumes a few.
  op.cost = [](const Signature& type) { return 4.0 * static_cast<double>(type.output_size); };
  return op;
}

Dim segment_shape(std::string_view op, Inputs in, Attributes attributes) {
  if (in[0].nd != 2 || in[0].rows() == 0 || !attributes.empty()) {
    throw_shape_error(op, "a matrix {n, k} and no attributes", in);
  }
  return Dim({in[0].rows()});
}

}  // namespace

const Op segment_sum = [] {
  Op op = segments("segment_sum", "the sum of some columns that follow one another; 0 without any",
                   Needs::nothing);
  op.shape = [](Inputs in, Attributes a) { return segment_shape("segment_sum", in, a); };
  return op;
}();

const Op segment_max = [] {
  Op op = segments("segment_max",
                   "in every row, the largest element of some columns that follow one another, or "
                   "-infinity; the gradient goes to the first of equal ones",
                   Needs::inputs);
  op.shape = [](Inputs in, Attributes a) { return segment_shape("segment_max", in, a); };
  return op;
}();

std::span<const Op* const> selection_ops() {
  static const Op* const all[] = {&select, &fill_rows, &kmax_pooling, &segment_sum, &segment_max};
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

Expression fill(const char* user, const Expression& x, ListOf<unsigned> rows, bool fills_these,
                float number) {
  check_graph(user, std::span(&x, 1));
  const std::uint32_t count = x.dim().rows();
  constexpr std::uint32_t kAll = (1u << detail::kRowsOfAMask) - 1;
  std::vector<std::uint32_t> masks(detail::masks_of_rows(count), fills_these ? 0 : kAll);
  for (const unsigned row : rows) {
    if (row >= count) {
      throw UsageError(std::string("[") + user + "] need rows below " + std::to_string(count) +
                       "; got " + detail::index_text(row) + labels_of(x));
    }
    const std::uint32_t bit = 1u << row % detail::kRowsOfAMask;
    std::uint32_t& mask = masks[row / detail::kRowsOfAMask];
    mask = fills_these ? mask | bit : mask & ~bit;
  }
  const auto attribute = static_cast<std::uint32_t>(masks.size());
  const double real = static_cast<double>(number);
  return unary(ops::fill_rows, x, std::span(&attribute, 1), {masks, std::span(&real, 1)});
}

// Columns [begin, end) of a minibatch element.
struct Segment {
  std::uint32_t begin = 0, end = 0;
};

// The slices along a dimension as columns of a matrix, one minibatch element after the other.
class Columns {
 public:
  Columns(const char* user, const Expression& x, unsigned d) : dim_(x.dim()) {
    check_graph(user, std::span(&x, 1));
    if (d >= dim_.nd || dim_[d] == 0) {
      refuse_shapes(user, "elements along dimension " + std::to_string(d), {x});
    }
    Expression last = x;
    if (d + 1 < dim_.nd) {
      order_.resize(dim_.nd);
      std::iota(order_.begin(), order_.end(), 0);
      std::swap(order_[d], order_.back());
      last = transpose(x, order_);
      dim_ = last.dim();
    }
    const std::uint32_t size = dim_.batch_size() / count();
    matrix_ = reshape(last, Dim({size, count() * dim_.bd}));
  }

  std::uint32_t count() const { return dim_[dim_.nd - 1]; }  ///< of a minibatch element
  const Expression& matrix() const { return matrix_; }

  // Reduces `segments` segments of every minibatch element, given by segment(k), to minibatch
  // elements.
  template <class F>
  Expression reduce(const Op& op, std::size_t segments, const F& segment) const {
    return reduce(op, matrix_, segments, segment);
  }
  // The same for another matrix with as many columns.
  template <class F>
  Expression reduce(const Op& op, const Expression& matrix, std::size_t segments,
                    const F& segment) const {
    const std::uint32_t all = count() * dim_.bd;
    std::vector<std::uint32_t> integers(3 * segments * dim_.bd);
    auto to = integers.begin();
    for (std::uint32_t first = 0; first < all; first += count()) {
      for (std::size_t k = 0; k < segments; ++k) {
        const Segment own = segment(k);
        *to++ = all;
        *to++ = first + own.begin;
        *to++ = first + own.end;
      }
    }
    return unary(op, matrix, {}, {integers});
  }

  // Brings results, which are minibatch elements, back to the shape of x.
  Expression back(const Expression& columns) const {
    Dim dim = dim_;
    dim.set(dim.nd - 1, columns.dim().bd / dim_.bd);
    const Expression last = reshape(columns, dim);
    return order_.empty() ? last : transpose(last, order_);
  }

 private:
  Dim dim_;                      ///< of x, with this dimension last
  std::vector<unsigned> order_;  ///< of the dimensions then, and back; empty: unchanged
  Expression matrix_;
};

void check_places(const char* user, const Expression& x, Integers places, std::uint32_t count) {
  for (const std::uint32_t place : places) {
    if (place < count) continue;
    throw UsageError(std::string("[") + user + "] need integers below " + std::to_string(count) +
                     "; got " + detail::index_text(place) + labels_of(x));
  }
}

// Gathers each column as a sum of one column.
Expression gather_columns(const Columns& columns, Integers places) {
  return columns.reduce(ops::segment_sum, places.size(), [&](std::size_t k) {
    return Segment{places[k], places[k] + 1};
  });
}

// Choosing columns has one type for all numbers of columns; other selections have a type for each.
Expression choose(const char* user, const Expression& x, Integers elements, unsigned d) {
  if (elements.empty()) {
    throw ShapeError(
        std::string("[") + user + "] need at least 1 place; got 0, of " + to_string(x.dim()) +
        ": no expression is empty, so leave out this one and all that reads it" + labels_of(x));
  }
  const unsigned rank = x.dim().nd;
  if (rank <= 1 || d + 1 != rank) return select(x, elements, d);
  const Columns columns(user, x, d);
  check_places(user, x, elements, columns.count());
  return columns.back(gather_columns(columns, elements));
}

// Treats the minibatch as one more dimension.
Expression as_columns(const Expression& x) {
  const Dim dim = x.dim();
  return reshape(x, Dim({dim.batch_size(), dim.bd}));
}
Expression as_elements(const Expression& columns, Dim dim) {
  dim.bd = columns.dim().cols();
  return reshape(columns, dim);
}

// Groups the elements by place, in order within a place, and reduces each group.
Expression scatter(const char* user, const Op& op, const Expression& x, Integers places,
                   unsigned count, unsigned d) {
  const Columns columns(user, x, d);
  if (places.size() != columns.count() || count == 0) {
    refuse_shapes(user,
                  "a place for each of " + detail::counted(columns.count(), "element") +
                      ", and at least one; not " + std::to_string(places.size()) + " in " +
                      std::to_string(count),
                  {x});
  }
  check_places(user, x, places, count);
  std::vector<std::uint32_t> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t k) { return places[k]; });
  std::vector<Segment> segments(count);
  for (std::uint32_t k = 0; k < order.size(); ++k) {
    Segment& segment = segments[places[order[k]]];
    if (segment.end == 0) segment.begin = k;
    segment.end = k + 1;
  }
  Expression sorted = columns.matrix();
  if (!std::ranges::is_sorted(places)) {
    sorted = reshape(gather_columns(columns, order), sorted.dim());
  }
  return columns.back(
      columns.reduce(op, sorted, count, [&](std::size_t k) { return segments[k]; }));
}

// The segments with these lengths, which must cover all columns.
std::vector<Segment> segments_of(const char* user, const Expression& x, const Columns& columns,
                                 const std::vector<unsigned>& lengths, unsigned d) {
  std::vector<Segment> segments;
  segments.reserve(lengths.size());
  std::uint64_t sum = 0;
  for (const unsigned length : lengths) {
    const auto begin = static_cast<std::uint32_t>(sum);
    sum += length;
    segments.push_back({begin, static_cast<std::uint32_t>(sum)});
  }
  if (lengths.empty() || sum != columns.count()) {
    throw UsageError(std::string("[") + user + "] need lengths that add up to " +
                     std::to_string(columns.count()) + ", the size of dimension " +
                     std::to_string(d) + "; got " + std::to_string(lengths.size()) +
                     " that add up to " + std::to_string(sum) + labels_of(x));
  }
  return segments;
}

Expression reduce_lengths(const Op& op, const Expression& x, const std::vector<unsigned>& lengths,
                          unsigned d) {
  const Columns columns(op.name.data(), x, d);
  const auto segments = segments_of(op.name.data(), x, columns, lengths, d);
  return columns.back(
      columns.reduce(op, segments.size(), [&](std::size_t k) { return segments[k]; }));
}

// from, from + stride, ... below `to`, in a dimension of x with this size.
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
  check_one_each("pick", x, v);
  // Picks one element for every minibatch element.
  const std::uint32_t attributes[] = {d, 1};
  const Expression picked = unary(ops::select, x, attributes, {{}, {}, v});
  Dim dim = picked.dim();
  dim.delete_dim(d);
  return reshape(picked, dim);
}
Expression pick_batch_elem(const Expression& x, IntegersAt v) { return pick_batch_elems(x, v); }
Expression fill_rows(const Expression& x, ListOf<unsigned> rows, float number) {
  return fill("fill_rows", x, rows, true, number);
}
Expression fill_other_rows(const Expression& x, ListOf<unsigned> rows, float number) {
  return fill("fill_other_rows", x, rows, false, number);
}
Expression select_rows(const Expression& x, const std::vector<unsigned>& rows) {
  return select(x, rows, 0);
}
Expression select_rows(const Expression& x, IntegersAt rows) { return select(x, rows, 0); }
Expression select_cols(const Expression& x, IntegersAt columns) { return select(x, columns, 1); }
Expression select_cols(const Expression& x, const std::vector<unsigned>& columns) {
  return choose("select_cols", x, columns, 1);
}
Expression pick_batch_elems(const Expression& x, const std::vector<unsigned>& v) {
  check_places("pick_batch_elems", x, v, x.dim().bd);
  return as_elements(choose("pick_batch_elems", as_columns(x), v, 1), x.dim());
}
Expression pick_batch_elems(const Expression& x, IntegersAt v) {
  return as_elements(select(as_columns(x), v, 1), x.dim());
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
    result =
        d < dim.nd ? choose("strided_select", result, chosen, d) : pick_batch_elems(result, chosen);
  }
  return result;
}
Expression kmax_pooling(const Expression& x, unsigned k, unsigned d) {
  const std::uint32_t attributes[] = {d, k};
  return unary(ops::kmax_pooling, x, attributes);
}

Expression top_k(const Expression& x, unsigned k, unsigned d) { return kmax_pooling(x, k, d); }

Expression gather(const Expression& x, const std::vector<unsigned>& places, unsigned d) {
  return choose("gather", x, places, d);
}
Expression gather(const Expression& x, IntegersAt places, unsigned d) {
  return select(x, places, d);
}
Expression scatter_add(const Expression& x, const std::vector<unsigned>& places, unsigned count,
                       unsigned d) {
  return scatter("scatter_add", ops::segment_sum, x, places, count, d);
}
Expression scatter_max(const Expression& x, const std::vector<unsigned>& places, unsigned count,
                       unsigned d) {
  return scatter("scatter_max", ops::segment_max, x, places, count, d);
}

Expression segment_sum(const Expression& x, const std::vector<unsigned>& lengths, unsigned d) {
  return reduce_lengths(ops::segment_sum, x, lengths, d);
}
Expression segment_max(const Expression& x, const std::vector<unsigned>& lengths, unsigned d) {
  return reduce_lengths(ops::segment_max, x, lengths, d);
}
Expression segment_mean(const Expression& x, const std::vector<unsigned>& lengths, unsigned d) {
  const Columns columns("segment_mean", x, d);
  const auto segments = segments_of("segment_mean", x, columns, lengths, d);
  const Expression sums =
      columns.reduce(ops::segment_sum, segments.size(), [&](std::size_t k) { return segments[k]; });
  std::vector<float> divisors;
  for (unsigned i = 0; i < sums.dim().bd; ++i) {
    divisors.push_back(static_cast<float>(std::max(lengths[i % lengths.size()], 1u)));
  }
  return columns.back(cdiv(sums, input(*x.pg, Dim({1}, sums.dim().bd), divisors)));
}
Expression segment_softmax(const Expression& x, const std::vector<unsigned>& lengths, unsigned d) {
  const Columns columns("segment_softmax", x, d);
  const auto segments = segments_of("segment_softmax", x, columns, lengths, d);
  const std::uint32_t all = columns.matrix().dim().cols();
  std::vector<std::uint32_t> integers;
  integers.reserve(std::size_t{4} * all);
  for (std::uint32_t first = 0; first < all; first += columns.count()) {
    for (const Segment& segment : segments) {
      for (std::uint32_t own = segment.begin; own < segment.end; ++own) {
        integers.insert(integers.end(),
                        {all, first + segment.begin, first + segment.end, first + own});
      }
    }
  }
  return columns.back(unary(ops::segment_softmax, columns.matrix(), {}, {integers}));
}

}  // namespace dynet_like
