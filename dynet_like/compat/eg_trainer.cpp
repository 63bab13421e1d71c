// EGTrainer with DyNet's own rule.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dynet/training.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/train/update_rule.h"

namespace dynet {

using dynet_like::Elements;

namespace {

// v = momentum v - rate g; w = decay e^(ln w + v / decay) / sum. Numbers in DyNet's memory lack the
// decay, and add up to 1 there. Unlike the library's rule this one takes any values, normalises
// without a gradient too, and leaves whole tables alone.
class EGRule : public dynet_like::UpdateRule {
 public:
  explicit EGRule(float momentum) : momentum_(momentum) {
    if (momentum >= 0 && momentum < 1) return;
    throw dynet_like::UsageError("[EGTrainer] need 0 <= momentum < 1; got " +
                                 std::to_string(momentum));
  }

  std::string description() const override {
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), momentum_).ptr;
    return "EGTrainer(momentum=" + std::string(text.data(), end) + ")";
  }
  std::vector<std::string> moments() const override { return {"velocity"}; }
  bool leaves_tables_if_exact() const override { return true; }

  bool runs_on_cpu() const override { return true; }
  void apply(const dynet_like::Updates& updates, std::span<const Elements> all,
             dynet_like::Step step) const override {
    for (const Elements& elements : all) {
      if (elements.gradient != nullptr || !elements.only_kept) normalise(elements, step);
      if (step.keep != 1) updates.scale(elements, std::span(&step.keep, 1));
    }
  }

  float decay = 1;  // of all updates so far; set between them

 private:
  void normalise(const Elements& elements, dynet_like::Step step) const {
    float* w = static_cast<float*>(elements.values);
    float* velocity = static_cast<float*>(elements.moments[0]);
    const float* gradient = static_cast<const float*>(elements.gradient);
    const float rate = static_cast<float>(step.rate), scale = static_cast<float>(step.scale);
    float top = -std::numeric_limits<float>::infinity(), sum = 0;
    for (std::size_t i = 0; i < elements.count; ++i) {
      const float g = gradient == nullptr ? 0 : gradient[i];
      velocity[i] = momentum_ * velocity[i] - rate * (scale * g);
      w[i] = std::log(w[i]) + velocity[i] / decay;
      top = std::max(top, w[i]);
    }
    for (std::size_t i = 0; i < elements.count; ++i) sum += std::exp(w[i] - top);
    const float log_sum = std::log(sum) + top;
    for (std::size_t i = 0; i < elements.count; ++i) w[i] = decay * std::exp(w[i] - log_sum);
  }

  const float momentum_;
};

class EGCore : public dynet_like::Trainer {
 public:
  EGCore(const ParameterCollection& m, float learning_rate, std::shared_ptr<EGRule> rule)
      : dynet_like::Trainer(m, learning_rate, rule), rule_(std::move(rule)) {}

  // After an update. DyNet applies a small decay to the numbers in memory. As there, what was
  // counted is no part of the state.
  void count_decay() {
    decay_.set_lambda(weight_decay);
    decay_.update_weight_decay();
    if (decay_.parameters_need_rescaled()) decay_.reset_weight_decay();
    rule_->decay = decay_.current_weight_decay();
  }

 private:
  const std::shared_ptr<EGRule> rule_;
  L2WeightDecay decay_;
};

}  // namespace

EGTrainer::EGTrainer(ParameterCollection& mod, real learning_rate, real mom, real)
    : Trainer(mod, std::make_unique<EGCore>(mod, learning_rate, std::make_shared<EGRule>(mom))) {}

void EGTrainer::update() {
  Trainer::update();
  static_cast<EGCore&>(core()).count_decay();
}

void EGTrainer::enableCyclicalLR(float learning_rate_min, float learning_rate_max, float step_size,
                                 float gamma) {
  core().follow({learning_rate_min, learning_rate_max, step_size, gamma, core().updates() + 1});
}

}  // namespace dynet
