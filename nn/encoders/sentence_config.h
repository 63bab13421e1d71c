// The modules of a sentence encoder behind its encoder, as a folder of Sentence Transformers lists
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nn/encoders/pooling.h"

namespace dynet_like::nn::encoders {

struct SentenceModule {
  enum class Kind : std::uint8_t { pooling, dense, layer_norm, normalize };
  Kind kind = Kind::pooling;
  std::vector<Pooling> poolings = {};  ///< of a pooling: their results one below the other
  unsigned inputs = 0, outputs = 0;
  bool has_bias = true;             ///< of a dense layer
  std::string activation = "Tanh";  ///< of a dense layer: the name of PyTorch's class
};

struct SentenceConfig {
  std::vector<SentenceModule> modules;
  std::string prompt;  ///< put in front of every text

  /// From what to_text() returns, which may be hostile. Throws FileError.
  static SentenceConfig from_text(std::string_view json, const std::string& file);
  std::string to_text() const;
  /// Throws UsageError unless the modules fit each other and an encoder with columns of this size.
  void check(unsigned size) const;
};

/// The name of a pooling in files, such as "cls".
std::string pooling_name(Pooling pooling);

}  // namespace dynet_like::nn::encoders
