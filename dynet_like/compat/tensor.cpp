// TensorTools: work on tensors without graphs.
#include "dynet/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "dynet/globals.h"
#include "dynet/param-init.h"
#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/ops/op.h"

namespace dynet {

namespace {

using dynet_like::ShapeError;
using dynet_like::UsageError;

void check_equal(const char* name, const Tensor& a, const Tensor& b) {
  if (a.d == b.d) return;
  throw ShapeError(std::string("[TensorTools::") + name + "] need equal shapes; got " +
                   to_string(a.d) + " " + to_string(b.d));
}

std::size_t checked(const Tensor& x, int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= x.d.size()) {
    throw UsageError("[TensorTools] need an element of " + to_string(x.d) + "; got element " +
                     std::to_string(index));
  }
  return static_cast<std::size_t>(index);
}

template <class Function>
void for_elements(Tensor& x, Function&& function) {
  for (std::size_t i = 0; i < x.d.size(); ++i) x.v[i] = function(x.v[i]);
}

void check_dimension(const Dim& dim, unsigned d) {
  if (d < dim.nd) return;
  throw ShapeError("[TensorTools] need a dimension of " + to_string(dim) + "; got " +
                   std::to_string(d));
}

Dim with_size(const Dim& dim, unsigned d, unsigned size) {
  check_dimension(dim, d);
  Dim result = dim;
  result.d[d] = size;
  return result;
}

// Calls function(first element, distance between elements, index of the line's first element in a
// result that has `results` elements along the dimension) for every line.
template <class Function>
void for_lines(const Dim& dim, unsigned d, unsigned results, Function&& function) {
  const dynet_like::ops::Axis axis(dim, d);
  for (std::size_t outer = 0; outer < axis.outer * dim.bd; ++outer) {
    for (std::size_t inner = 0; inner < axis.inner; ++inner) {
      function(outer * axis.n * axis.inner + inner, axis.inner,
               outer * results * axis.inner + inner);
    }
  }
}

// The positions of the `count` largest elements, the largest first.
std::vector<std::size_t> largest(const float* line, std::size_t stride, std::size_t n,
                                 std::size_t count) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const float x = line[a * stride], y = line[b * stride];
    return x > y || (std::isnan(x) && !std::isnan(y));
  });
  order.resize(count);
  return order;
}

void check_count(const Dim& dim, unsigned d, unsigned num) {
  check_dimension(dim, d);
  if (num == 0 || num > dim.d[d]) {
    throw UsageError("[TensorTools] need 1 to " + dynet_like::detail::counted(dim.d[d], "element") +
                     "; got " + std::to_string(num));
  }
}

}  // namespace

Tensor::Tensor(const Dim& dim)
    : dynet_like::Tensor(dim, static_cast<float*>(nullptr)),
      memory(std::make_shared<std::vector<float>>(dim.size())) {
  v = memory->data();
}

std::vector<Tensor> Tensor::batch_elems() const {
  const auto views = dynet_like::Tensor::batch_elems();
  return {views.begin(), views.end()};
}

std::vector<real> as_scale_vector(const Tensor& tensor, float a) {
  std::vector<real> result = as_vector(tensor);
  for (real& x : result) x *= a;
  return result;
}

std::ptrdiff_t as_scalar(const IndexTensor& tensor) {
  if (tensor.d.size() != 1) {
    throw ShapeError("[as_scalar] need one element; got " + to_string(tensor.d));
  }
  return tensor.v[0];
}
std::vector<std::ptrdiff_t> as_vector(const IndexTensor& tensor) {
  return {tensor.v, tensor.v + tensor.d.size()};
}

real rand01() { return std::uniform_real_distribution<real>(0, 1)(*rndeng); }
int rand0n(int n) {
  if (n <= 0) throw UsageError("[rand0n] need a number above 0; got " + std::to_string(n));
  return std::uniform_int_distribution<int>(0, n - 1)(*rndeng);
}
real rand_normal() { return std::normal_distribution<real>(0, 1)(*rndeng); }

void TensorTools::clip(Tensor& x, float left, float right) {
  for_elements(x, [&](float e) { return std::min(std::max(e, left), right); });
}
void TensorTools::scale(Tensor& x, float left, float right) {
  for_elements(x, [&](float e) { return left + (right - left) * e; });
}
void TensorTools::uniform_to_bernoulli(Tensor& x, float p) {
  for_elements(x, [&](float e) { return e < p ? 1.0f : 0.0f; });
}
void TensorTools::constant(Tensor& x, float c) {
  for_elements(x, [&](float) { return c; });
}
void TensorTools::zero(Tensor& x) { constant(x, 0); }
void TensorTools::identity(Tensor& x) { ParameterInitIdentity().initialize_params(x); }
void TensorTools::randomize_bernoulli(Tensor& x, real p, real scale) {
  for_elements(x, [&](float) { return rand01() < p ? scale : 0.0f; });
}
void TensorTools::randomize_normal(Tensor& x, real mean, real stddev) {
  for_elements(x, [&](float) { return mean + stddev * rand_normal(); });
}
void TensorTools::randomize_uniform(Tensor& x, real left, real right) {
  for_elements(x, [&](float) { return left + (right - left) * rand01(); });
}
void TensorTools::randomize_orthonormal(Tensor& x, real scale) {
  ParameterInitSaxe(scale).initialize_params(x);
}

float TensorTools::access_element(const Tensor& x, int index) { return x.v[checked(x, index)]; }
float TensorTools::access_element(const Tensor& x, const Dim& index) {
  std::size_t at = 0, stride = 1;
  for (unsigned i = 0; i < x.d.nd; ++i) {
    const unsigned position = i < index.nd ? index.d[i] : 0;
    if (position >= x.d.d[i]) {
      throw UsageError("[TensorTools] need a place in " + to_string(x.d) + "; got " +
                       to_string(index));
    }
    at += position * stride;
    stride *= x.d.d[i];
  }
  return x.v[at];
}
void TensorTools::set_element(const Tensor& x, int index, float value) {
  x.v[checked(x, index)] = value;
}
void TensorTools::copy_element(const Tensor& from, int from_index, Tensor& to, int to_index) {
  to.v[checked(to, to_index)] = from.v[checked(from, from_index)];
}
void TensorTools::set_elements(const Tensor& x, const std::vector<float>& values) {
  if (values.size() < x.d.size()) {
    throw ShapeError("[TensorTools::set_elements] need at least " +
                     dynet_like::detail::counted(x.d.size(), "value") + " for " + to_string(x.d) +
                     "; got " + std::to_string(values.size()));
  }
  std::copy_n(values.begin(), x.d.size(), x.v);
}
void TensorTools::copy_elements(Tensor& to, const Tensor& from) {
  check_equal("copy_elements", to, from);
  std::copy_n(from.v, from.d.size(), to.v);
}
void TensorTools::accumulate(Tensor& sum, const Tensor& x) {
  check_equal("accumulate", sum, x);
  for (std::size_t i = 0; i < x.d.size(); ++i) sum.v[i] += x.v[i];
}

void TensorTools::logsumexp(const Tensor& x, Tensor& m, Tensor& z, unsigned d) {
  const std::size_t lines = with_size(x.d, d, 1).size();
  if (m.d.size() != lines || z.d.size() != lines) {
    throw ShapeError("[TensorTools::logsumexp] need results of " +
                     dynet_like::detail::counted(lines, "element") + "; got " + to_string(m.d) +
                     " " + to_string(z.d));
  }
  for_lines(x.d, d, 1, [&](std::size_t first, std::size_t stride, std::size_t line) {
    float top = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < x.d.d[d]; ++i) top = std::max(top, x.v[first + i * stride]);
    float sum = 0;
    for (std::size_t i = 0; i < x.d.d[d]; ++i) sum += std::exp(x.v[first + i * stride] - top);
    m.v[line] = top;
    z.v[line] = std::isfinite(top) ? top + std::log(sum) : top;
  });
}

std::pair<Tensor, IndexTensor> TensorTools::topk(const Tensor& x, unsigned dim, unsigned num) {
  check_count(x.d, dim, num);
  std::pair<Tensor, IndexTensor> result{Tensor(with_size(x.d, dim, num)),
                                        IndexTensor(with_size(x.d, dim, num))};
  for_lines(x.d, dim, num, [&](std::size_t first, std::size_t stride, std::size_t line) {
    const auto order = largest(x.v + first, stride, x.d.d[dim], num);
    for (std::size_t i = 0; i < order.size(); ++i) {
      result.first.v[line + i * stride] = x.v[first + order[i] * stride];
      result.second.v[line + i * stride] = static_cast<std::ptrdiff_t>(order[i]);
    }
  });
  return result;
}

IndexTensor TensorTools::argmax(const Tensor& x, unsigned dim, unsigned num) {
  return topk(x, dim, num).second;
}

// Adds Gumbel noise to each logarithm: the position of the largest sum is such a draw (Gumbel
// 1954).
IndexTensor TensorTools::categorical_sample_log_prob(const Tensor& x, unsigned dim, unsigned num) {
  IndexTensor result(with_size(x.d, dim, num));
  for_lines(x.d, dim, num, [&](std::size_t first, std::size_t stride, std::size_t line) {
    for (std::size_t draw = 0; draw < num; ++draw) {
      float top = -std::numeric_limits<float>::infinity();
      std::size_t chosen = 0;
      for (std::size_t i = 0; i < x.d.d[dim]; ++i) {
        const float uniform = std::max(rand01(), 1e-12f);
        const float noisy = x.v[first + i * stride] - std::log(-std::log(uniform));
        if (noisy > top) top = noisy, chosen = i;
      }
      result.v[line + draw * stride] = static_cast<std::ptrdiff_t>(chosen);
    }
  });
  return result;
}

}  // namespace dynet
