// What plain formulas of ops are made of: places in items, sums along dimensions, and the longer
// ones.
#pragma once

#include <array>
#include <numbers>

#include "dynet_like/core/philox.h"
#include "tests/nn/plain_cells.h"
#include "tests/ops/cases.h"
#include "tests/ops/plain_elementwise.h"
#include "tests/support/precompiled.h"

namespace dynet_like::op_cases {

using Index = std::array<unsigned, Dim::kMaxDimensions>;

inline Index index_of(const Dim& dim, std::size_t element) {
  Index index{};
  for (unsigned i = 0; i < dim.nd; ++i) {
    index[i] = static_cast<unsigned>(element % dim.d[i]);
    element /= dim.d[i];
  }
  return index;
}

// Dimensions of size 1 stretch.
inline std::size_t element_of(const Dim& dim, const Index& index) {
  std::size_t element = 0;
  for (unsigned i = dim.nd; i-- > 0;) element = element * dim.d[i] + (dim.d[i] == 1 ? 0 : index[i]);
  return element;
}

/// An element of an op's output, and what it is computed from.
struct Element {
  const Signature& type;
  const Item& item;
  Index index;

  const std::vector<double>& x(std::size_t input) const { return item.inputs[input]; }
  double at(std::size_t input, const Index& place) const {
    return x(input)[element_of(type.inputs[input], place)];
  }
  /// At its own place.
  double at(std::size_t input) const { return at(input, index); }
  std::uint32_t attribute(std::size_t i = 0) const { return type.attributes[i]; }
  std::uint32_t integer(std::size_t i = 0) const { return item.integers[i]; }
  double real(std::size_t i = 0) const { return item.reals[i]; }
  /// Of the first input, along the dimension that the op is about.
  unsigned length() const { return type.inputs[0][attribute()]; }
  std::size_t number() const { return element_of(type.output, index); }
};

/// The element, as anybody would write it down.
using Plain = std::function<double(Element)>;

inline double sum_of_products(const Element& e) {
  const std::size_t first = e.type.inputs.size() % 2;
  double total = first == 1 ? e.at(0) : 0;
  for (std::size_t w = first; w < e.type.inputs.size(); w += 2) {
    for (unsigned k = 0; k < e.type.inputs[w].cols(); ++k) {
      total += e.at(w, {e.index[0], k}) * e.at(w + 1, {k, e.index[1]});
    }
  }
  return total;
}

inline double sum_of_inputs(const Element& e) {
  double total = 0;
  for (std::size_t j = 0; j < e.type.inputs.size(); ++j) total += e.at(j);
  return total;
}

// The sum of f(x) along dimension d, through the element's place.
template <class F>
double along(Element e, unsigned d, F&& f) {
  double total = 0;
  for (e.index[d] = 0; e.index[d] < e.type.inputs[0][d]; ++e.index[d]) total += f(e.at(0));
  return total;
}

// The beginning of the line in the input that became the element of the output.
inline Element whole(const Element& e) {
  Element result{e.type, e.item, {}};
  for (unsigned i = 0; i + 1 < Dim::kMaxDimensions; ++i) {
    result.index[i < e.attribute() ? i : i + 1] = e.index[i];
  }
  return result;
}

template <class F>
double along_line(const Element& e, F&& f) {
  return along(whole(e), e.attribute(), f);
}
inline double itself(double x) { return x; }
inline double squared(double x) { return x * x; }
inline double sum_along(const Element& e) { return along_line(e, itself); }
inline double root_of_squares(const Element& e) { return std::sqrt(along_line(e, squared)); }

inline double plain_layer_norm(const Element& e) {
  const unsigned n = e.type.inputs[0].rows();
  const double mean = along(e, 0, itself) / n;
  const double squares = along(e, 0, [&](double x) { return (x - mean) * (x - mean); });
  const double normal = (e.at(0) - mean) / std::sqrt(squares / n + ops::epsilon_of(e.type));
  return e.x(1)[e.index[0]] * normal + e.x(2)[e.index[0]];
}

inline double plain_rms_norm(const Element& e) {
  const unsigned n = e.type.inputs[0].rows();
  const double squares = along(e, 0, squared);
  const double divisor = std::sqrt(squares / n + ops::epsilon_of(e.type));
  return e.x(1)[e.index[0]] * e.at(0) / divisor;
}

inline double largest_along(const Element& e) {
  double top = -std::numeric_limits<double>::infinity();
  along_line(e, [&](double x) { return top = std::max(top, x); });
  return top;
}

inline double log_of_softmax(const Element& e) {
  const double total = along(e, e.attribute(), [](double x) { return std::exp(x); });
  return e.at(0) - std::log(total);
}

inline double concatenated(Element e) {
  unsigned& place = e.index[e.attribute()];
  std::size_t j = 0;
  for (; place >= e.type.inputs[j][e.attribute()]; ++j) place -= e.type.inputs[j][e.attribute()];
  return e.at(j);
}

inline double picked(Element e) {
  e.index[e.attribute()] += e.integer();
  return e.at(0);
}

inline double transposed(const Element& e) {
  Index from{};
  for (std::size_t i = 0; i < e.type.attributes.size(); ++i)
    from[e.type.attributes[i]] = e.index[i];
  return e.at(0, from);
}

// The number in [0, 1) of the word of an element, or of one next to it.
inline double drawn(const Element& e, int offset) {
  const std::size_t word = e.integer(3) + e.number() + offset;
  return unit_interval(detail::random_block(e.item.integers.data(), word / 4)[word % 4]);
}

// By bisection: the sum of what is above t falls as t grows.
inline double plain_threshold(const std::vector<double>& x) {
  double low = *std::min_element(x.begin(), x.end()) - 1,
         high = *std::max_element(x.begin(), x.end());
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (double each : x) sum += std::max(0.0, each - middle);
    (sum > 1 ? low : high) = middle;
  }
  return high;
}

// min(bound, s e^x), with s such that the sum is 1, by bisection of ln s.
inline double plain_bounded(const std::vector<double>& x, const std::vector<double>& bound,
                            std::size_t place) {
  const auto element = [&](std::size_t i, double log_s) {
    return std::min(bound[i], std::exp(x[i] + log_s));
  };
  double low = -50, high = 50;
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += element(i, middle);
    (sum < 1 ? low : high) = middle;
  }
  return element(place, high);
}

inline double dropped(const Element& e) {
  return drawn(e, 0) >= e.real() ? e.at(0) / (1 - e.real()) : 0;
}

template <class F>
double sum_of_pairs(const Element& e, const F& f) {
  return std::inner_product(e.x(0).begin(), e.x(0).end(), e.x(1).begin(), 0.0, std::plus<>(), f);
}

inline double loss_of_class(const Element& e) {
  double total = 0;
  for (double x : e.x(0)) total += std::exp(x);
  return std::log(total) - e.x(0)[e.integer()];
}

// How well a key fits the query.
inline double attention_score(const Element& e, unsigned head, unsigned key) {
  const unsigned rows = e.type.inputs[0].rows() / e.attribute();
  double sum = 0;
  for (unsigned c = head * rows; c < (head + 1) * rows; ++c) {
    sum += e.at(0, {c}) * e.at(1, {c, key});
  }
  return sum / std::sqrt(rows);
}

// The forward algorithm. A tag is given where the number is not negative.
inline double plain_log_partition(const Element& e) {
  const unsigned tags = e.type.inputs[0].rows();
  const auto emission = [&](unsigned t, unsigned tag) {
    const double given = e.x(4)[t];
    return given < 0 || std::floor(given) == tag ? e.x(0)[t * tags + tag] : -INFINITY;
  };
  std::vector<double> sums;
  for (unsigned tag = 0; tag < tags; ++tag) {
    sums.push_back(std::exp(emission(0, tag) + e.x(2)[tag]));
  }
  for (unsigned t = 1; t < e.integer(); ++t) {
    std::vector<double> next(tags, 0);
    for (unsigned tag = 0; tag < tags; ++tag) {
      for (unsigned before = 0; before < tags; ++before) {
        const double transition = e.x(1)[tag * tags + before];
        next[tag] += sums[before] * std::exp(transition + emission(t, tag));
      }
    }
    sums = next;
  }
  double total = 0;
  for (unsigned tag = 0; tag < tags; ++tag) total += sums[tag] * std::exp(e.x(3)[tag]);
  return std::log(total);
}

// The recursion of the paper over states: a blank, the first label, a blank, and so on.
inline double plain_ctc(const Element& e) {
  const unsigned classes = e.type.inputs[0].rows();
  std::vector<unsigned> states = {classes - 1};
  for (const double label : e.x(1)) {
    if (label < 0) break;
    states.insert(states.end(), {static_cast<unsigned>(label), classes - 1});
  }
  std::vector<double> sums(states.size(), 0);
  for (unsigned t = 0; t < e.integer(); ++t) {
    std::vector<double> next;
    for (std::size_t s = 0; s < states.size(); ++s) {
      double sum = sums[s] + (s > 0 ? sums[s - 1] : 0);
      if (s > 1 && states[s] != classes - 1 && states[s] != states[s - 2]) sum += sums[s - 2];
      if (t == 0) sum = s < 2 ? 1 : 0;
      next.push_back(sum * std::exp(e.x(0)[t * classes + states[s]]));
    }
    sums = next;
  }
  return std::log(sums.back() + (sums.size() > 1 ? sums[sums.size() - 2] : 0));
}

inline Plain of_elementwise(PlainElementwise::Function value) {
  return [value](const Element& e) {
    const auto input = [&](std::size_t j) {
      return j < e.type.inputs.size() ? static_cast<Long>(e.at(j)) : 0;
    };
    const Long number = e.item.reals.empty() ? 0 : static_cast<Long>(e.real());
    return static_cast<double>(value(input(0), input(1), number));
  };
}

// What is left without row r and column c.
inline std::vector<double> minor_of(const std::vector<double>& x, unsigned n, unsigned r,
                                    unsigned c) {
  std::vector<double> result;
  for (unsigned i = 0; i < n * n; ++i) {
    if (i % n != r && i / n != c) result.push_back(x[i]);
  }
  return result;
}

// By cofactors of the first column.
inline double determinant(const std::vector<double>& x, unsigned n) {
  if (n == 0) return 1;
  double total = 0;
  for (unsigned r = 0; r < n; ++r) {
    total += (r % 2 == 0 ? 1 : -1) * x[r] * determinant(minor_of(x, n, r, 0), n - 1);
  }
  return total;
}

inline double element_of_inverse(const Element& e) {
  const unsigned n = e.type.inputs[0].rows(), r = e.index[0], c = e.index[1];
  const double cofactor = determinant(minor_of(e.x(0), n, c, r), n - 1);
  return ((r + c) % 2 == 0 ? cofactor : -cofactor) / determinant(e.x(0), n);
}

// The row of the result's element in all columns of the segment.
template <class F>
double over_segment(const Element& e, double total, F&& f) {
  for (unsigned column = e.integer(1); column < e.integer(2); ++column) {
    total = f(total, e.at(0, {e.index[0], column}));
  }
  return total;
}

}  // namespace dynet_like::op_cases
