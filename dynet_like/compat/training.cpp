// Trainers: before an update the settings go to the library's trainer, and changes come back after
// it.
#include "dynet/training.h"

#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "dynet_like/core/errors.h"

namespace dynet {

namespace {

// A trainer that clips by the norm of all gradients, including those of parameters that are not
// updated.
template <class Core>
class ClippingByAll : public Core {
 public:
  template <class... Arguments>
  explicit ClippingByAll(const ParameterCollection& m, Arguments... arguments)
      : Core(m, arguments...), collection_(m) {}

 protected:
  std::optional<double> norm_for_clipping(
      const dynet_like::Gradients& gradients,
      std::span<const std::shared_ptr<dynet_like::ParameterStorage>>) const override {
    return gradients.norm(collection_, true);
  }

 private:
  const dynet_like::ParameterCollection collection_;
};

template <class Core, class... Arguments>
std::unique_ptr<dynet_like::Trainer> make(const ParameterCollection& m, Arguments... arguments) {
  return std::make_unique<ClippingByAll<Core>>(m, arguments...);
}

// While it lives, only the chosen parameters are updated.
class ChosenParameters {
 public:
  explicit ChosenParameters(const ParameterCollectionStorage& all) {
    others_.reserve(all.all_params.size());
    for (const auto& parameter : all.all_params) {
      if (!parameter->updated) continue;
      others_.push_back(parameter);
      parameter->updated = false;
    }
  }
  ~ChosenParameters() {
    for (const auto& parameter : others_) parameter->updated = true;
  }

  template <class Storage>
  void choose(const std::vector<std::shared_ptr<Storage>>& list,
              const std::vector<unsigned>& positions) const {
    for (const unsigned i : positions) {
      if (i >= list.size()) {
        throw dynet_like::UsageError("[Trainer] need positions below " +
                                     std::to_string(list.size()) + "; got " + std::to_string(i));
      }
      for (const auto& parameter : others_) {
        if (parameter.get() == list[i].get()) parameter->updated = true;
      }
    }
  }

 private:
  std::vector<std::shared_ptr<ParameterStorageBase>> others_;
};

}  // namespace

Trainer::Trainer(ParameterCollection& m, std::unique_ptr<dynet_like::Trainer> core)
    : learning_rate(core->learning_rate), model(&m), collection_(m), core_(std::move(core)) {}
Trainer::~Trainer() = default;

void Trainer::hand_settings_to_core() {
  core_->learning_rate = learning_rate;
  core_->clip_threshold = clipping_enabled ? clip_threshold : 0;
  core_->weight_decay = collection_.get_weight_decay_lambda();
  core_->sparse_updates =
      sparse_updates_enabled ? dynet_like::SparseUpdates::lazy : dynet_like::SparseUpdates::exact;
}
void Trainer::take_settings_from_core() {
  learning_rate = core_->learning_rate;
  clipping_enabled = core_->clip_threshold > 0;
  if (clipping_enabled) clip_threshold = core_->clip_threshold;
  sparse_updates_enabled = core_->sparse_updates != dynet_like::SparseUpdates::exact;
  updates = static_cast<real>(core_->updates());
  clips = static_cast<real>(core_->clipped_updates());
}

void Trainer::update() {
  hand_settings_to_core();
  const std::uint64_t clips_before = core_->clipped_updates();
  detail::take_written_gradients();
  change_parameters();
  core_->finish_update();  // as in DyNet, a refused update throws here
  const auto clipped = static_cast<real>(core_->clipped_updates() - clips_before);
  learning_rate = core_->learning_rate;  // a cyclical rate has changed it
  ++updates;
  ++updates_since_status;
  clips += clipped;
  clips_since_status += clipped;
  collection_.reset_gradient();
}

// If no parameter of the collection has a gradient, the update takes zeros, as in DyNet.
void Trainer::change_parameters() {
  const dynet_like::Gradients& all = detail::gradients();
  const dynet_like::Gradients none = {};
  core_->update(all.has_any_of(collection_) ? all : none);
}

void Trainer::update(const std::vector<unsigned>& updated_params,
                     const std::vector<unsigned>& updated_lookup_params) {
  const ParameterCollectionStorage& all = collection_.get_storage();
  const ChosenParameters chosen(all);
  chosen.choose(all.params, updated_params);
  chosen.choose(all.lookup_params, updated_lookup_params);
  update();
}

void Trainer::restart() { core_->forget_moments(); }
void Trainer::restart(real lr) {
  learning_rate = lr;
  restart();
}
void Trainer::populate(std::istream& in, real lr) {
  populate(in);
  learning_rate = lr;
}

float Trainer::clip_gradients() {
  if (!clipping_enabled) return 1;
  const float norm = collection_.gradient_l2_norm();
  if (!(norm > clip_threshold)) return 1;
  ++clips;
  ++clips_since_status;
  return clip_threshold / norm;
}

void Trainer::rescale_and_reset_weight_decay() {
  L2WeightDecay& decay = collection_.get_weight_decay();
  for (const auto& parameter : collection_.get_storage().all_params) {
    parameter->scale_parameters(decay.current_weight_decay());
  }
  decay.reset_weight_decay();
}

void Trainer::status() {
  std::cerr << "[lr=" << learning_rate << " clips=" << clips_since_status
            << " updates=" << updates_since_status << "] ";
  updates_since_status = clips_since_status = 0;
}

SimpleSGDTrainer::SimpleSGDTrainer(ParameterCollection& m, real learning_rate)
    : Trainer(m, make<dynet_like::SimpleSGDTrainer>(m, learning_rate)) {}
CyclicalSGDTrainer::CyclicalSGDTrainer(ParameterCollection& m, float learning_rate_min,
                                       float learning_rate_max, float step_size, float gamma, float)
    : Trainer(m, make<dynet_like::SimpleSGDTrainer>(m, learning_rate_min)) {
  core().follow({learning_rate_min, learning_rate_max, step_size, gamma, 1});
}
MomentumSGDTrainer::MomentumSGDTrainer(ParameterCollection& m, real learning_rate, real mom)
    : Trainer(m, make<dynet_like::MomentumSGDTrainer>(m, learning_rate, mom)) {}
AdagradTrainer::AdagradTrainer(ParameterCollection& m, real learning_rate, real eps)
    : Trainer(m, make<dynet_like::AdagradTrainer>(m, learning_rate, eps)) {}
AdadeltaTrainer::AdadeltaTrainer(ParameterCollection& m, real eps, real rho)
    : Trainer(m, make<dynet_like::AdadeltaTrainer>(m, eps, rho)) {}
RMSPropTrainer::RMSPropTrainer(ParameterCollection& m, real learning_rate, real eps, real rho)
    : Trainer(m, make<dynet_like::RMSPropTrainer>(m, learning_rate, eps, rho)) {}
AdamTrainer::AdamTrainer(ParameterCollection& m, float learning_rate, float beta_1, float beta_2,
                         float eps)
    : Trainer(m, make<dynet_like::AdamTrainer>(m, learning_rate, beta_1, beta_2, eps)) {}
AmsgradTrainer::AmsgradTrainer(ParameterCollection& m, float learning_rate, float beta_1,
                               float beta_2, float eps)
    : Trainer(m, make<dynet_like::AmsgradTrainer>(m, learning_rate, beta_1, beta_2, eps)) {}

}  // namespace dynet
