// StoppingOptions: which epoch has the best model, and what ends a run before its last epoch.
#pragma once

#include <functional>

namespace dynet_like::nn {

/// Which dev scores are better: larger ones, such as accuracy, or smaller ones, such as a loss.
enum class Better { larger, smaller };

struct StoppingOptions {
  /// For nn::train: returns the score of the model after an epoch (see TrainingRun::finish_epoch).
  /// Without it, the last epoch's model counts as the best.
  std::function<double()> dev_score = {};
  Better better = Better::larger;
  /// Training ends after this many epochs without a new best score; 0: it does not end early.
  unsigned patience = 0;
  /// Whether Ctrl-C and SIGTERM stop the run after a minibatch and save it (see InterruptWatch).
  bool watch_interrupts = true;
};

}  // namespace dynet_like::nn
