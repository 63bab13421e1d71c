// SimpleSGDTrainer and MomentumSGDTrainer.
#include <memory>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/train/trainers.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like {

namespace {

template <class T>
void descend(const Elements& elements, T rate, T scale) {
  T* w = static_cast<T*>(elements.values);
  const T* g = static_cast<const T*>(elements.gradient);
  for (std::size_t i = 0; i < elements.count; ++i) w[i] -= rate * (scale * g[i]);
}

class SGDRule : public UpdateRule {
 public:
  std::string description() const override { return "SimpleSGDTrainer()"; }
  std::vector<std::string> moments() const override { return {}; }
  void apply(const Elements& elements, Step step) const override {
    if (elements.dtype == DType::f32) {
      descend<float>(elements, static_cast<float>(step.rate), static_cast<float>(step.scale));
    } else {
      descend<double>(elements, step.rate, step.scale);
    }
  }
};

template <class T>
void descend_with_momentum(const Elements& elements, T momentum, T rate, T scale) {
  T* w = static_cast<T*>(elements.values);
  T* v = static_cast<T*>(elements.moments[0]);
  const T* g = static_cast<const T*>(elements.gradient);
  for (std::size_t i = 0; i < elements.count; ++i) {
    v[i] = momentum * v[i] + rate * (scale * g[i]);
    w[i] -= v[i];
  }
}

class MomentumRule : public UpdateRule {
 public:
  explicit MomentumRule(float momentum) : momentum_(momentum) {
    if (!(momentum >= 0 && momentum < 1)) {
      throw UsageError(
          fmt::format("[MomentumSGDTrainer] need 0 <= momentum < 1; got {}", momentum));
    }
  }

  std::string description() const override {
    return fmt::format("MomentumSGDTrainer(momentum={})", momentum_);
  }
  std::vector<std::string> moments() const override { return {"velocity"}; }
  void apply(const Elements& elements, Step step) const override {
    if (elements.dtype == DType::f32) {
      descend_with_momentum<float>(elements, momentum_, static_cast<float>(step.rate),
                                   static_cast<float>(step.scale));
    } else {
      descend_with_momentum<double>(elements, static_cast<double>(momentum_), step.rate,
                                    step.scale);
    }
  }

 private:
  const float momentum_;
};

}  // namespace

SimpleSGDTrainer::SimpleSGDTrainer(ParameterCollection collection, float learning_rate)
    : Trainer(std::move(collection), learning_rate, std::make_shared<SGDRule>()) {}

MomentumSGDTrainer::MomentumSGDTrainer(ParameterCollection collection, float learning_rate,
                                       float momentum)
    : Trainer(std::move(collection), learning_rate, std::make_shared<MomentumRule>(momentum)) {}

}  // namespace dynet_like
