// Finding the largest elements of tensors.
#include "dynet_like/core/largest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dynet_like/core/errors.h"

namespace dynet_like {

namespace {

bool is_larger(double a, double b) { return b < a || (std::isnan(a) && !std::isnan(b)); }

// Of the elements [first, first + n); a place is counted from there.
std::size_t place_of_largest(const Tensor& tensor, std::size_t first, std::size_t n) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < n; ++i) {
    if (is_larger(tensor.at(first + i), tensor.at(first + best))) best = i;
  }
  return best;
}

}  // namespace

std::size_t argmax(const Tensor& tensor) {
  if (tensor.d.size() == 0) {
    throw ShapeError("[argmax] need at least one element; got " + to_string(tensor.d));
  }
  return place_of_largest(tensor, 0, tensor.d.size());
}

std::vector<unsigned> argmax_of_columns(const Tensor& tensor) {
  const std::size_t rows = tensor.d.rows();
  std::vector<unsigned> result;
  for (std::size_t first = 0; first < tensor.d.size(); first += rows) {
    result.push_back(static_cast<unsigned>(place_of_largest(tensor, first, rows)));
  }
  return result;
}

std::vector<unsigned> top_k_of_columns(const Tensor& tensor, unsigned k) {
  const unsigned rows = tensor.d.rows();
  if (k > rows) {
    throw ShapeError("[top_k_of_columns] need columns of at least " + std::to_string(k) +
                     " elements; got " + to_string(tensor.d));
  }
  std::vector<unsigned> result, all(rows);
  for (std::size_t first = 0; first < tensor.d.size(); first += rows) {
    std::iota(all.begin(), all.end(), 0u);
    std::partial_sort(all.begin(), all.begin() + k, all.end(), [&](unsigned a, unsigned b) {
      const double x = tensor.at(first + a), y = tensor.at(first + b);
      return is_larger(x, y) || (!is_larger(y, x) && a < b);
    });
    result.insert(result.end(), all.begin(), all.begin() + k);
  }
  return result;
}

}  // namespace dynet_like
