// EGTrainer with DyNet's own rule.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dynet/globals.h"
#include "dynet/training.h"
#include "dynet_like/compat/apply_on_cpu.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/train/update_rule.h"

namespace dynet {

using dynet_like::Gradients;
using dynet_like::detail::Elements;
using dynet_like::detail::Step;

namespace {

// v = momentum v - rate g; w = decay e^(ln w + v / decay) / sum. DyNet keeps the numbers in memory
// without the decay, so there they sum to 1. Any values are accepted; they are normalised without a
// gradient, too.
class EGRule : public dynet_like::detail::UpdateRule {
 public:
  EGRule(float momentum, std::shared_ptr<dynet_like::Device> device)
      : momentum_(momentum), device_(std::move(device)) {
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
  bool runs_on_device() const override { return false; }
  void apply(const dynet_like::detail::Updates&, std::span<const Elements> all,
             Step step) const override {
    if (device_->is_cpu()) return apply_here(all, step);
    detail::apply_on_cpu(*device_, all,
                         [&](std::span<const Elements> here) { apply_here(here, step); });
  }

  float decay = 1;  // of all updates so far; set between updates

 private:
  void apply_here(std::span<const Elements> all, Step step) const {
    for (const Elements& elements : all) {
      for (std::size_t i = 0; i < elements.places(); ++i) {
        const auto row = elements.row<float>(i);
        if (row.gradient != nullptr || !elements.only_kept) normalise(elements, row, step);
      }
      if (step.keep == 1) continue;
      dynet_like::detail::cpu_updates().scale(elements, std::span(&step.keep, 1));
    }
  }
  void normalise(const Elements& elements, Elements::Row<float> row, Step step) const {
    float* w = static_cast<float*>(elements.values) + row.first;
    float* velocity = static_cast<float*>(elements.moments[0]) + row.first;
    const float rate = static_cast<float>(step.rate), scale = static_cast<float>(step.scale);
    float top = -std::numeric_limits<float>::infinity(), sum = 0;
    for (std::size_t i = 0; i < elements.count; ++i) {
      const float g = row.gradient == nullptr ? 0 : row.gradient[i];
      velocity[i] = momentum_ * velocity[i] - rate * (scale * g);
      w[i] = std::log(w[i]) + velocity[i] / decay;
      top = std::max(top, w[i]);
    }
    for (std::size_t i = 0; i < elements.count; ++i) sum += std::exp(w[i] - top);
    const float log_sum = std::log(sum) + top;
    for (std::size_t i = 0; i < elements.count; ++i) w[i] = decay * std::exp(w[i] - log_sum);
  }

  const float momentum_;
  const std::shared_ptr<dynet_like::Device> device_;
};

using Storage = std::shared_ptr<dynet_like::ParameterStorage>;
using Tables = std::vector<Storage>;

// While it lives, these tables have no gradients.
class WithoutGradients {
 public:
  WithoutGradients(Gradients& gradients, const Tables& tables)
      : gradients_(gradients), tables_(tables), rows_(tables.size()) {
    swap();
  }
  ~WithoutGradients() { swap(); }

 private:
  void swap() {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      std::swap(gradients_.rows(*tables_[i]), rows_[i]);
    }
  }

  Gradients& gradients_;
  const Tables& tables_;
  std::vector<Gradients::Rows> rows_;
};

class EGCore : public dynet_like::Trainer {
 public:
  EGCore(const ParameterCollection& m, float learning_rate, std::shared_ptr<EGRule> rule)
      : dynet_like::Trainer(m, learning_rate, rule), collection_(m), rule_(std::move(rule)) {}

  // Tables that are left alone still decay and are averaged, like rows without a gradient.
  void update(Gradients& gradients, bool leaves_tables) {
    Tables tables;
    if (leaves_tables) tables = updated_tables();
    if (!std::isfinite(gradients.norm(tables))) tables.clear();  // will be refused
    norm_of_all_ = gradients.norm(collection_, true);
    sparse_updates = dynet_like::SparseUpdates::lazy;
    const WithoutGradients left_alone(gradients, tables);
    const Gradients& all = gradients;
    const Gradients none = {};
    dynet_like::Trainer::update(all.has_any_of(collection_) ? all : none);
    finish_update();
    count_decay();
  }

 protected:
  std::optional<double> norm_for_clipping(const Gradients&,
                                          std::span<const Storage>) const override {
    return norm_of_all_;
  }

 private:
  Tables updated_tables() const {
    Tables tables = collection_.storages();
    std::erase_if(tables, [](const Storage& one) { return !one->is_table || !one->updated; });
    return tables;
  }
  // DyNet applies a decay only when it has become small. As in DyNet, the count is not part of the
  // state.
  void count_decay() {
    decay_.set_lambda(weight_decay);
    decay_.update_weight_decay();
    if (decay_.parameters_need_rescaled()) decay_.reset_weight_decay();
    rule_->decay = decay_.current_weight_decay();
  }

  const dynet_like::ParameterCollection collection_;
  const std::shared_ptr<EGRule> rule_;
  L2WeightDecay decay_;
  double norm_of_all_ = 0;
};

}  // namespace

EGTrainer::EGTrainer(ParameterCollection& mod, real learning_rate, real mom, real)
    : Trainer(mod, std::make_unique<EGCore>(mod, learning_rate,
                                            std::make_shared<EGRule>(mom, mod.device()))) {}

void EGTrainer::change_parameters() {
  static_cast<EGCore&>(core()).update(detail::gradients(), !sparse_updates_enabled);
}

void EGTrainer::enableCyclicalLR(float learning_rate_min, float learning_rate_max, float step_size,
                                 float gamma) {
  core().follow({learning_rate_min, learning_rate_max, step_size, gamma, core().updates() + 1});
}

}  // namespace dynet
