// A trained model at work: it writes text, and tells how likely the lines of others are.
#pragma once

#include <span>
#include <string>

#include "dynet_like/dynet_like.h"
#include "examples/language_model/encoding.h"
#include "examples/language_model/model.h"
#include "examples/language_model/options.h"
#include "examples/support/saved_model.h"

namespace dynet_like::examples {

/// The best model of an output folder, with its vocabulary.
class TrainedModel {
 public:
  /// Throws FileError unless there is one.
  explicit TrainedModel(const std::string& folder);

  const LanguageModel& model() const { return model_; }
  const Encoding& encoding() const { return encoding_; }

 private:
  explicit TrainedModel(const SavedModel& saved);

  Encoding encoding_;
  ParameterCollection parameters_;
  LanguageModel model_;
};

/// The options' prompt and `count` characters or words that the model draws after it. The same for
/// the same seed.
std::string sampled_text(const LanguageModel& model, const Encoding& encoding,
                         const Options& options, unsigned count);

/// Every line after its nats per character (its end is one) and a tab.
std::string nats_of_lines(std::span<const std::string> lines, const LanguageModel& model,
                          const Encoding& encoding, unsigned threads);

}  // namespace dynet_like::examples
