// EncoderConfig: the sizes and rates of a pretrained encoder, as its config.json has them.
#pragma once

#include <string>
#include <string_view>

namespace dynet_like::nn {

/// Describes an encoder of one of the families "bert", "ernie", "roberta", "xlm-roberta",
/// "camembert", "data2vec-text", "mpnet", "distilbert", "electra", "modernbert" and "deberta-v2"
/// (DeBERTa-v3). The defaults are those of BERT; `of` has those of the other families.
struct EncoderConfig {
  std::string model_type = "bert";  ///< the family
  unsigned vocabulary = 30522;
  unsigned size = 768;          ///< of a column
  unsigned embedding_size = 0;  ///< of a row of the tables, for ELECTRA; 0: `size`
  unsigned hidden = 3072;       ///< the size of the feed-forward network's hidden layer
  unsigned heads = 12;          ///< of attention; size must be a multiple
  unsigned layers = 12;
  unsigned positions = 512;  ///< rows of the table of positions, or the largest number of pieces
  unsigned token_types = 2;  ///< 0: there is no table of them
  unsigned padding = 0;      ///< the id of padding; RoBERTa's first position is one more
  /// "gelu", "gelu_new" or "gelu_pytorch_tanh" (by tanh), "relu" or "silu".
  std::string activation = "gelu";
  float norm_epsilon = 1e-12f;

  // Rates of dropout, at least 0 and below 1.

  float embedding_dropout = 0.1f;
  float attention_dropout = 0.1f;         ///< of attention's weights
  float attention_output_dropout = 0.1f;  ///< of what attention adds to a column
  float hidden_dropout = 0;               ///< of the network's hidden layer
  float network_dropout = 0.1f;           ///< of what the network adds to a column

  /// The standard deviation of new weights, which are normally distributed.
  float initial_deviation = 0.02f;

  // ModernBERT: every so many layers, from the first on, attention is global; in the others a piece
  // sees `window / 2` pieces on each side. Both kinds have rotary positions (Su et al. 2021).

  unsigned window = 128;
  unsigned global_every = 3;
  float global_theta = 160000, local_theta = 10000;

  // DeBERTa: distances above `position_buckets / 2` share buckets, up to the largest distance.
  // MPNet: rows of the table of biases, 32.

  unsigned position_buckets = 256;
  unsigned largest_distance = 0;  ///< 0: `positions`

  /// The defaults of a family, which are those of Hugging Face's transformers. Throws UsageError
  /// for one that is not supported.
  static EncoderConfig of(std::string_view model_type);
  /// Reads a config.json. Keys that do not concern the encoder are ignored. Throws FileError with
  /// the key if it is malformed, or asks for something that is not supported.
  static EncoderConfig read(const std::string& path);
  /// The same from the contents of a file; `file` is its name in messages.
  static EncoderConfig from_text(std::string_view json, const std::string& file = "config.json");
  /// The contents of a config.json for Hugging Face's transformers. Throws what `check` throws.
  std::string to_text() const;
  /// Throws UsageError unless the numbers fit each other.
  void check() const;
};

}  // namespace dynet_like::nn
