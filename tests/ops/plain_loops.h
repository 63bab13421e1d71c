// What plain formulas of ops are made of: places in items, sums along dimensions, and the longer
// ones.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <numbers>

#include "dynet_like/core/philox.h"
#include "tests/ops/cases.h"
#include "tests/nn/plain_cells.h"
#include "tests/ops/plain_elementwise.h"

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

// Element `index` of the output, as anybody would write it down.
using Plain = std::function<double(const Signature&, const Item&, const Index&)>;

inline double at(const Signature& type, const Item& item, std::size_t input, const Index& index) {
  return item.inputs[input][element_of(type.inputs[input], index)];
}

inline double sum_of_products(const Signature& type, const Item& item, const Index& index) {
  const std::size_t first = type.inputs.size() % 2;
  double total = first == 1 ? at(type, item, 0, index) : 0;
  for (std::size_t w = first; w < type.inputs.size(); w += 2) {
    for (unsigned k = 0; k < type.inputs[w].cols(); ++k) {
      total += at(type, item, w, {index[0], k}) * at(type, item, w + 1, {k, index[1]});
    }
  }
  return total;
}

inline double sum_of_inputs(const Signature& type, const Item& item, const Index& index) {
  double total = 0;
  for (std::size_t j = 0; j < type.inputs.size(); ++j) total += at(type, item, j, index);
  return total;
}

// The sum of f(x) along dimension d, at the other places of `index`.
template <class F>
double along(const Signature& type, const Item& item, Index index, unsigned d, F&& f) {
  double total = 0;
  for (index[d] = 0; index[d] < type.inputs[0][d]; ++index[d]) total += f(at(type, item, 0, index));
  return total;
}

// The place in the input of a line that became element `index` of the output.
inline Index whole_index(const Signature& type, const Index& index) {
  const unsigned d = type.attributes[0];
  Index whole{};
  for (unsigned i = 0; i + 1 < Dim::kMaxDimensions; ++i) whole[i < d ? i : i + 1] = index[i];
  return whole;
}

inline double sum_along(const Signature& type, const Item& item, const Index& index) {
  return along(type, item, whole_index(type, index), type.attributes[0],
               [](double x) { return x; });
}

inline double sum_of_squares_along(const Signature& type, const Item& item, const Index& index) {
  return along(type, item, whole_index(type, index), type.attributes[0],
               [](double x) { return x * x; });
}

inline double plain_layer_norm(const Signature& type, const Item& item, const Index& index) {
  const unsigned n = type.inputs[0].rows();
  const double mean = along(type, item, index, 0, [](double x) { return x; }) / n;
  const double squares =
      along(type, item, index, 0, [&](double x) { return (x - mean) * (x - mean); });
  const double normal =
      (at(type, item, 0, index) - mean) / std::sqrt(squares / n + ops::epsilon_of(type));
  return item.inputs[1][index[0]] * normal + item.inputs[2][index[0]];
}

inline double plain_rms_norm(const Signature& type, const Item& item, const Index& index) {
  const unsigned n = type.inputs[0].rows();
  const double squares = along(type, item, index, 0, [](double x) { return x * x; });
  const double divisor = std::sqrt(squares / n + ops::epsilon_of(type));
  return item.inputs[1][index[0]] * at(type, item, 0, index) / divisor;
}

inline double largest_along(const Signature& type, const Item& item, const Index& index) {
  double top = -std::numeric_limits<double>::infinity();
  along(type, item, whole_index(type, index), type.attributes[0], [&](double x) {
    top = std::max(top, x);
    return 0;
  });
  return top;
}

inline double log_of_softmax(const Signature& type, const Item& item, const Index& index) {
  const double total =
      along(type, item, index, type.attributes[0], [](double x) { return std::exp(x); });
  return at(type, item, 0, index) - std::log(total);
}

inline double concatenated(const Signature& type, const Item& item, Index index) {
  const unsigned d = type.attributes[0];
  std::size_t j = 0;
  for (; index[d] >= type.inputs[j][d]; ++j) index[d] -= type.inputs[j][d];
  return at(type, item, j, index);
}

inline double picked(const Signature& type, const Item& item, Index index) {
  index[type.attributes[0]] += item.integers[0];
  return at(type, item, 0, index);
}

inline double transposed(const Signature& type, const Item& item, const Index& index) {
  Index from{};
  for (std::size_t i = 0; i < type.attributes.size(); ++i) from[type.attributes[i]] = index[i];
  return at(type, item, 0, from);
}

// The number in [0, 1) of the word of an element, or of one next to it.
inline double drawn(const Signature& type, const Item& item, const Index& index, int offset) {
  const std::size_t word = item.integers[3] + element_of(type.output, index) + offset;
  return unit_interval(detail::random_block(item.integers.data(), word / 4)[word % 4]);
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

inline double dropped(const Signature& type, const Item& item, const Index& index) {
  const std::size_t word = item.integers[3] + element_of(type.output, index);
  const bool kept = unit_interval(detail::random_block(item.integers.data(), word / 4)[word % 4]) >=
                    item.reals[0];
  return kept ? at(type, item, 0, index) / (1 - item.reals[0]) : 0;
}

inline double sum_of_pairs(const Item& item, double (*f)(double, double)) {
  double total = 0;
  for (std::size_t e = 0; e < item.inputs[0].size(); ++e) {
    total += f(item.inputs[0][e], item.inputs[1][e]);
  }
  return total;
}

inline double loss_of_class(const Item& item) {
  double total = 0;
  for (double x : item.inputs[0]) total += std::exp(x);
  return std::log(total) - item.inputs[0][item.integers[0]];
}

// How well a key fits the query.
inline double attention_score(const Signature& type, const Item& item, unsigned head,
                              unsigned key) {
  const unsigned rows = type.inputs[0].rows() / type.attributes[0];
  double sum = 0;
  for (unsigned c = head * rows; c < (head + 1) * rows; ++c) {
    sum += at(type, item, 0, {c}) * at(type, item, 1, {c, key});
  }
  return sum / std::sqrt(rows);
}

// The forward algorithm. A tag is given where the number is not negative.
inline double plain_log_partition(const Signature& type, const Item& item) {
  const unsigned tags = type.inputs[0].rows();
  const auto emission = [&](unsigned t, unsigned tag) {
    const double given = item.inputs[4][t];
    return given < 0 || std::floor(given) == tag ? item.inputs[0][t * tags + tag] : -INFINITY;
  };
  std::vector<double> sums;
  for (unsigned tag = 0; tag < tags; ++tag) {
    sums.push_back(std::exp(emission(0, tag) + item.inputs[2][tag]));
  }
  for (unsigned t = 1; t < item.integers[0]; ++t) {
    std::vector<double> next(tags, 0);
    for (unsigned tag = 0; tag < tags; ++tag) {
      for (unsigned before = 0; before < tags; ++before) {
        const double transition = item.inputs[1][tag * tags + before];
        next[tag] += sums[before] * std::exp(transition + emission(t, tag));
      }
    }
    sums = next;
  }
  double total = 0;
  for (unsigned tag = 0; tag < tags; ++tag) total += sums[tag] * std::exp(item.inputs[3][tag]);
  return std::log(total);
}

// The recursion of the paper over states: a blank, the first label, a blank, and so on.
inline double plain_ctc(const Signature& type, const Item& item) {
  const unsigned classes = type.inputs[0].rows();
  std::vector<unsigned> states = {classes - 1};
  for (const double label : item.inputs[1]) {
    if (label < 0) break;
    states.insert(states.end(), {static_cast<unsigned>(label), classes - 1});
  }
  std::vector<double> sums(states.size(), 0);
  for (unsigned t = 0; t < item.integers[0]; ++t) {
    std::vector<double> next;
    for (std::size_t s = 0; s < states.size(); ++s) {
      double sum = sums[s] + (s > 0 ? sums[s - 1] : 0);
      if (s > 1 && states[s] != classes - 1 && states[s] != states[s - 2]) sum += sums[s - 2];
      if (t == 0) sum = s < 2 ? 1 : 0;
      next.push_back(sum * std::exp(item.inputs[0][t * classes + states[s]]));
    }
    sums = next;
  }
  return std::log(sums.back() + (sums.size() > 1 ? sums[sums.size() - 2] : 0));
}

inline Plain of_elementwise(PlainElementwise::Function value) {
  return [value](const Signature& type, const Item& item, const Index& index) {
    const auto input = [&](std::size_t j) {
      return j < type.inputs.size() ? static_cast<Long>(at(type, item, j, index)) : 0;
    };
    const Long number = item.reals.empty() ? 0 : static_cast<Long>(item.reals[0]);
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

inline double element_of_inverse(const Signature& type, const Item& item, const Index& index) {
  const unsigned n = type.inputs[0].rows(), r = index[0], c = index[1];
  const double cofactor = determinant(minor_of(item.inputs[0], n, c, r), n - 1);
  return ((r + c) % 2 == 0 ? cofactor : -cofactor) / determinant(item.inputs[0], n);
}

// The row of the result's element in all columns of the segment.
template <class F>
double over_segment(const Signature& type, const Item& item, const Index& index, double total,
                    F&& f) {
  for (unsigned column = item.integers[1]; column < item.integers[2]; ++column) {
    total = f(total, at(type, item, 0, {index[0], column}));
  }
  return total;
}

}  // namespace dynet_like::op_cases
