// AdagradTrainer, AdadeltaTrainer and RMSPropTrainer: steps relative to the size of gradients.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/train/trainers.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like {

using namespace detail;

namespace {

class AdagradRule : public UpdateRule {
 public:
  explicit AdagradRule(float epsilon) : epsilon_(epsilon) {
    if (epsilon > 0 && std::isfinite(epsilon)) return;
    throw UsageError(fmt::format("[AdagradTrainer] need a finite epsilon > 0; got {}", epsilon));
  }

  std::string description() const override {
    return fmt::format("AdagradTrainer(epsilon={})", epsilon_);
  }
  std::vector<std::string> moments() const override { return {"square"}; }
  bool squares_gradients() const override { return true; }
  bool acts_without_gradient() const override { return false; }
  void apply(const Updates& updates, std::span<const Elements> all, Step step) const override {
    updates.adagrad(all, static_cast<double>(epsilon_), step);
  }

 private:
  const float epsilon_;
};

// Rules that keep a decaying mean of squares.
class DecayingRule : public UpdateRule {
 public:
  DecayingRule(const char* name, float rho, float epsilon)
      : name_(name), rho_(rho), epsilon_(epsilon) {
    if (rho >= 0 && rho < 1 && epsilon > 0 && std::isfinite(epsilon)) return;
    throw UsageError(fmt::format("[{}] need 0 <= rho < 1 and a finite epsilon > 0; got {}, {}",
                                 name, rho, epsilon));
  }

  std::string description() const override {
    return fmt::format("{}(rho={}, epsilon={})", name_, rho_, epsilon_);
  }
  bool squares_gradients() const override { return true; }

 protected:
  double rho() const { return static_cast<double>(rho_); }
  double epsilon() const { return static_cast<double>(epsilon_); }

 private:
  const char* const name_;
  const float rho_, epsilon_;
};

class AdadeltaRule : public DecayingRule {
 public:
  AdadeltaRule(float rho, float epsilon) : DecayingRule("AdadeltaTrainer", rho, epsilon) {}

  std::vector<std::string> moments() const override { return {"square", "square_of_change"}; }
  void apply(const Updates& updates, std::span<const Elements> all, Step step) const override {
    updates.adadelta(all, rho(), epsilon(), step);
  }
};

class RMSPropRule : public DecayingRule {
 public:
  RMSPropRule(float rho, float epsilon) : DecayingRule("RMSPropTrainer", rho, epsilon) {}

  std::vector<std::string> moments() const override { return {"square"}; }
  void apply(const Updates& updates, std::span<const Elements> all, Step step) const override {
    updates.rmsprop(all, rho(), epsilon(), step);
  }
};

}  // namespace

AdagradTrainer::AdagradTrainer(ParameterCollection collection, float learning_rate, float epsilon)
    : Trainer(std::move(collection), learning_rate, std::make_shared<AdagradRule>(epsilon)) {}

AdadeltaTrainer::AdadeltaTrainer(ParameterCollection collection, float epsilon, float rho)
    : Trainer(std::move(collection), 1.0f, std::make_shared<AdadeltaRule>(rho, epsilon)) {}

RMSPropTrainer::RMSPropTrainer(ParameterCollection collection, float learning_rate, float epsilon,
                               float rho)
    : Trainer(std::move(collection), learning_rate, std::make_shared<RMSPropRule>(rho, epsilon)) {}

}  // namespace dynet_like
