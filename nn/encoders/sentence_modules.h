// What makes one vector of the pieces of a text.
#pragma once

#include <string>
#include <vector>

#include "dynet_like/graph/expression.h"
#include "dynet_like/params/parameter_collection.h"
#include "nn/encoders/sentence_config.h"

namespace dynet_like::nn::encoders {

struct SentenceFolder;

/// A pooling, and what a sentence encoder has behind it. Copies share the parameters.
class SentenceModules {
 public:
  /// Parameters that are 0. Adds "dense_1/W" and so on, with the number of the module, to a
  /// subcollection "sentence" of `model`, if there are any. Throws what SentenceConfig::check does.
  SentenceModules(ParameterCollection& model, const SentenceConfig& config, unsigned size);
  /// Parameters from files.
  SentenceModules(ParameterCollection& model, const SentenceFolder& folder, unsigned size);

  /// Shapes: {size of the encoder, pieces} -> {size()}.
  Expression operator()(const Expression& pieces) const;
  unsigned size() const { return size_; }
  const SentenceConfig& config() const { return config_; }
  /// Writes modules.json and the folders that it names; the encoder is in the folder itself.
  void save(const std::string& folder) const;

 private:
  struct Weights {
    Parameter w, b;
  };
  SentenceConfig config_;
  std::vector<Weights> weights_;  ///< of each module; empty for one without weights
  unsigned size_ = 0;
};

}  // namespace dynet_like::nn::encoders
