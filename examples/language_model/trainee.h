// The language model with its text, for Training: a training sample is a piece of all streams.
#pragma once

#include "dynet_like/dynet_like.h"
#include "examples/language_model/evaluation.h"
#include "examples/language_model/model.h"
#include "examples/language_model/options.h"
#include "examples/language_model/streams.h"
#include "examples/language_model/task.h"
#include "examples/support/training.h"

namespace dynet_like::examples {

class TextTrainee : public Trainee {
 public:
  /// Adds the states between pieces to `states`. All that is passed must live on.
  TextTrainee(const LanguageModel& model, const Options& options, const Task& task,
              ParameterCollection states);

  /// `pieces` is one piece: the next begins with the states at its ends.
  Loss run(std::span<const std::uint32_t> pieces, std::uint64_t step) override;
  const Gradients& gradients() override { return *gradients_; }
  /// Minus the nats per character of what is held out: more is better.
  double dev_score() override;
  std::string score_text(double score) const override;

  const Streams& streams() const { return streams_; }

 private:
  const LanguageModel& model_;
  const Options& options_;
  const Task& task_;
  Streams streams_;
  StreamReader reader_;
  Random random_;  ///< for dropout
  Minibatch batch_;
  const Gradients* gradients_ = nullptr;
};

/// The model for texts that are numbered so, and how it is to be trained.
ModelOptions model_options(const Options& options, const Encoding& encoding);
TrainingOptions training_options(const Options& options, const Task& task, const Streams& streams);

}  // namespace dynet_like::examples
