// Initial values of parameters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dynet_like/core/random.h"
#include "dynet_like/core/tensor.h"

namespace dynet_like {

/// Fills the values of a parameter. For a table, `values` has all rows as its last dimension.
class ParameterInit {
 public:
  virtual ~ParameterInit() = default;
  virtual void initialize(const Tensor& values, Random& random) const = 0;
};

/// Normal distribution with a mean and a variance.
class ParameterInitNormal : public ParameterInit {
 public:
  explicit ParameterInitNormal(float mean = 0, float variance = 1)
      : mean_(mean), variance_(variance) {}
  void initialize(const Tensor& values, Random& random) const override;

 private:
  float mean_, variance_;
};

/// Uniform distribution over [-scale, scale) or [low, high).
class ParameterInitUniform : public ParameterInit {
 public:
  explicit ParameterInitUniform(float scale) : low_(-scale), high_(scale) {}
  ParameterInitUniform(float low, float high) : low_(low), high_(high) {}
  void initialize(const Tensor& values, Random& random) const override;

 private:
  float low_, high_;
};

/// The same number for all elements.
class ParameterInitConst : public ParameterInit {
 public:
  explicit ParameterInitConst(float value) : value_(value) {}
  void initialize(const Tensor& values, Random& random) const override;

 private:
  float value_;
};

/// Uniform over [-s, s) with s = gain * sqrt(3 n / (sum of the n dimensions)), for a matrix
/// gain * sqrt(6 / (rows + columns)) (Glorot and Bengio 2010). A table's rows do not count.
class ParameterInitGlorot : public ParameterInit {
 public:
  explicit ParameterInitGlorot(bool is_lookup = false, float gain = 1)
      : is_lookup_(is_lookup), gain_(gain) {}
  void initialize(const Tensor& values, Random& random) const override;

 private:
  bool is_lookup_;
  float gain_;
};

/// Ones on the diagonal, zeros elsewhere. Throws ShapeError unless `values` is a square matrix.
class ParameterInitIdentity : public ParameterInit {
 public:
  void initialize(const Tensor& values, Random& random) const override;
};

/// gain * Q, where Q is a random matrix with orthonormal columns, or orthonormal rows if it has
/// more columns than rows. All such matrices are equally likely (Saxe et al. 2014, "Exact solutions
/// to the nonlinear dynamics of learning in deep linear neural networks"). Throws ShapeError unless
/// the parameter is a matrix.
class ParameterInitSaxe : public ParameterInit {
 public:
  explicit ParameterInitSaxe(float gain = 1) : gain_(gain) {}
  void initialize(const Tensor& values, Random& random) const override;

 private:
  float gain_;
};

/// The numbers of a text file, separated by white space, in column-major order. Throws FileError if
/// the file cannot be read, or does not contain exactly one number per element.
class ParameterInitFromFile : public ParameterInit {
 public:
  explicit ParameterInitFromFile(std::string path) : path_(std::move(path)) {}
  void initialize(const Tensor& values, Random& random) const override;

 private:
  std::string path_;
};

/// Given values, in column-major order. Throws ShapeError if their number does not match.
class ParameterInitFromVector : public ParameterInit {
 public:
  explicit ParameterInitFromVector(std::vector<float> values) : values_(std::move(values)) {}
  void initialize(const Tensor& values, Random& random) const override;

 private:
  std::vector<float> values_;
};

}  // namespace dynet_like
