// How far a training run of the Tree-LSTM example is, and the files that remember it.
#pragma once

#include <cstddef>
#include <string>

#include "dynet_like/dynet_like.h"
#include "examples/tree_lstm/options.h"
#include "examples/tree_lstm/task.h"

namespace dynet_like::examples {

struct Progress {
  unsigned epochs = 0;          ///< that are complete
  std::size_t minibatches = 0;  ///< that are complete in the epoch after them
  double loss = 0;              ///< the sum of the losses in this epoch,
  std::size_t losses = 0;       ///< and their number
  unsigned best_epoch = 0;      ///< from 1; 0: none yet
  double best_accuracy = 0;     ///< on the dev trees
  double seconds = 0;

  double mean_loss() const { return losses == 0 ? 0 : loss / static_cast<double>(losses); }
};

/// The files in the output folder. All are written whole or not at all, and throw FileError.
class TrainingFiles {
 public:
  /// Makes the folder if it is not there, unless a checkpoint is expected in it.
  TrainingFiles(const Options& options, const Task& task);

  void save(const ParameterCollection& parameters, Trainer& trainer, const Random& random,
            const Progress& progress) const;
  /// Throws UsageError, before anything is changed, unless all that results depend on is as it was.
  Progress resume(const ParameterCollection& parameters, Trainer& trainer, Random& random) const;

  void save_best(const ParameterCollection& parameters, const Progress& progress) const;
  void load_best(const ParameterCollection& parameters) const;

  const std::string& best() const { return best_; }

 private:
  Metadata settings_;
  std::string checkpoint_, best_;
};

}  // namespace dynet_like::examples
