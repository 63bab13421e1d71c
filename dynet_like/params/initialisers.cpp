// Initialisers: every element in order, in double, then rounded to the parameter's type.
#include "dynet_like/params/initialisers.h"

#include <cmath>

#include "dynet_like/core/errors.h"

namespace dynet_like {

namespace {

void fill_uniform(const Tensor& values, double low, double high, Random& random) {
  for (std::size_t i = 0; i < values.d.size(); ++i) {
    values.set(i, low + (high - low) * random.uniform());
  }
}

}  // namespace

void ParameterInitNormal::initialize(const Tensor& values, Random& random) const {
  const double deviation = std::sqrt(static_cast<double>(variance_));
  for (std::size_t i = 0; i < values.d.size(); ++i) {
    values.set(i, static_cast<double>(mean_) + deviation * random.normal());
  }
}

void ParameterInitUniform::initialize(const Tensor& values, Random& random) const {
  fill_uniform(values, low_, high_, random);
}

void ParameterInitConst::initialize(const Tensor& values, Random&) const {
  for (std::size_t i = 0; i < values.d.size(); ++i) values.set(i, static_cast<double>(value_));
}

void ParameterInitGlorot::initialize(const Tensor& values, Random& random) const {
  const unsigned dimensions = values.d.nd - (is_lookup_ ? 1 : 0);
  double sum = 0;
  for (unsigned i = 0; i < dimensions; ++i) sum += values.d.d[i];
  const double scale = static_cast<double>(gain_) * std::sqrt(3.0 * dimensions / sum);
  fill_uniform(values, -scale, scale, random);
}

void ParameterInitFromVector::initialize(const Tensor& values, Random&) const {
  if (values_.size() != values.d.size()) {
    throw ShapeError("[ParameterInitFromVector] need " + std::to_string(values.d.size()) +
                     " values for " + to_string(values.d) + "; got " +
                     std::to_string(values_.size()));
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values.set(i, static_cast<double>(values_[i]));
  }
}

}  // namespace dynet_like
