// The table of families.
#include "nn/encoders/family.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dynet_like::nn::encoders {

namespace {

using Config = EncoderConfig;

// A number of the config, times a factor.
struct Size {
  unsigned Config::*member = nullptr;
  unsigned factor = 1;
};

// A part's name in a collection and the shape of its matrix; without columns it is a norm.
struct PartFacts {
  const char* folder;
  Size rows, columns = {};
  bool is_table = false;
};

// clang-format off

constexpr Size kSize{&Config::size}, kEmbedding{&Config::embedding_size}, kHidden{&Config::hidden};

constexpr std::array<PartFacts, kParts> kFacts = {{
    {"words", {&Config::vocabulary}, kEmbedding, true},
    {"positions", {&Config::positions}, kEmbedding, true},
    {"token_types", {&Config::token_types}, kEmbedding, true},
    {"embedding_norm", kEmbedding}, {"projection", kSize, kEmbedding},
    {"distances", {&Config::position_buckets, 2}, kSize, true},
    {"distance_biases", {&Config::position_buckets}, {&Config::heads}, true},
    {"distance_norm", kSize},
    {"final_norm", kSize}, {"query", kSize, kSize}, {"key", kSize, kSize},
    {"value", kSize, kSize}, {"query_key_value", {&Config::size, 3}, kSize},
    {"attention_output", kSize, kSize}, {"attention_norm", kSize}, {"up", kHidden, kSize},
    {"up_and_gates", {&Config::hidden, 2}, kSize}, {"down", kSize, kHidden},
    {"network_norm", kSize}}};

std::vector<PartName> bert_names(const std::string& projected = {}) {
  return {
      {Part::words, "embeddings.word_embeddings"},
      {Part::positions, "embeddings.position_embeddings"},
      {Part::token_types, "embeddings.token_type_embeddings"},
      {Part::embedding_norm, "embeddings.LayerNorm"},
      {Part::projection, "embeddings_project"},
      {Part::query, "encoder.layer.#.attention.self.query" + projected},
      {Part::key, "encoder.layer.#.attention.self.key" + projected},
      {Part::value, "encoder.layer.#.attention.self.value" + projected},
      {Part::attention_output, "encoder.layer.#.attention.output.dense"},
      {Part::attention_norm, "encoder.layer.#.attention.output.LayerNorm"},
      {Part::up, "encoder.layer.#.intermediate.dense"},
      {Part::down, "encoder.layer.#.output.dense"},
      {Part::network_norm, "encoder.layer.#.output.LayerNorm"}};
}

std::vector<PartName> distilbert_names() {
  return {
      {Part::words, "embeddings.word_embeddings"},
      {Part::positions, "embeddings.position_embeddings"},
      {Part::embedding_norm, "embeddings.LayerNorm"},
      {Part::query, "transformer.layer.#.attention.q_lin"},
      {Part::key, "transformer.layer.#.attention.k_lin"},
      {Part::value, "transformer.layer.#.attention.v_lin"},
      {Part::attention_output, "transformer.layer.#.attention.out_lin"},
      {Part::attention_norm, "transformer.layer.#.sa_layer_norm"},
      {Part::up, "transformer.layer.#.ffn.lin1"},
      {Part::down, "transformer.layer.#.ffn.lin2"},
      {Part::network_norm, "transformer.layer.#.output_layer_norm"}};
}

std::vector<PartName> modernbert_names() {
  return {
      {Part::words, "embeddings.tok_embeddings"},
      {Part::embedding_norm, "embeddings.norm"},
      {Part::final_norm, "final_norm"},
      {Part::attention_norm, "layers.#.attn_norm"},
      {Part::query_key_value, "layers.#.attn.Wqkv"},
      {Part::attention_output, "layers.#.attn.Wo"},
      {Part::network_norm, "layers.#.mlp_norm"},
      {Part::up_and_gates, "layers.#.mlp.Wi"},
      {Part::down, "layers.#.mlp.Wo"}};
}

std::vector<PartName> mpnet_names() {
  return {
      {Part::words, "embeddings.word_embeddings"},
      {Part::positions, "embeddings.position_embeddings"},
      {Part::embedding_norm, "embeddings.LayerNorm"},
      {Part::distance_biases, "encoder.relative_attention_bias"},
      {Part::query, "encoder.layer.#.attention.attn.q"},
      {Part::key, "encoder.layer.#.attention.attn.k"},
      {Part::value, "encoder.layer.#.attention.attn.v"},
      {Part::attention_output, "encoder.layer.#.attention.attn.o"},
      {Part::attention_norm, "encoder.layer.#.attention.LayerNorm"},
      {Part::up, "encoder.layer.#.intermediate.dense"},
      {Part::down, "encoder.layer.#.output.dense"},
      {Part::network_norm, "encoder.layer.#.output.LayerNorm"}};
}

std::vector<PartName> deberta_names() {
  std::vector<PartName> names = bert_names("_proj");
  const PartName more[] = {{Part::distances, "encoder.rel_embeddings"},
                           {Part::distance_norm, "encoder.LayerNorm"}};
  names.insert(names.end(), std::begin(more), std::end(more));
  return names;
}

std::vector<ConfigKey> bert_keys() {
  return {
      {"vocab_size", &Config::vocabulary}, {"hidden_size", &Config::size},
      {"num_hidden_layers", &Config::layers}, {"num_attention_heads", &Config::heads},
      {"intermediate_size", &Config::hidden}, {"hidden_act", &Config::activation},
      {"hidden_dropout_prob", &Config::embedding_dropout},
      {"hidden_dropout_prob", &Config::attention_output_dropout},
      {"hidden_dropout_prob", &Config::network_dropout},
      {"attention_probs_dropout_prob", &Config::attention_dropout},
      {"max_position_embeddings", &Config::positions}, {"type_vocab_size", &Config::token_types},
      {"initializer_range", &Config::initial_deviation},
      {"layer_norm_eps", &Config::norm_epsilon}, {"pad_token_id", &Config::padding}};
}

std::vector<ConfigKey> distilbert_keys() {
  return {
      {"vocab_size", &Config::vocabulary}, {"dim", &Config::size}, {"n_layers", &Config::layers},
      {"n_heads", &Config::heads}, {"hidden_dim", &Config::hidden},
      {"activation", &Config::activation}, {"dropout", &Config::embedding_dropout},
      {"dropout", &Config::network_dropout}, {"attention_dropout", &Config::attention_dropout},
      {"max_position_embeddings", &Config::positions},
      {"initializer_range", &Config::initial_deviation}, {"pad_token_id", &Config::padding}};
}

std::vector<ConfigKey> modernbert_keys() {
  return {
      {"vocab_size", &Config::vocabulary}, {"hidden_size", &Config::size},
      {"num_hidden_layers", &Config::layers}, {"num_attention_heads", &Config::heads},
      {"intermediate_size", &Config::hidden}, {"hidden_activation", &Config::activation},
      {"embedding_dropout", &Config::embedding_dropout},
      {"attention_dropout", &Config::attention_dropout},
      {"attention_dropout", &Config::attention_output_dropout},
      {"mlp_dropout", &Config::hidden_dropout}, {"max_position_embeddings", &Config::positions},
      {"initializer_range", &Config::initial_deviation}, {"norm_eps", &Config::norm_epsilon},
      {"pad_token_id", &Config::padding}, {"local_attention", &Config::window},
      {"global_attn_every_n_layers", &Config::global_every},
      {"global_rope_theta", &Config::global_theta}, {"local_rope_theta", &Config::local_theta},
      {"rope_parameters/full_attention/rope_theta", &Config::global_theta},
      {"rope_parameters/sliding_attention/rope_theta", &Config::local_theta}};
}

Family bert(Config defaults, std::string architecture) {
  Family family;
  family.defaults = std::move(defaults);
  family.architecture = std::move(architecture);
  family.names = bert_names();
  family.keys = bert_keys();
  family.fixed = {{"position_embedding_type", {"\"absolute\"", "null"}},
                  {"is_decoder", {"false", "null"}}, {"add_cross_attention", {"false", "null"}}};
  return family;
}

Family ernie() {
  Family family = bert({.model_type = "ernie"}, "Ernie");
  family.fixed.push_back({"use_task_id", {"false", "null"}});
  return family;
}

Family roberta(const char* model_type, const char* architecture, unsigned vocabulary = 30522) {
  Family family = bert({.model_type = model_type, .vocabulary = vocabulary, .padding = 1},
                       architecture);
  family.counts_from_padding = true;
  family.tokenizer = "RobertaTokenizer";
  return family;
}

// A RoBERTa whose pieces are those of SentencePiece.
Family unigram_roberta(const char* model_type, const char* architecture) {
  Family family = roberta(model_type, architecture);
  family.tokenizer = architecture + std::string("Tokenizer");
  return family;
}

Family mpnet() {
  Family family = roberta("mpnet", "MPNet", 30527);
  family.defaults.token_types = 0;
  family.defaults.position_buckets = 32;
  family.tokenizer = "MPNetTokenizer";
  family.positions = Positions::table_and_biases;
  family.names = mpnet_names();
  std::erase_if(family.keys, [](const ConfigKey& key) { return key.name == "type_vocab_size"; });
  family.fixed.push_back({"relative_attention_num_buckets", {"32", "null"}});
  return family;
}

Family distilbert() {
  Family family = bert({.model_type = "distilbert", .layers = 6, .token_types = 0,
                        .attention_output_dropout = 0}, "DistilBert");
  family.names = distilbert_names();
  family.keys = distilbert_keys();
  family.fixed = {};
  return family;
}

Family electra() {
  Family family = bert({.model_type = "electra", .size = 256, .embedding_size = 128,
                        .hidden = 1024, .heads = 4}, "Electra");
  family.keys.push_back({"embedding_size", &Config::embedding_size});
  return family;
}

Family modernbert() {
  Family family = bert({.model_type = "modernbert", .vocabulary = 50368, .hidden = 1152,
                        .layers = 22, .positions = 8192, .token_types = 0, .padding = 50283,
                        .norm_epsilon = 1e-5f, .embedding_dropout = 0, .attention_dropout = 0,
                        .attention_output_dropout = 0, .network_dropout = 0}, "ModernBert");
  family.positions = Positions::rotary;
  family.tokenizer.clear();
  family.norm_first = true;
  family.has_biases = false;
  family.names = modernbert_names();
  family.keys = modernbert_keys();
  family.fixed = {{"norm_bias", {"false", "null"}}, {"attention_bias", {"false", "null"}},
                  {"mlp_bias", {"false", "null"}}, {"rope_scaling", {"null"}},
                  {"rope_parameters/full_attention/rope_type", {"\"default\"", "null"}},
                  {"rope_parameters/sliding_attention/rope_type", {"\"default\"", "null"}}};
  return family;
}

Family deberta() {
  Family family = bert({.model_type = "deberta-v2", .vocabulary = 128100, .size = 1536,
                        .hidden = 6144, .heads = 24, .layers = 24, .token_types = 0,
                        .norm_epsilon = 1e-7f}, "DebertaV2");
  family.positions = Positions::distances;
  family.tokenizer = "DebertaV2Tokenizer";
  family.names = deberta_names();
  family.keys.push_back({"position_buckets", &Config::position_buckets, true, true});
  family.keys.push_back({"max_relative_positions", &Config::largest_distance, true});
  family.fixed = {{"relative_attention", {"true"}}, {"position_biased_input", {"false"}},
                  {"share_att_key", {"true"}}, {"norm_rel_ebd", {"\"layer_norm\""}},
                  {"pos_att_type", {"\"p2c|c2p\"", "\"c2p|p2c\"", "[\"p2c\",\"c2p\"]",
                                    "[\"c2p\",\"p2c\"]"}},
                  {"conv_kernel_size", {"0", "null"}}, {"attention_head_size", {"null"}}};
  return family;
}

// clang-format on

std::uint64_t value_of(const Config& config, const Size& size) {
  const bool is_default = size.member == &Config::embedding_size && config.embedding_size == 0;
  return std::uint64_t{is_default ? config.size : config.*size.member} * size.factor;
}

// Whether an encoder has a part that its family names.
bool has(const Family& family, const Config& config, Part part, unsigned layer) {
  switch (part) {
    case Part::positions:
      return family.positions == Positions::table ||
             family.positions == Positions::table_and_biases;
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
  if (!has(family, config, name.part, layer)) return;
  const PartFacts& facts = kFacts[static_cast<std::size_t>(name.part)];
  std::string stem = name.published;
  const std::size_t mark = stem.find('#');
  if (mark != std::string::npos) stem.replace(mark, 1, std::to_string(layer));
  const bool is_norm = facts.columns.member == nullptr;
  EncoderTensor tensor;
  tensor.part = name.part;
  tensor.layer = layer;
  tensor.is_table = facts.is_table;
  tensor.folder = facts.folder;
  tensor.name = facts.is_table ? "E" : is_norm ? "g" : "W";
  tensor.published = stem + ".weight";
  tensor.shape = {value_of(config, facts.rows)};
  if (!is_norm) tensor.shape.push_back(value_of(config, facts.columns));
  all.push_back(tensor);
  if (facts.is_table || !family.has_biases) return;
  tensor.is_bias = true;
  tensor.name = "b";
  tensor.published = stem + ".bias";
  tensor.shape.resize(1);
  all.push_back(std::move(tensor));
}

}  // namespace

const std::vector<Family>& all_families() {
  static const std::vector<Family> all = {bert({}, "Bert"),
                                          ernie(),
                                          roberta("roberta", "Roberta", 50265),
                                          unigram_roberta("xlm-roberta", "XLMRoberta"),
                                          unigram_roberta("camembert", "Camembert"),
                                          roberta("data2vec-text", "Data2VecText"),
                                          mpnet(),
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

const Family* family_of_architecture(std::string_view architecture) {
  constexpr std::string_view kRests[] = {"Model", "For", "LMHeadModel"};
  for (const Family& family : all_families()) {
    if (!architecture.starts_with(family.architecture)) continue;
    const std::string_view rest = architecture.substr(family.architecture.size());
    if (std::ranges::any_of(kRests, [&](std::string_view each) { return rest.starts_with(each); }))
      return &family;
  }
  return nullptr;
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
