// Encoder: a pretrained Transformer, from the files that Hugging Face's transformers writes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynet_like/core/list_of.h"
#include "dynet_like/graph/expression.h"
#include "dynet_like/io/model_file.h"
#include "dynet_like/params/parameter_collection.h"
#include "dynet_like/train/parameter_groups.h"
#include "nn/encoders/encoder_config.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

namespace encoders {
struct EncoderParameters;
}

/// How the parameters of an encoder are trained.
struct FineTuning {
  float rate = 1;  ///< of the last layer, a factor of the trainer's learning rate
  /// Each layer has so much of the rate of the layer above it, and the embeddings of the first
  /// layer's (Howard and Ruder 2018 use 1 / 2.6).
  float layer_decay = 1;
  /// The number of parts that are not trained: 1 for the embeddings, 2 for the first layer as well,
  /// and so on.
  unsigned frozen = 0;
};

struct AdapterOptions {
  unsigned rank = 8;
  float scale = 2;  ///< of what an adapter adds: alpha / rank in the paper
  std::string name = {};
};

struct EncoderFileOptions {
  std::string name = {};  ///< of the encoder's subcollection; by default "encoder"
  /// Where tensors that are missing, left over or of another shape are reported, by their names in
  /// the files. Parameters that are not there then have new weights, as those of a new encoder. By
  /// default such tensors are errors.
  LoadReport* report = nullptr;
};

/// BERT and its relatives: a column for every piece of a text, which has seen all other pieces.
/// Sentences of any lengths run together in a minibatch, without padding. In training there is
/// dropout, as the config says.
class Encoder {
 public:
  /// New weights. Adds "words/E", "layer_0/query/W" and so on to a subcollection of `model`. Throws
  /// what EncoderConfig::check throws.
  Encoder(ParameterCollection& model, const EncoderConfig& config,
          const LayerOptions& options = {});
  // Moving copies, so that a moved-from object still has its layers.
  Encoder(const Encoder&) = default;
  Encoder& operator=(const Encoder&) = default;

  /// The last layer's output. `types` are the types of tokens, such as the segments of a Tokenizer;
  /// by default all 0. Shapes: n ids -> {size, n}. Throws UsageError for no ids, for ids and types
  /// that the encoder does not have, for another number of types, and for more pieces than there
  /// are positions.
  Expression operator()(ComputationGraph& graph, ListOf<std::uint32_t> ids,
                        ListOf<std::uint32_t> types = {}) const;
  /// The embeddings, and the output of every layer: one more than there are layers. Throws the
  /// same.
  std::vector<Expression> layers(ComputationGraph& graph, ListOf<std::uint32_t> ids,
                                 ListOf<std::uint32_t> types = {}) const;

  const EncoderConfig& config() const;
  /// The largest number of pieces; 0: any.
  unsigned most_pieces() const;
  /// Writes config.json and model.safetensors, which transformers reads: AutoModel.from_pretrained.
  /// The names are those of the family. Makes the folder if need be. Throws FileError if a file
  /// cannot be written, UsageError for adapters that are not merged.
  void save(const std::string& folder) const;

  /// Groups for a trainer: rates of layers, frozen ones, and no weight decay of biases and norms.
  /// With adapters, only these are trained. Throws UsageError unless rates are finite and not
  /// negative, and for more frozen parts than there are.
  std::vector<ParameterGroup> groups(const FineTuning& how = {}) const;
  /// An encoder with the same parameters, and low-rank adapters (LoRA; Hu et al. 2022): every
  /// matrix of a layer is W + scale B A, where A and B are new. B is 0 initially. Adds
  /// "layer_0/query/A" and so on to a subcollection of `model`, by default "adapters". Throws
  /// UsageError for an encoder with adapters, and for a rank of 0.
  Encoder with_adapters(ParameterCollection& model, const AdapterOptions& options = {}) const;
  /// Adds scale B A to the matrices, and sets B to 0. From then on the encoder without adapters has
  /// the same outputs, up to rounding, and costs less.
  void merge_adapters() const;

 private:
  friend Encoder load_encoder(ParameterCollection& model, const std::string& folder,
                              const EncoderFileOptions& options);
  friend class TextEncoder;
  /// Matrices and tables are 0; draws no numbers.
  static Encoder without_weights(ParameterCollection& model, const EncoderConfig& config,
                                 const LayerOptions& options);

  std::shared_ptr<encoders::EncoderParameters> parameters_;
};

/// Reads an encoder from a folder with config.json and model.safetensors, or the shards that
/// model.safetensors.index.json lists. Numbers of 16 or 64 bits are converted. Names may have a
/// prefix, such as "bert.", and of tensors that are shared any name. A pooler and the heads of
/// tasks are ignored. Throws FileError, before anything is added to `model`, if a file is missing
/// or malformed and, without `report`, unless the files have the parameters of the config with
/// their shapes, and no other tensors.
Encoder load_encoder(ParameterCollection& model, const std::string& folder,
                     const EncoderFileOptions& options = {});

}  // namespace dynet_like::nn
