// How the values of new parameters are drawn.
#pragma once

#include <vector>

#include "dynet_like/core/random.h"
#include "dynet_like/core/tensor.h"

namespace dynet_like {

/// Fills the values of a parameter. For a table `values` has all rows, as its last dimension.
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

/// The same number everywhere.
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

/// Given values, in column-major order. Throws ShapeError if their number does not fit.
class ParameterInitFromVector : public ParameterInit {
 public:
  explicit ParameterInitFromVector(std::vector<float> values) : values_(std::move(values)) {}
  void initialize(const Tensor& values, Random& random) const override;

 private:
  std::vector<float> values_;
};

}  // namespace dynet_like
