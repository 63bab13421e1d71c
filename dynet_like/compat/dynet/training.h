// DyNet's training.h: the library's trainers, with DyNet's clipping and use of gradients.
#pragma once

#include <iosfwd>
#include <memory>
#include <vector>

#include "dynet/model.h"
#include "dynet_like/train/trainers.h"

namespace dynet {

using dynet_like::MovingAverage;

/// Updates the parameters of a collection with the sum of the gradients of all backward passes
/// since the last update, and resets this sum. The formulas are in dynet_like/train/trainers.h.
class Trainer {
 public:
  virtual ~Trainer();

  /// Throws NumericError, before anything is changed, if a gradient is not finite.
  virtual void update();
  /// Updates only these parameters and tables, given by their positions in parameters_list() and
  /// lookup_parameters_list().
  void update(const std::vector<unsigned>& updated_params,
              const std::vector<unsigned>& updated_lookup_params);
  /// Does nothing, as in DyNet 2.1. To change the rate, set learning_rate.
  void update_epoch(real = 1.0f) {}

  /// Drops the moments. Everything that counts updates continues: Adam's bias correction, cycles of
  /// the learning rate, averages.
  virtual void restart();
  void restart(real lr);

  /// Writes settings, moments and averages as text. Reading throws UsageError, before anything is
  /// changed, unless the text is the state of such a trainer of the same parameters.
  virtual void save(std::ostream& out);
  virtual void populate(std::istream& in);
  void populate(std::istream& in, real lr);

  /// The factor by which gradients would be clipped now. If it is below 1, it counts as a clip.
  float clip_gradients();
  /// Applies the part of the collection's weight decay that has not been applied yet.
  void rescale_and_reset_weight_decay();

  // Moving averages of the parameters: see dynet_like/train/trainer.h.
  MovingAverage moving_average() const { return core_->moving_average(); }
  void exponential_moving_average(float beta, unsigned update_freq = 1u) {
    core_->exponential_moving_average(beta, update_freq);
  }
  void cumulative_moving_average(unsigned update_freq = 1u) {
    core_->cumulative_moving_average(update_freq);
  }
  void swap_params_to_moving_average(bool save_weights = true, bool bias_correction = false) {
    core_->swap_params_to_moving_average(save_weights, bias_correction);
  }
  void swap_params_to_weights() { core_->swap_params_to_weights(); }

  /// Prints "[lr=0.1 clips=0 updates=100] " to standard error, and resets the two counts.
  void status();

  real learning_rate;
  bool clipping_enabled = true;
  real clip_threshold = 5;
  real clips = 0, updates = 0;
  real clips_since_status = 0, updates_since_status = 0;
  /// If true, rows of tables without a gradient stay unchanged, with their moments; otherwise they
  /// get a zero gradient, as parameters without a gradient always do.
  bool sparse_updates_enabled = true;
  ParameterCollection* model;

 protected:
  Trainer(ParameterCollection& m, std::unique_ptr<dynet_like::Trainer> core);
  dynet_like::Trainer& core() const { return *core_; }
  /// Lets the core change the parameters, after it has been given the settings.
  virtual void change_parameters();

 private:
  void hand_settings_to_core();
  void take_settings_from_core();

  ParameterCollection collection_;
  std::unique_ptr<dynet_like::Trainer> core_;
};

class SimpleSGDTrainer : public Trainer {
 public:
  explicit SimpleSGDTrainer(ParameterCollection& m, real learning_rate = 0.1f);
};

/// The rate is learning_rate_min in the first two updates, and rises from then on. DyNet does not
/// use the last argument, either.
class CyclicalSGDTrainer : public Trainer {
 public:
  explicit CyclicalSGDTrainer(ParameterCollection& m, float learning_rate_min = 0.01f,
                              float learning_rate_max = 0.1f, float step_size = 2000,
                              float gamma = 1.0f, float edecay = 0.0f);
};

class MomentumSGDTrainer : public Trainer {
 public:
  explicit MomentumSGDTrainer(ParameterCollection& m, real learning_rate = 0.01f, real mom = 0.9f);
};

class AdagradTrainer : public Trainer {
 public:
  explicit AdagradTrainer(ParameterCollection& m, real learning_rate = 0.1f, real eps = 1e-20f);
};

class AdadeltaTrainer : public Trainer {
 public:
  explicit AdadeltaTrainer(ParameterCollection& m, real eps = 1e-6f, real rho = 0.95f);
};

class RMSPropTrainer : public Trainer {
 public:
  explicit RMSPropTrainer(ParameterCollection& m, real learning_rate = 0.1f, real eps = 1e-20f,
                          real rho = 0.95f);
};

class AdamTrainer : public Trainer {
 public:
  explicit AdamTrainer(ParameterCollection& m, float learning_rate = 0.001f, float beta_1 = 0.9f,
                       float beta_2 = 0.999f, float eps = 1e-8f);
};

class AmsgradTrainer : public Trainer {
 public:
  explicit AmsgradTrainer(ParameterCollection& m, float learning_rate = 0.001f, float beta_1 = 0.9f,
                          float beta_2 = 0.999f, float eps = 1e-8f);
};

/// Without sparse updates, tables stay unchanged. A parameter, or a row that is updated, becomes
/// NaN if it has a negative value or only zeros. DyNet does not use the last argument, either.
class EGTrainer : public Trainer {
 public:
  explicit EGTrainer(ParameterCollection& mod, real learning_rate = 0.1f, real mom = 0.9f,
                     real ne = 0.0f);
  /// Begins with the second update after this one.
  void enableCyclicalLR(float learning_rate_min = 0.01f, float learning_rate_max = 0.1f,
                        float step_size = 2000, float gamma = 0.0f);

 protected:
  void change_parameters() override;
};

}  // namespace dynet
