// DyNet's weight-decay.h: how much smaller all parameters become with every update.
#pragma once

namespace dynet {

/// A factor (1 - lambda) per update. A trainer applies it to the values at once, so that the factor
/// still to be applied, `current_weight_decay`, is 1 unless a program moves it itself.
class L2WeightDecay {
 public:
  /// Throws UsageError unless 0 <= lambda < 1.
  explicit L2WeightDecay(float lambda = 1e-6f) { set_lambda(lambda); }

  void set_lambda(float lambda);
  float get_lambda() const { return lambda_; }
  void update_weight_decay(unsigned updates = 1);
  float current_weight_decay() const { return factor_; }
  /// Whether the factor is so small that it should be applied: below 1/4.
  bool parameters_need_rescaled() const { return factor_ < 0.25f; }
  void reset_weight_decay() { factor_ = 1; }

 private:
  float lambda_ = 0, factor_ = 1;
};

}  // namespace dynet
