// Encoder: a pretrained Transformer, from the files that Hugging Face's transformers writes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynet_like/core/list_of.h"
#include "dynet_like/graph/expression.h"
#include "dynet_like/params/parameter_collection.h"
#include "nn/encoders/encoder_config.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

namespace encoders {
struct EncoderParameters;
}

/// BERT and its relatives: a column for every piece of a text, which has seen all other pieces.
/// Sentences of any lengths run together in a minibatch, without padding. In training there is
/// dropout, as the config says; types of tokens are all 0.
class Encoder {
 public:
  /// New weights. Adds "words/E", "layer_0/query/W" and so on to a subcollection of `model`. Throws
  /// what EncoderConfig::check throws.
  Encoder(ParameterCollection& model, const EncoderConfig& config,
          const LayerOptions& options = {});
  // Moving copies, so that a moved-from object still has its layers.
  Encoder(const Encoder&) = default;
  Encoder& operator=(const Encoder&) = default;

  /// The last layer's output. Shapes: n ids -> {size, n}. Throws UsageError for no ids, for ids
  /// that are not in the vocabulary, and for more pieces than there are positions: split such a
  /// text.
  Expression operator()(ComputationGraph& graph, ListOf<std::uint32_t> ids) const;
  /// The embeddings, and the output of every layer: one more than there are layers. Throws the
  /// same.
  std::vector<Expression> layers(ComputationGraph& graph, ListOf<std::uint32_t> ids) const;

  const EncoderConfig& config() const;
  /// The largest number of pieces; 0: any.
  unsigned most_pieces() const;
  /// Writes config.json and model.safetensors, which transformers reads: AutoModel.from_pretrained.
  /// The names are those of the family. Makes the folder if need be. Throws FileError if a file
  /// cannot be written.
  void save(const std::string& folder) const;

 private:
  friend Encoder load_encoder(ParameterCollection& model, const std::string& folder,
                              const LayerOptions& options);

  std::shared_ptr<encoders::EncoderParameters> parameters_;
};

/// Reads an encoder from a folder with config.json and model.safetensors, or the shards that
/// model.safetensors.index.json lists. Numbers of 16 bits are converted. A pooler and the heads of
/// tasks are ignored. Throws FileError, before anything is added to `model`, if a file is missing
/// or malformed, and unless the files have the parameters of the config with their shapes and
/// types, and no others.
Encoder load_encoder(ParameterCollection& model, const std::string& folder,
                     const LayerOptions& options = {});

}  // namespace dynet_like::nn
