// EGTrainer.
#include <limits>
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

namespace {

template <class E>
bool can_be_normalised(const void* values, std::size_t count) {
  const E* x = static_cast<const E*>(values);
  bool in_range = true, any = false;
  for (std::size_t i = 0; i < count; ++i) {
    in_range &= x[i] >= 0 && x[i] <= std::numeric_limits<E>::max();
    any |= x[i] > 0;
  }
  return in_range && any;
}

class EGRule : public UpdateRule {
 public:
  explicit EGRule(float momentum) : momentum_(momentum) {
    if (momentum >= 0 && momentum < 1) return;
    throw UsageError(fmt::format("[EGTrainer] need 0 <= momentum < 1; got {}", momentum));
  }

  std::string description() const override {
    return fmt::format("EGTrainer(momentum={})", momentum_);
  }
  std::vector<std::string> moments() const override { return {"velocity"}; }
  void apply(const Updates& updates, std::span<const Elements> all, Step step) const override {
    updates.exponentiate(all, static_cast<double>(momentum_), step);
  }
  bool is_choosy() const override { return true; }
  bool accepts(DType dtype, const void* values, std::size_t count) const override {
    return dtype == DType::f32 ? can_be_normalised<float>(values, count)
                               : can_be_normalised<double>(values, count);
  }
  std::string accepted_values() const override {
    return "finite values, none of them negative and not all of them zero";
  }

 private:
  const float momentum_;
};

}  // namespace

EGTrainer::EGTrainer(ParameterCollection collection, float learning_rate, float momentum)
    : Trainer(std::move(collection), learning_rate, std::make_shared<EGRule>(momentum)) {}

void EGTrainer::enableCyclicalLR(float rate_min, float rate_max, float step_size, float gamma) {
  follow({rate_min, rate_max, step_size, gamma});
}

}  // namespace dynet_like
