// SimpleSGDTrainer and MomentumSGDTrainer.
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/train/trainers.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like {

using namespace detail;

namespace {

class SGDRule : public UpdateRule {
 public:
  std::string description() const override { return "SimpleSGDTrainer()"; }
  std::vector<std::string> moments() const override { return {}; }
  void apply(const Updates& updates, std::span<const Elements> all, Step step) const override {
    updates.descend(all, step);
  }
};

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
  void apply(const Updates& updates, std::span<const Elements> all, Step step) const override {
    updates.descend_with_momentum(all, static_cast<double>(momentum_), step);
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
