// The trainers: each is a formula that devices compute, with its constants. To add one: its moments
// and its place in the variant in device/updates.h, its formula in device/update_formulas.h, its
// class in trainers.h and its rule here. Devices visit the variant.
#include "dynet_like/train/trainers.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like {

using namespace detail;

namespace {

class FormulaRule : public UpdateRule {
 public:
  FormulaRule(std::string description, const UpdateFormula& formula)
      : formula_(formula), description_(std::move(description)) {}

  std::string description() const override { return description_; }
  std::vector<std::string> moments() const override {
    const auto names = [](auto kind) {
      return std::vector<std::string>(kind.moments.begin(), kind.moments.end());
    };
    return std::visit(names, formula_.kind);
  }
  bool squares_gradients() const override { return !is<Descend>() && !is<DescendWithMomentum>(); }
  bool acts_without_gradient() const override { return !is<Descend>() && !is<Adagrad>(); }
  void apply(const Updates& updates, std::span<const Elements> all, Step step) const override {
    updates.apply(formula_, all, step);
  }

 protected:
  const UpdateFormula formula_;

 private:
  template <class Kind>
  bool is() const {
    return std::holds_alternative<Kind>(formula_.kind);
  }

  const std::string description_;
};

// The rate contains the bias correction of both means.
class AdamRule : public FormulaRule {
 public:
  using FormulaRule::FormulaRule;
  double rate(double learning_rate, std::uint64_t update) const override {
    const auto bias = [&](float beta) {
      return 1 - std::pow(static_cast<double>(beta), static_cast<double>(update));
    };
    return learning_rate * std::sqrt(bias(formula_.square_decay)) / bias(formula_.decay);
  }
};

// Decays the values and adds Adam's change: the factor is 1 - rate * decay.
class AdamWRule : public AdamRule {
 public:
  using AdamRule::AdamRule;
  bool decay_follows_rate() const override { return true; }
};

bool decays(float constant) { return constant >= 0 && constant < 1; }
bool is_epsilon(float constant) { return constant > 0 && std::isfinite(constant); }

std::shared_ptr<UpdateRule> momentum_rule(float momentum) {
  if (!decays(momentum)) {
    throw UsageError(fmt::format("[MomentumSGDTrainer] need 0 <= momentum < 1; got {}", momentum));
  }
  return std::make_shared<FormulaRule>(fmt::format("MomentumSGDTrainer(momentum={})", momentum),
                                       UpdateFormula{DescendWithMomentum(), momentum});
}

std::shared_ptr<UpdateRule> adagrad_rule(float epsilon) {
  if (!is_epsilon(epsilon)) {
    throw UsageError(fmt::format("[AdagradTrainer] need a finite epsilon > 0; got {}", epsilon));
  }
  return std::make_shared<FormulaRule>(fmt::format("AdagradTrainer(epsilon={})", epsilon),
                                       UpdateFormula{Adagrad(), 0, 0, epsilon});
}

// The rule of a formula that keeps a decaying mean of squares.
template <class Kind>
std::shared_ptr<UpdateRule> decaying_rule(const char* name, float rho, float epsilon) {
  if (!decays(rho) || !is_epsilon(epsilon)) {
    throw UsageError(fmt::format("[{}] need 0 <= rho < 1 and a finite epsilon > 0; got {}, {}",
                                 name, rho, epsilon));
  }
  return std::make_shared<FormulaRule>(fmt::format("{}(rho={}, epsilon={})", name, rho, epsilon),
                                       UpdateFormula{Kind(), 0, rho, epsilon});
}

template <class Rule, class Kind>
std::shared_ptr<UpdateRule> adam_rule(const char* name, float beta_1, float beta_2, float epsilon) {
  if (!decays(beta_1) || !decays(beta_2) || !is_epsilon(epsilon)) {
    throw UsageError(
        fmt::format("[{}] need 0 <= beta_1, beta_2 < 1 and a finite epsilon > 0; got {}, {}, {}",
                    name, beta_1, beta_2, epsilon));
  }
  return std::make_shared<Rule>(
      fmt::format("{}(beta_1={}, beta_2={}, epsilon={})", name, beta_1, beta_2, epsilon),
      UpdateFormula{Kind(), beta_1, beta_2, epsilon});
}

}  // namespace

SimpleSGDTrainer::SimpleSGDTrainer(ParameterCollection collection, float learning_rate)
    : Trainer(std::move(collection), learning_rate,
              std::make_shared<FormulaRule>("SimpleSGDTrainer()", UpdateFormula{Descend()})) {}

MomentumSGDTrainer::MomentumSGDTrainer(ParameterCollection collection, float learning_rate,
                                       float momentum)
    : Trainer(std::move(collection), learning_rate, momentum_rule(momentum)) {}

AdagradTrainer::AdagradTrainer(ParameterCollection collection, float learning_rate, float epsilon)
    : Trainer(std::move(collection), learning_rate, adagrad_rule(epsilon)) {}

AdadeltaTrainer::AdadeltaTrainer(ParameterCollection collection, float epsilon, float rho)
    : Trainer(std::move(collection), 1.0f,
              decaying_rule<Adadelta>("AdadeltaTrainer", rho, epsilon)) {}

RMSPropTrainer::RMSPropTrainer(ParameterCollection collection, float learning_rate, float epsilon,
                               float rho)
    : Trainer(std::move(collection), learning_rate,
              decaying_rule<RmsProp>("RMSPropTrainer", rho, epsilon)) {}

AdamTrainer::AdamTrainer(ParameterCollection collection, float learning_rate, float beta_1,
                         float beta_2, float epsilon)
    : Trainer(std::move(collection), learning_rate,
              adam_rule<AdamRule, Adam>("AdamTrainer", beta_1, beta_2, epsilon)) {}

AdamWTrainer::AdamWTrainer(ParameterCollection collection, float learning_rate, float weight_decay,
                           float beta_1, float beta_2, float epsilon)
    : Trainer(std::move(collection), learning_rate,
              adam_rule<AdamWRule, Adam>("AdamWTrainer", beta_1, beta_2, epsilon)) {
  this->weight_decay = weight_decay;
}

AmsgradTrainer::AmsgradTrainer(ParameterCollection collection, float learning_rate, float beta_1,
                               float beta_2, float epsilon)
    : Trainer(std::move(collection), learning_rate,
              adam_rule<AdamRule, Amsgrad>("AmsgradTrainer", beta_1, beta_2, epsilon)) {}

}  // namespace dynet_like
