// What tests of trainers share: gradients filled by hand, every trainer with its formula, and
// tables beside parameters with the same values.
#pragma once

#include <array>
#include <ostream>

#include "dynet_like/core/random.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/device_memory.h"
#include "tests/support/precompiled.h"

namespace dynet_like::detail::trainer_kinds {

using Doubles = std::vector<double>;
using Bytes = std::vector<std::byte>;
using Moments = std::array<double, 3>;

using dynet_like::add_to;
using dynet_like::bytes_of;

inline Doubles random_values(Random& random, std::size_t n) {
  Doubles values(n);
  for (double& value : values) value = static_cast<double>(static_cast<float>(random.normal()));
  return values;
}

// An update that is made or refused when it returns, on every device.
inline void update_now(Trainer& trainer, const Gradients& gradients) {
  trainer.update(gradients);
  trainer.finish_update();
}

// One trainer, and its formula in double: (w, moments, g, rate, t) of a whole parameter.
struct Kind {
  const char* name;
  std::function<std::unique_ptr<Trainer>(ParameterCollection)> make;
  std::function<void(Doubles&, std::vector<Moments>&, const Doubles&, double, int)> reference;
  bool squares = false;  ///< whether its moments are of squared gradients
};

inline void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

// A kind whose formula is of one element: (w, moments, g, rate, t).
template <class TrainerType, class Formula>
Kind kind_of(const char* name, bool squares, Formula formula) {
  const auto make = [](const ParameterCollection& model) {
    return std::make_unique<TrainerType>(model);
  };
  const auto reference = [formula](Doubles& w, std::vector<Moments>& moments, const Doubles& g,
                                   double rate, int t) {
    for (std::size_t i = 0; i < w.size(); ++i) formula(w[i], moments[i], g[i], rate, t);
  };
  return {name, make, reference, squares};
}

// Descent whose rate cycles unless it is set.
template <class Formula>
Kind cyclical(Formula formula) {
  Kind kind = kind_of<SimpleSGDTrainer>("CyclicalSGD", false, formula);
  kind.make = [](const ParameterCollection& model) {
    auto trainer = std::make_unique<SimpleSGDTrainer>(model);
    trainer->follow(CyclicalRate());
    return trainer;
  };
  return kind;
}

inline std::vector<Kind> kinds() {
  const auto sgd = [](double& w, Moments&, double g, double rate, int) { w -= rate * g; };
  const auto momentum = [](double& w, Moments& v, double g, double rate, int) {
    v[0] = static_cast<double>(0.9f) * v[0] - rate * g;  // with DyNet's sign
    w += v[0];
  };
  const auto adam_with = [](bool largest) {
    return [largest](double& w, Moments& moments, double g, double rate, int t) {
      const double b1 = static_cast<double>(0.9f), b2 = static_cast<double>(0.999f);
      moments[0] = b1 * moments[0] + (1 - b1) * g;
      moments[1] = b2 * moments[1] + (1 - b2) * g * g;
      moments[2] = std::max(moments[2], moments[1]);
      const double mean = moments[0] / (1 - std::pow(b1, t));
      const double square = moments[largest ? 2 : 1] / (1 - std::pow(b2, t));
      const double epsilon = static_cast<double>(1e-8f) / std::sqrt(1 - std::pow(b2, t));
      w -= rate * mean / (std::sqrt(square) + epsilon);
    };
  };
  const auto adam_with_decay = [adam = adam_with(false)](double& w, Moments& moments, double g,
                                                         double rate, int t) {
    w -= rate * static_cast<double>(0.01f) * w;  // of the value before the update
    adam(w, moments, g, rate, t);
  };
  const auto adagrad = [](double& w, Moments& s, double g, double rate, int) {
    s[0] += g * g;
    w -= rate * g / std::sqrt(s[0] + static_cast<double>(1e-20f));
  };
  const double rho = static_cast<double>(0.95f);
  const auto rmsprop = [rho](double& w, Moments& s, double g, double rate, int) {
    s[0] = rho * s[0] + (1 - rho) * g * g;
    w -= rate * g / std::sqrt(s[0] + static_cast<double>(1e-20f));
  };
  const auto adadelta = [rho](double& w, Moments& s, double g, double rate, int) {
    const double epsilon = static_cast<double>(1e-6f);
    s[0] = rho * s[0] + (1 - rho) * g * g;
    const double change = g * std::sqrt((s[1] + epsilon) / (s[0] + epsilon));
    s[1] = rho * s[1] + (1 - rho) * change * change;
    w -= rate * change;
  };
  return {
      kind_of<SimpleSGDTrainer>("SGD", false, sgd),
      kind_of<MomentumSGDTrainer>("Momentum", false, momentum),
      kind_of<AdamTrainer>("Adam", true, adam_with(false)),
      kind_of<AdamWTrainer>("AdamW", true, adam_with_decay),
      cyclical(sgd),
      kind_of<AdagradTrainer>("Adagrad", true, adagrad),
      kind_of<AdadeltaTrainer>("Adadelta", true, adadelta),
      kind_of<RMSPropTrainer>("RMSProp", true, rmsprop),
      kind_of<AmsgradTrainer>("Amsgrad", true, adam_with(true)),
  };
}

inline Bytes all_bytes(const LookupParameter& table) {
  table.all_values();  // brings all rows up to date
  return bytes_of(table.get_storage());
}

// A table, and a parameter for each of its rows, with the same values, in a model of their own.
struct Twins {
  static constexpr unsigned kRows = 6, kSize = 5;

  ParameterCollection model, dense_model;
  LookupParameter table;
  std::vector<Parameter> dense;

  explicit Twins(DType dtype) : model(1, dtype), dense_model(1, dtype) {
    table = model.add_lookup_parameters(kRows, {kSize}, ParameterInitNormal());
    table.all_values().set(0, -0.0);
    for (unsigned row = 0; row < kRows; ++row) {
      dense.push_back(dense_model.add_parameters({kSize}));
      const Tensor to = dense[row].values(), from = table.values(row);
      for (unsigned i = 0; i < kSize; ++i) to.set(i, from.at(i));
    }
  }

  void add(Gradients& gradients, unsigned row, const Doubles& values) const {
    add_to(gradients, table, row, values);
    add_to(gradients, dense[row], values);
  }
  // A gradient of zeros is none, in exact mode.
  void add_zeros(Gradients& gradients) const {
    for (const Parameter& parameter : dense) add_to(gradients, parameter, Doubles(kSize, 0.0));
  }
  // Updates the parameters as rows are updated: in lazy mode those without a gradient only decay,
  // as a new trainer without moments makes them.
  template <class Make>
  void update_dense(Trainer& trainer, const Gradients& gradients, const Make& make) const {
    std::vector<Parameter> idle, used;
    for (const Parameter& parameter : dense) {
      if (!parameter.is_updated()) continue;
      const bool is_used = trainer.sparse_updates == SparseUpdates::exact ||
                           gradients.find_dense(parameter.get_storage()) != nullptr;
      (is_used ? used : idle).push_back(parameter);
    }
    const auto set = [](const std::vector<Parameter>& some, bool updated) {
      for (const Parameter& parameter : some) parameter.set_updated(updated);
    };
    const std::unique_ptr<Trainer> decays = make(dense_model);
    decays->learning_rate = trainer.learning_rate;
    decays->weight_decay = trainer.weight_decay;
    set(idle, false);
    trainer.update(gradients);
    set(idle, true);
    set(used, false);
    decays->update({});
    set(used, true);
  }
  void set_updated(bool updated) const {
    table.set_updated(updated);
    for (const Parameter& parameter : dense) parameter.set_updated(updated);
  }

  bool same() const {
    Bytes expected;
    for (const Parameter& parameter : dense) {
      const Bytes row = bytes_of(parameter.get_storage());
      expected.insert(expected.end(), row.begin(), row.end());
    }
    return all_bytes(table) == expected;
  }
};

}  // namespace dynet_like::detail::trainer_kinds
