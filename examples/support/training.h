// Training over epochs with a progress bar, evaluation, checkpoints and Ctrl-C: what is the same
// for every model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/data/minibatches.h"
#include "nn/train/interrupt.h"

namespace dynet_like::examples {

/// A model with what it is trained on.
class Trainee {
 public:
  /// The sum of the losses of a minibatch, and their number.
  struct Loss {
    double sum = 0;
    std::size_t count = 0;
  };

  virtual ~Trainee() = default;

  /// Runs a minibatch of training samples forward and backward. `step` is another one for every
  /// minibatch, and the same one after resuming: random numbers must depend on nothing else.
  virtual Loss run(std::span<const std::uint32_t> samples, std::uint64_t step) = 0;
  /// Of the last run.
  virtual const Gradients& gradients() = 0;
  /// How good the model is on the dev samples: the share of what is right, or a like number.
  virtual double dev_score() = 0;
  /// It for people; by default as a percentage.
  virtual std::string score_text(double score) const;
};

struct TrainingOptions {
  std::string example;           ///< the program's name
  std::string unit, score_name;  ///< for people: what a sample and the dev score are called
  double units_per_sample = 1;   ///< where what `unit` names is a part of a sample
  bool in_order = false;         ///< by size, then as they come, the same in every epoch
  unsigned epochs = 1, batch_size = 32;
  float learning_rate = 0.001f, decay = 1;  ///< the rate in the first epoch; its factor per epoch
  std::uint64_t seed = 1;                   ///< for the order of the samples
  std::string output;                       ///< a folder
  bool resume = false;                      ///< go on from the checkpoint in that folder
  /// All that the bits of a model depend on, which must be as it was to go on from a checkpoint.
  Metadata settings;
  /// As texts by their names: the best model's file has them, so that they are always its own.
  Metadata vocabularies;
};

/// How far a training run is.
struct Progress {
  unsigned epochs = 0;          ///< that are complete
  std::size_t minibatches = 0;  ///< that are complete in the epoch after them
  double loss = 0;              ///< the sum of the losses in this epoch,
  std::size_t losses = 0;       ///< and their number
  unsigned best_epoch = 0;      ///< from 1; 0: none yet
  double best_score = 0;        ///< on the dev samples
  double seconds = 0;

  double mean_loss() const { return losses == 0 ? 0 : loss / static_cast<double>(losses); }
};

/// A training run, from the first minibatch or from a checkpoint to the last epoch. It prints a
/// line per epoch. If the trainer takes moving averages, the model is evaluated with them, and the
/// best one has them. The files in the output folder are replaced as a whole; whenever a run ends,
/// there is a model to use: the run's own once an epoch is complete, before that the folder's last.
class Training {
 public:
  /// `sizes` are those of the training samples: minibatches have samples of similar sizes. Makes
  /// the folder unless a checkpoint is expected in it, which is loaded then. Throws FileError if
  /// files are missing or could not be written, and UsageError if the settings are not those of
  /// the checkpoint. What is passed must live on.
  Training(TrainingOptions options, std::vector<std::uint32_t> sizes,
           const ParameterCollection& parameters, Trainer& trainer, Trainee& trainee);

  /// Trains to the end, where the best model is loaded, or until Ctrl-C: then it saves where it is
  /// and returns false.
  bool run();

  const Progress& progress() const { return progress_; }
  /// Over the epochs of this run; training only.
  double units_per_second() const;
  /// The file of the best model.
  const std::string& best() const { return best_; }

 private:
  nn::Minibatches epoch_minibatches(Random& random) const;
  bool train_epoch(const nn::InterruptWatch& watch);
  void train_minibatch(const std::vector<std::uint32_t>& samples);
  void finish_epoch();
  void save();
  void resume();
  void resume_best();
  void save_best() const;
  Metadata model_metadata() const;

  TrainingOptions options_;
  std::vector<std::uint32_t> sizes_;
  const ParameterCollection& parameters_;
  Trainer& trainer_;
  Trainee& trainee_;
  Random random_;  ///< for the order of the samples
  std::string checkpoint_, best_;
  Progress progress_;
  double trained_units_ = 0, trained_seconds_ = 0;  ///< of this run
};

}  // namespace dynet_like::examples
