// The table of families.
#include "nn/encoders/family.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dynet_like::nn::encoders {

namespace {

using Config = EncoderConfig;

constexpr Size kSize{&Config::size}, kTripleSize{&Config::size, 3}, kHidden{&Config::hidden},
    kTwiceHidden{&Config::hidden, 2}, kEmbedding{&Config::embedding_size},
    kVocabulary{&Config::vocabulary}, kPositions{&Config::positions}, kTypes{&Config::token_types};

std::vector<PartName> bert_names() {
  const std::string layer = "encoder.layer.#.";
  return {{Part::words, "embeddings.word_embeddings", kVocabulary, kEmbedding},
          {Part::positions, "embeddings.position_embeddings", kPositions, kEmbedding},
          {Part::token_types, "embeddings.token_type_embeddings", kTypes, kEmbedding},
          {Part::embedding_norm, "embeddings.LayerNorm", kEmbedding},
          {Part::projection, "embeddings_project", kSize, kEmbedding},
          {Part::query, layer + "attention.self.query", kSize, kSize},
          {Part::key, layer + "attention.self.key", kSize, kSize},
          {Part::value, layer + "attention.self.value", kSize, kSize},
          {Part::attention_output, layer + "attention.output.dense", kSize, kSize},
          {Part::attention_norm, layer + "attention.output.LayerNorm", kSize},
          {Part::up, layer + "intermediate.dense", kHidden, kSize},
          {Part::down, layer + "output.dense", kSize, kHidden},
          {Part::network_norm, layer + "output.LayerNorm", kSize}};
}

std::vector<PartName> distilbert_names() {
  const std::string layer = "transformer.layer.#.";
  return {{Part::words, "embeddings.word_embeddings", kVocabulary, kSize},
          {Part::positions, "embeddings.position_embeddings", kPositions, kSize},
          {Part::embedding_norm, "embeddings.LayerNorm", kSize},
          {Part::query, layer + "attention.q_lin", kSize, kSize},
          {Part::key, layer + "attention.k_lin", kSize, kSize},
          {Part::value, layer + "attention.v_lin", kSize, kSize},
          {Part::attention_output, layer + "attention.out_lin", kSize, kSize},
          {Part::attention_norm, layer + "sa_layer_norm", kSize},
          {Part::up, layer + "ffn.lin1", kHidden, kSize},
          {Part::down, layer + "ffn.lin2", kSize, kHidden},
          {Part::network_norm, layer + "output_layer_norm", kSize}};
}

std::vector<PartName> modernbert_names() {
  return {{Part::words, "embeddings.tok_embeddings", kVocabulary, kSize},
          {Part::embedding_norm, "embeddings.norm", kSize},
          {Part::final_norm, "final_norm", kSize},
          {Part::attention_norm, "layers.#.attn_norm", kSize},
          {Part::query_key_value, "layers.#.attn.Wqkv", kTripleSize, kSize},
          {Part::attention_output, "layers.#.attn.Wo", kSize, kSize},
          {Part::network_norm, "layers.#.mlp_norm", kSize},
          {Part::up, "layers.#.mlp.Wi", kTwiceHidden, kSize},
          {Part::down, "layers.#.mlp.Wo", kSize, kHidden}};
}

std::vector<PartName> deberta_names() {
  std::vector<PartName> names = bert_names();
  std::erase_if(names, [](const PartName& name) {
    return name.part == Part::positions || name.part == Part::projection;
  });
  for (PartName& name : names) {
    const bool is_projected =
        name.part == Part::query || name.part == Part::key || name.part == Part::value;
    if (is_projected) name.published += "_proj";
  }
  names.push_back(
      {Part::distances, "encoder.rel_embeddings", {&Config::position_buckets, 2}, kSize});
  names.push_back({Part::distance_norm, "encoder.LayerNorm", kSize});
  return names;
}

std::vector<ConfigKey> bert_keys() {
  return {{"vocab_size", &Config::vocabulary},
          {"hidden_size", &Config::size},
          {"num_hidden_layers", &Config::layers},
          {"num_attention_heads", &Config::heads},
          {"intermediate_size", &Config::hidden},
          {"hidden_act", &Config::activation},
          {"hidden_dropout_prob", &Config::embedding_dropout},
          {"hidden_dropout_prob", &Config::attention_output_dropout},
          {"hidden_dropout_prob", &Config::network_dropout},
          {"attention_probs_dropout_prob", &Config::attention_dropout},
          {"max_position_embeddings", &Config::positions},
          {"type_vocab_size", &Config::token_types},
          {"initializer_range", &Config::initial_deviation},
          {"layer_norm_eps", &Config::norm_epsilon},
          {"pad_token_id", &Config::padding}};
}

std::vector<ConfigKey> distilbert_keys() {
  return {{"vocab_size", &Config::vocabulary},
          {"dim", &Config::size},
          {"n_layers", &Config::layers},
          {"n_heads", &Config::heads},
          {"hidden_dim", &Config::hidden},
          {"activation", &Config::activation},
          {"dropout", &Config::embedding_dropout},
          {"dropout", &Config::network_dropout},
          {"attention_dropout", &Config::attention_dropout},
          {"max_position_embeddings", &Config::positions},
          {"initializer_range", &Config::initial_deviation},
          {"pad_token_id", &Config::padding}};
}

std::vector<ConfigKey> modernbert_keys() {
  return {{"vocab_size", &Config::vocabulary},
          {"hidden_size", &Config::size},
          {"num_hidden_layers", &Config::layers},
          {"num_attention_heads", &Config::heads},
          {"intermediate_size", &Config::hidden},
          {"hidden_activation", &Config::activation},
          {"embedding_dropout", &Config::embedding_dropout},
          {"attention_dropout", &Config::attention_dropout},
          {"attention_dropout", &Config::attention_output_dropout},
          {"mlp_dropout", &Config::hidden_dropout},
          {"max_position_embeddings", &Config::positions},
          {"initializer_range", &Config::initial_deviation},
          {"norm_eps", &Config::norm_epsilon},
          {"pad_token_id", &Config::padding},
          {"local_attention", &Config::window},
          {"global_attn_every_n_layers", &Config::global_every},
          {"global_rope_theta", &Config::global_theta},
          {"local_rope_theta", &Config::local_theta},
          {"rope_parameters/full_attention/rope_theta", &Config::global_theta},
          {"rope_parameters/sliding_attention/rope_theta", &Config::local_theta}};
}

std::vector<ConfigKey> electra_keys() {
  std::vector<ConfigKey> keys = bert_keys();
  keys.push_back({"embedding_size", &Config::embedding_size});
  return keys;
}

std::vector<ConfigKey> deberta_keys() {
  std::vector<ConfigKey> keys = bert_keys();
  keys.push_back({"position_buckets", &Config::position_buckets, true});
  keys.push_back({"max_relative_positions", &Config::largest_distance, true});
  return keys;
}

Config defaults(std::string model_type, unsigned vocabulary, unsigned padding) {
  Config config;
  config.model_type = std::move(model_type);
  config.vocabulary = vocabulary;
  config.padding = padding;
  return config;
}

Family bert(Config config, std::string prefix) {
  Family family;
  family.defaults = std::move(config);
  family.prefix = std::move(prefix);
  family.names = bert_names();
  family.keys = bert_keys();
  family.fixed = {{"position_embedding_type", "\"absolute\""},
                  {"is_decoder", "false"},
                  {"add_cross_attention", "false"}};
  return family;
}

Family roberta(const char* model_type, unsigned vocabulary) {
  Config config = defaults(model_type, vocabulary, 1);
  config.positions = 514;
  config.token_types = 1;
  config.norm_epsilon = 1e-5f;
  Family family = bert(config, "roberta.");
  family.counts_from_padding = true;
  return family;
}

Family distilbert() {
  Config config = defaults("distilbert", 30522, 0);
  config.layers = 6;
  config.token_types = 0;
  config.attention_output_dropout = 0;
  Family family = bert(config, "distilbert.");
  family.names = distilbert_names();
  family.keys = distilbert_keys();
  family.fixed = {};
  return family;
}

Family electra() {
  Config config = defaults("electra", 30522, 0);
  config.size = 256;
  config.embedding_size = 128;
  config.hidden = 1024;
  config.heads = 4;
  Family family = bert(config, "electra.");
  family.keys = electra_keys();
  return family;
}

Family modernbert() {
  Config config = defaults("modernbert", 50368, 50283);
  config.hidden = 1152;
  config.layers = 22;
  config.positions = 8192;
  config.token_types = 0;
  config.norm_epsilon = 1e-5f;
  config.embedding_dropout = config.attention_dropout = config.attention_output_dropout = 0;
  config.network_dropout = 0;
  Family family = bert(config, "model.");
  family.names = modernbert_names();
  family.keys = modernbert_keys();
  family.fixed = {{"norm_bias", "false"},
                  {"attention_bias", "false"},
                  {"mlp_bias", "false"},
                  {"rope_parameters/full_attention/rope_type", "\"default\""},
                  {"rope_parameters/sliding_attention/rope_type", "\"default\""}};
  family.positions = Positions::rotary;
  family.norm_first = family.is_gated = true;
  family.has_biases = false;
  return family;
}

Family deberta() {
  Config config = defaults("deberta-v2", 128100, 0);
  config.token_types = 0;
  config.norm_epsilon = 1e-7f;
  Family family = bert(config, "deberta.");
  family.names = deberta_names();
  family.keys = deberta_keys();
  family.fixed = {{"relative_attention", "true", false},  {"position_biased_input", "false", false},
                  {"share_att_key", "true", false},       {"norm_rel_ebd", "\"layer_norm\"", false},
                  {"pos_att_type", "\"p2c|c2p\"", false}, {"conv_kernel_size", "0"}};
  family.positions = Positions::distances;
  return family;
}

// Names of parts in a collection.
constexpr std::array<const char*, kParts> kFolders = {
    "words",     "positions",       "token_types",      "embedding_norm", "projection",
    "distances", "distance_norm",   "final_norm",       "query",          "key",
    "value",     "query_key_value", "attention_output", "attention_norm", "up",
    "down",      "network_norm"};

std::uint64_t value_of(const Config& config, const Size& size) {
  const bool is_default = size.member == &Config::embedding_size && config.embedding_size == 0;
  return std::uint64_t{is_default ? config.size : config.*size.member} * size.factor;
}

// Whether an encoder has a part that its family names.
bool has(const Family& family, const Config& config, const PartName& name, unsigned layer) {
  switch (name.part) {
    case Part::token_types:
      return config.token_types > 0;
    case Part::projection:
      return config.embedding_size != 0 && config.embedding_size != config.size;
    case Part::attention_norm:
      return !family.norm_first || layer > 0;  // the embeddings are normalised already
    default:
      return true;
  }
}

void append_tensors(const Family& family, const Config& config, const PartName& name,
                    unsigned layer, std::vector<EncoderTensor>& all) {
  if (!has(family, config, name, layer)) return;
  EncoderTensor tensor;
  tensor.part = name.part;
  tensor.layer = layer;
  tensor.folder = kFolders[static_cast<std::size_t>(name.part)];
  std::string stem = name.published;
  const std::size_t mark = stem.find('#');
  if (mark != std::string::npos) stem.replace(mark, 1, std::to_string(layer));
  const bool is_norm = name.columns.member == nullptr;
  tensor.is_table = name.part == Part::words || name.part == Part::positions ||
                    name.part == Part::token_types || name.part == Part::distances;
  tensor.name = tensor.is_table ? "E" : is_norm ? "g" : "W";
  tensor.published = stem + ".weight";
  tensor.shape = {value_of(config, name.rows)};
  if (!is_norm) tensor.shape.push_back(value_of(config, name.columns));
  all.push_back(tensor);
  if (tensor.is_table || !family.has_biases) return;
  tensor.is_bias = true;
  tensor.name = "b";
  tensor.published = stem + ".bias";
  tensor.shape.resize(1);
  all.push_back(std::move(tensor));
}

}  // namespace

const std::vector<Family>& all_families() {
  static const std::vector<Family> all = {bert({}, "bert."),
                                          roberta("roberta", 50265),
                                          roberta("xlm-roberta", 250002),
                                          distilbert(),
                                          electra(),
                                          modernbert(),
                                          deberta()};
  return all;
}

const Family* find_family(std::string_view model_type) {
  const auto found = std::ranges::find_if(all_families(), [&](const Family& family) {
    return family.defaults.model_type == model_type;
  });
  return found == all_families().end() ? nullptr : &*found;
}

std::string family_names() {
  std::vector<std::string> names;
  for (const Family& family : all_families()) names.push_back(family.defaults.model_type);
  return fmt::format("{}", fmt::join(names, ", "));
}

Activation find_activation(std::string_view name) {
  static const std::array<std::pair<std::string_view, Activation>, 6> all = {
      {{"gelu", gelu},
       {"gelu_new", gelu_tanh},
       {"gelu_pytorch_tanh", gelu_tanh},
       {"relu", relu},
       {"silu", [](const Expression& x) { return silu(x); }},
       {"swish", [](const Expression& x) { return silu(x); }}}};
  for (const auto& [known, activation] : all) {
    if (known == name) return activation;
  }
  return nullptr;
}

std::vector<EncoderTensor> tensors_of(const Family& family, const EncoderConfig& config) {
  std::vector<EncoderTensor> all;
  for (const PartName& name : family.names) {
    if (!is_in_layers(name.part)) append_tensors(family, config, name, 0, all);
  }
  for (unsigned layer = 0; layer < config.layers; ++layer) {
    for (const PartName& name : family.names) {
      if (is_in_layers(name.part)) append_tensors(family, config, name, layer, all);
    }
  }
  return all;
}

}  // namespace dynet_like::nn::encoders
