// The files of a sentence encoder besides those of its encoder.
#pragma once

#include <string>
#include <vector>

#include "dynet_like/io/safetensors.h"
#include "nn/encoders/sentence_config.h"

namespace dynet_like::nn::encoders {

/// What modules.json and the folders that it names say. Without modules.json, the vector of a text
/// is the mean of its pieces.
struct SentenceFolder {
  SentenceConfig config;
  std::string encoder;  ///< the folder of the encoder
  /// The weights of each module; empty for one without weights.
  std::vector<std::vector<SafetensorsFile>> weights;

  /// Throws FileError for files that are missing or malformed, for modules that are not supported,
  /// and for weights of other shapes than the modules have.
  explicit SentenceFolder(const std::string& folder);
};

}  // namespace dynet_like::nn::encoders
