// DyNet's tensor.h: views of values, and work on them without graphs.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "dynet/devices.h"
#include "dynet/dim.h"
#include "dynet/index-tensor.h"
#include "dynet_like/core/tensor.h"

namespace dynet {

using real = float;

/// The library's view. It may own its memory.
struct Tensor : dynet_like::Tensor {
  Tensor() = default;
  Tensor(const dynet_like::Tensor& view) : dynet_like::Tensor(view) {}
  Tensor(const Dim& dim, float* values, Device* device = nullptr,
         DeviceMempool = DeviceMempool::NONE)
      : dynet_like::Tensor(dim, values), device(device) {}
  /// Zeros, in memory of its own.
  explicit Tensor(const Dim& dim);

  Tensor batch_elem(unsigned b) const { return dynet_like::Tensor::batch_elem(b); }
  std::vector<Tensor> batch_elems() const;

  Device* device = nullptr;
  std::shared_ptr<std::vector<float>> memory;  ///< null for a view
};

using dynet_like::as_scalar;
using dynet_like::as_vector;
/// All elements, multiplied by a.
std::vector<real> as_scale_vector(const Tensor& tensor, float a);

/// Random numbers from `rndeng`: in [0, 1), integers in [0, n), standard normal.
real rand01();
int rand0n(int n);
real rand_normal();

/// Work on tensors without graphs. Elements are numbered in column-major order over the whole
/// minibatch. Arguments out of range throw UsageError, wrong shapes ShapeError.
struct TensorTools {
  static void clip(Tensor& x, float left, float right);
  /// left + (right - left) * x
  static void scale(Tensor& x, float left, float right);
  /// 1 where x < p, else 0.
  static void uniform_to_bernoulli(Tensor& x, float p);
  static void constant(Tensor& x, float c);
  static void zero(Tensor& x);
  /// For a square matrix.
  static void identity(Tensor& x);
  static void randomize_bernoulli(Tensor& x, real p, real scale = 1.0f);
  static void randomize_normal(Tensor& x, real mean = 0.0f, real stddev = 1.0f);
  static void randomize_uniform(Tensor& x, real left = 0.0f, real right = 1.0f);
  /// For a matrix: makes its columns (or its rows, if it has fewer) orthonormal, and multiplies by
  /// scale.
  static void randomize_orthonormal(Tensor& x, real scale = 1.0f);

  static float access_element(const Tensor& x, int index);
  static float access_element(const Tensor& x, const Dim& index);
  static void set_element(const Tensor& x, int index, float value);
  static void copy_element(const Tensor& from, int from_index, Tensor& to, int to_index);
  /// Sets the elements to the first of the values. Throws ShapeError if there are too few.
  static void set_elements(const Tensor& x, const std::vector<float>& values);
  static void copy_elements(Tensor& to, const Tensor& from);
  static void accumulate(Tensor& sum, const Tensor& x);

  /// z = ln of the sum of e^x along dimension d, m = the largest elements. Both have x's shape
  /// without dimension d.
  static void logsumexp(const Tensor& x, Tensor& m, Tensor& z, unsigned d = 0);
  /// The positions of the `num` largest elements along dimension `dim`, the largest first; of equal
  /// elements the first comes first. The dimension becomes `num`.
  static IndexTensor argmax(const Tensor& x, unsigned dim = 0, unsigned num = 1);
  /// Draws `num` positions along dimension `dim`, from distributions that are given by logarithms
  /// (up to a constant).
  static IndexTensor categorical_sample_log_prob(const Tensor& x, unsigned dim = 0,
                                                 unsigned num = 1);
  /// The largest elements along a dimension, and their positions.
  static std::pair<Tensor, IndexTensor> topk(const Tensor& x, unsigned dim = 0, unsigned num = 1);
};

}  // namespace dynet
