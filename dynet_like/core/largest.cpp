// Finding the largest elements of tensors.
#include "dynet_like/core/largest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like {

namespace {

bool is_larger(double a, double b) { return b < a || (std::isnan(a) && !std::isnan(b)); }

// Compares x at place a with y at place b.
bool comes_before(double x, unsigned a, double y, unsigned b) {
  return is_larger(x, y) || (!is_larger(y, x) && a < b);
}

// Searches the elements [first, first + n); the result counts from `first`.
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

unsigned argmax(const Tensor& tensor, ListOf<unsigned> allowed) {
  check_places(tensor, allowed, "argmax");
  return *std::min_element(allowed.begin(), allowed.end(), [&](unsigned a, unsigned b) {
    return comes_before(tensor.at(a), a, tensor.at(b), b);
  });
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
    throw ShapeError("[top_k_of_columns] need columns of at least " +
                     detail::counted(k, "element") + "; got " + to_string(tensor.d));
  }
  std::vector<unsigned> result, all(rows);
  for (std::size_t first = 0; first < tensor.d.size(); first += rows) {
    std::iota(all.begin(), all.end(), 0u);
    std::partial_sort(all.begin(), all.begin() + k, all.end(), [&](unsigned a, unsigned b) {
      return comes_before(tensor.at(first + a), a, tensor.at(first + b), b);
    });
    result.insert(result.end(), all.begin(), all.begin() + k);
  }
  return result;
}

void check_places(const Tensor& tensor, ListOf<unsigned> places, const char* user) {
  const std::string need = std::string("[") + user + "] need ";
  if (places.size() == 0) throw ShapeError(need + "at least one place; got none");
  const unsigned last = *std::max_element(places.begin(), places.end());
  if (last < tensor.d.size()) return;
  throw ShapeError(need + "places in " + to_string(tensor.d) + "; got " + std::to_string(last));
}

}  // namespace dynet_like
