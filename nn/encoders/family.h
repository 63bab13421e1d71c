// Families of encoders as data: what distinguishes them, and the names in their files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nn/activation.h"
#include "nn/encoders/encoder_config.h"

namespace dynet_like::nn::encoders {

/// The parameters of an encoder; those from `query` on are in every layer.
enum class Part : std::uint8_t {
  words,
  positions,
  token_types,
  embedding_norm,
  projection,       ///< of embeddings, if they have another size
  distances,        ///< the table of relative positions
  distance_biases,  ///< numbers of each head that are added to scores
  distance_norm,
  final_norm,
  query,
  key,
  value,
  query_key_value,  ///< all three in one matrix
  attention_output,
  attention_norm,
  up,  ///< to the hidden layer of the network
  up_and_gates,
  down,
  network_norm
};
inline constexpr std::size_t kParts = static_cast<std::size_t>(Part::network_norm) + 1;
constexpr bool is_in_layers(Part part) { return part >= Part::query; }

/// How a family calls a part in files, where # stands for the number of the layer.
struct PartName {
  Part part;
  std::string published;
};

/// A key of config.json and the member that it sets. A path with slashes is read, but not written.
struct ConfigKey {
  std::string name;
  std::variant<unsigned EncoderConfig::*, float EncoderConfig::*, std::string EncoderConfig::*>
      member;
  bool or_negative = false;  ///< a negative number stands for 0
  bool is_required = false;  ///< what its absence means is not supported
};

/// A key of config.json with the values, as JSON, that are supported; the first is written. null
/// stands for an absent key.
struct FixedKey {
  std::string name;
  std::vector<std::string> values;
};

/// How an encoder knows the order of pieces.
enum class Positions : std::uint8_t { table, rotary, distances, table_and_biases };

struct Family {
  EncoderConfig defaults;    ///< of keys that are absent, as the reference has them
  std::string architecture;  ///< the beginning of classes' names: "Bert" of "BertForMaskedLM"
  /// The class of its tokenizers, unless their files name another; empty: tokenizer.json says all,
  /// whatever the files beside it say.
  std::string tokenizer = "BertTokenizer";
  Positions positions = Positions::table;
  bool counts_from_padding = false;  ///< the first position is one more than the padding's id
  bool norm_first = false;           ///< attention and network read normalised columns
  bool has_biases = true;
  std::vector<PartName> names;
  std::vector<ConfigKey> keys;
  std::vector<FixedKey> fixed;
};

const std::vector<Family>& all_families();
/// Null for an unknown family.
const Family* find_family(std::string_view model_type);
/// The family of a class such as "BertForMaskedLM"; null for another one.
const Family* family_of_architecture(std::string_view architecture);
/// The families' names, for messages.
std::string family_names();
/// Null for an unknown activation.
Activation find_activation(std::string_view name);

/// One parameter of an encoder.
struct EncoderTensor {
  Part part = Part::words;
  unsigned layer = 0;
  bool is_table = false, is_bias = false;
  std::string folder, name;          ///< in the collection: "query", "W"
  std::string published;             ///< in files: "encoder.layer.0.attention.self.query.weight"
  std::vector<std::uint64_t> shape;  ///< in files: [rows, columns] or [rows]
};

/// All parameters of an encoder, those of the layers last.
std::vector<EncoderTensor> tensors_of(const Family& family, const EncoderConfig& config);

}  // namespace dynet_like::nn::encoders
