// AdamTrainer, AdamWTrainer and AmsgradTrainer.
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/train/trainers.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like {

using namespace detail;

namespace {

class AdamRule : public UpdateRule {
 public:
  explicit AdamRule(const AdamConstants& constants, const char* name = "AdamTrainer")
      : constants_(constants), name_(name) {
    const auto [beta_1, beta_2, epsilon] = constants;
    const auto decays = [](float beta) { return beta >= 0 && beta < 1; };
    if (!decays(beta_1) || !decays(beta_2) || !(epsilon > 0 && std::isfinite(epsilon))) {
      throw UsageError(
          fmt::format("[{}] need 0 <= beta_1, beta_2 < 1 and a finite epsilon > 0; got {}, {}, {}",
                      name, beta_1, beta_2, epsilon));
    }
  }

  std::string description() const override {
    return fmt::format("{}(beta_1={}, beta_2={}, epsilon={})", name_, constants_.beta_1,
                       constants_.beta_2, constants_.epsilon);
  }
  std::vector<std::string> moments() const override { return {"mean", "square"}; }
  bool squares_gradients() const override { return true; }
  double rate(double learning_rate, std::uint64_t update) const override {
    const auto bias = [&](float beta) {
      return 1 - std::pow(static_cast<double>(beta), static_cast<double>(update));
    };
    return learning_rate * std::sqrt(bias(constants_.beta_2)) / bias(constants_.beta_1);
  }
  void apply(const Updates& updates, std::span<const Elements> all, Step step) const override {
    updates.adam(all, constants_, step);
  }

 protected:
  const AdamConstants constants_;

 private:
  const char* const name_;
};

// The decay of the values is beside the change, not a part of it: 1 - rate * decay times what was.
class AdamWRule : public AdamRule {
 public:
  explicit AdamWRule(const AdamConstants& constants) : AdamRule(constants, "AdamWTrainer") {}

  bool decay_follows_rate() const override { return true; }
};

class AmsgradRule : public AdamRule {
 public:
  explicit AmsgradRule(const AdamConstants& constants) : AdamRule(constants, "AmsgradTrainer") {}

  std::vector<std::string> moments() const override { return {"mean", "square", "largest_square"}; }
  void apply(const Updates& updates, std::span<const Elements> all, Step step) const override {
    updates.amsgrad(all, constants_, step);
  }
};

}  // namespace

AdamTrainer::AdamTrainer(ParameterCollection collection, float learning_rate, float beta_1,
                         float beta_2, float epsilon)
    : Trainer(std::move(collection), learning_rate,
              std::make_shared<AdamRule>(AdamConstants{beta_1, beta_2, epsilon})) {}

AdamWTrainer::AdamWTrainer(ParameterCollection collection, float learning_rate, float weight_decay,
                           float beta_1, float beta_2, float epsilon)
    : Trainer(std::move(collection), learning_rate,
              std::make_shared<AdamWRule>(AdamConstants{beta_1, beta_2, epsilon})) {
  this->weight_decay = weight_decay;
}

AmsgradTrainer::AmsgradTrainer(ParameterCollection collection, float learning_rate, float beta_1,
                               float beta_2, float epsilon)
    : Trainer(std::move(collection), learning_rate,
              std::make_shared<AmsgradRule>(AdamConstants{beta_1, beta_2, epsilon})) {}

}  // namespace dynet_like
