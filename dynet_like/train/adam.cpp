// AdamTrainer. Its formula is written over SIMD lanes: compilers leave square roots scalar.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/train/adam.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cpu/lanes-inl.h"
#include "dynet_like/train/trainers.h"
#include "dynet_like/train/update_rule.h"

#ifndef DYNET_LIKE_ADAM_ONCE
#define DYNET_LIKE_ADAM_ONCE
namespace dynet_like {

struct AdamConstants {
  float beta_1, beta_2, epsilon;
};

}  // namespace dynet_like
#endif

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

// Products and sums are rounded one by one, so that every target gives the same bits.
template <class E>
void adam(const Elements& elements, const AdamConstants& constants, Step step) {
  const auto lanes = [](auto x) HWY_ATTR { return Lanes<E>(static_cast<double>(x)); };
  const E e1 = static_cast<E>(constants.beta_1), e2 = static_cast<E>(constants.beta_2);
  const Lanes<E> b1 = lanes(e1), b2 = lanes(e2), rest_1 = lanes(1 - e1), rest_2 = lanes(1 - e2);
  const Lanes<E> epsilon = lanes(constants.epsilon);
  const Lanes<E> rate = lanes(step.rate), scale = lanes(step.scale);
  E* w = static_cast<E*>(elements.values);
  E* mean = static_cast<E*>(elements.moments[0]);
  E* square = static_cast<E*>(elements.moments[1]);
  const E* gradient = static_cast<const E*>(elements.gradient);
  for_lanes<E>(elements.count, [&](std::size_t at, std::size_t n) HWY_ATTR {
    const Lanes<E> g = scale * load(gradient + at, n);
    const Lanes<E> m = b1 * load(mean + at, n) + rest_1 * g;
    const Lanes<E> v = b2 * load(square + at, n) + rest_2 * (g * g);
    store(m, mean + at, n);
    store(v, square + at, n);
    store(load(w + at, n) - rate * m / (sqrt(v) + epsilon), w + at, n);
  });
}

void adam_update(const Elements& elements, const AdamConstants& constants, Step step) {
  elements.dtype == DType::f32 ? adam<float>(elements, constants, step)
                               : adam<double>(elements, constants, step);
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like {

HWY_EXPORT(adam_update);

namespace {

class AdamRule : public UpdateRule {
 public:
  explicit AdamRule(const AdamConstants& constants) : constants_(constants) {
    const auto [beta_1, beta_2, epsilon] = constants;
    const auto decays = [](float beta) { return beta >= 0 && beta < 1; };
    if (!decays(beta_1) || !decays(beta_2) || !(epsilon > 0)) {
      throw UsageError(
          fmt::format("[AdamTrainer] need 0 <= beta_1, beta_2 < 1 and epsilon > 0; got {}, {}, {}",
                      beta_1, beta_2, epsilon));
    }
  }

  std::string description() const override {
    return fmt::format("AdamTrainer(beta_1={}, beta_2={}, epsilon={})", constants_.beta_1,
                       constants_.beta_2, constants_.epsilon);
  }
  std::vector<std::string> moments() const override { return {"mean", "square"}; }
  double rate(double learning_rate, std::uint64_t update) const override {
    const auto bias = [&](float beta) {
      return 1 - std::pow(static_cast<double>(beta), static_cast<double>(update));
    };
    return learning_rate * std::sqrt(bias(constants_.beta_2)) / bias(constants_.beta_1);
  }
  void apply(const Elements& elements, Step step) const override {
    HWY_DYNAMIC_DISPATCH(adam_update)(elements, constants_, step);
  }

 private:
  const AdamConstants constants_;
};

}  // namespace

AdamTrainer::AdamTrainer(ParameterCollection collection, float learning_rate, float beta_1,
                         float beta_2, float epsilon)
    : Trainer(std::move(collection), learning_rate,
              std::make_shared<AdamRule>(AdamConstants{beta_1, beta_2, epsilon})) {}

}  // namespace dynet_like
#endif
