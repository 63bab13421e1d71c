// What tests of trainers share: gradients filled by hand, and every trainer with its formula.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <vector>

#include "dynet_like/core/random.h"
#include "dynet_like/train/trainers.h"

namespace dynet_like::trainer_kinds {

using Doubles = std::vector<double>;
using Bytes = std::vector<std::byte>;
using Moments = std::array<double, 2>;

inline void add_to(Gradients& gradients, const Parameter& parameter, const Doubles& values) {
  const ParameterStorage& storage = parameter.get_storage();
  const Tensor gradient(storage.dim, storage.dtype, gradients.dense(storage));
  for (std::size_t i = 0; i < values.size(); ++i) gradient.set(i, gradient.at(i) + values[i]);
}

inline void add_to(Gradients& gradients, const LookupParameter& table, unsigned row,
                   const Doubles& values) {
  const ParameterStorage& storage = table.get_storage();
  std::byte* entry = gradients.rows(storage).entry(storage, row);
  const Tensor gradient(storage.entry_dim(), storage.dtype, entry);
  for (std::size_t i = 0; i < values.size(); ++i) gradient.set(i, gradient.at(i) + values[i]);
}

inline Bytes bytes_of(const ParameterStorage& storage) {
  const std::byte* values = storage.values.data();
  return {values, values + storage.size() * size_of(storage.dtype)};
}

inline Doubles random_values(Random& random, std::size_t n) {
  Doubles values(n);
  for (double& value : values) value = static_cast<double>(static_cast<float>(random.normal()));
  return values;
}

// One trainer, and its formula for one element in double: (w, moments, g, rate, t).
struct Kind {
  const char* name;
  std::function<std::unique_ptr<Trainer>(ParameterCollection)> make;
  std::function<void(double&, Moments&, double, double, int)> reference;
};

inline void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

inline std::vector<Kind> kinds() {
  const auto sgd = [](double& w, Moments&, double g, double rate, int) { w -= rate * g; };
  const auto momentum = [](double& w, Moments& v, double g, double rate, int) {
    v[0] = static_cast<double>(0.9f) * v[0] - rate * g;  // with DyNet's sign
    w += v[0];
  };
  const auto adam = [](double& w, Moments& moments, double g, double rate, int t) {
    const double b1 = static_cast<double>(0.9f), b2 = static_cast<double>(0.999f);
    moments[0] = b1 * moments[0] + (1 - b1) * g;
    moments[1] = b2 * moments[1] + (1 - b2) * g * g;
    const double mean = moments[0] / (1 - std::pow(b1, t));
    const double square = moments[1] / (1 - std::pow(b2, t));
    const double epsilon = static_cast<double>(1e-8f) / std::sqrt(1 - std::pow(b2, t));
    w -= rate * mean / (std::sqrt(square) + epsilon);
  };
  return {
      {"SGD", [](auto model) { return std::make_unique<SimpleSGDTrainer>(model); }, sgd},
      {"Momentum", [](auto model) { return std::make_unique<MomentumSGDTrainer>(model); },
       momentum},
      {"Adam", [](auto model) { return std::make_unique<AdamTrainer>(model); }, adam},
  };
}

}  // namespace dynet_like::trainer_kinds
