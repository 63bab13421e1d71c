// A trained model at work: it writes text, and tells how likely the lines of others are.
#pragma once

#include <iosfwd>
#include <string>

#include "dynet_like/dynet_like.h"
#include "examples/language_model/encoding.h"
#include "examples/language_model/model.h"
#include "examples/language_model/options.h"

namespace dynet_like::examples {

/// The best model of an output folder, which has all that it needs.
class TrainedModel {
 public:
  /// Throws FileError unless the files of a training run are there.
  explicit TrainedModel(const std::string& folder);

  const LanguageModel& model() const { return model_; }
  const Encoding& encoding() const { return encoding_; }

 private:
  TrainedModel(const std::string& folder, const Metadata& metadata);

  Encoding encoding_;
  ParameterCollection parameters_;
  LanguageModel model_;
};

/// Where the vocabulary lies in an output folder.
std::string vocabulary_file(const std::string& folder);

/// The options' prompt and `count` characters or words that the model draws after it. The same for
/// the same seed.
std::string sampled_text(const LanguageModel& model, const Encoding& encoding,
                         const Options& options, unsigned count);

/// Writes every line after its nats per character (its end is one) and a tab. Throws FileError for
/// lines of more than 64 KiB.
void write_line_nats(std::istream& in, std::ostream& out, const LanguageModel& model,
                     const Encoding& encoding, unsigned threads);

}  // namespace dynet_like::examples
