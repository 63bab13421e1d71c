// DyNet's weight-decay.h: weight decay of all parameters of a collection.
#pragma once

namespace dynet {

/// A factor of (1 - lambda) per update. Trainers here apply it to the values at once. So the factor
/// that remains to be applied, `current_weight_decay`, is 1 unless a program changes it.
class L2WeightDecay {
 public:
  /// Throws UsageError unless 0 <= lambda < 1.
  explicit L2WeightDecay(float lambda = 1e-6f) { set_lambda(lambda); }

  void set_lambda(float lambda);
  float get_lambda() const { return lambda_; }
  void update_weight_decay(unsigned updates = 1);
  float current_weight_decay() const { return factor_; }
  /// Whether the remaining factor is so small, below 1/4, that it should be applied.
  bool parameters_need_rescaled() const { return factor_ < 0.25f; }
  void reset_weight_decay() { factor_ = 1; }

 private:
  float lambda_ = 0, factor_ = 1;
};

}  // namespace dynet
