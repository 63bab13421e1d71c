// EncoderConfig: its text, by the keys of its family.
#include "nn/encoders/encoder_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/io/input_file.h"
#include "nn/encoders/family.h"
#include "nn/encoders/python_json.h"
#include "nn/encoders/relative_positions.h"
#include "nn/text/json_entry.h"

namespace dynet_like::nn {

using namespace encoders;

namespace {

using Json = nlohmann::json;

constexpr unsigned kMostLayers = 1000;
constexpr std::uint64_t kMostConfigBytes = 1 << 26;

const Family& family_of(std::string_view model_type) {
  if (const Family* const family = find_family(model_type)) return *family;
  throw UsageError(
      fmt::format("[Encoder] need a model_type of {}; got \"{}\"", family_names(), model_type));
}

// The contents of a config.json.
class ConfigReader {
 public:
  ConfigReader(std::string_view json, const std::string& file)
      : all_(JsonEntry::parse(standard_json(json), file)), file_(file) {}

  // Of the key model_type or, in old files, of the first class that the file names.
  const Family& family() const {
    if (const std::optional<JsonEntry> type = value("model_type")) {
      if (const Family* const found = find_family(type->text())) return *found;
      fail("model_type to be one of " + family_names(), type->json());
    }
    std::string classes;
    if (const std::optional<JsonEntry> list = value("architectures")) {
      const Family* found = nullptr;
      list->each_item([&](const JsonEntry& name) {
        if (found == nullptr) found = family_of_architecture(name.text());
      });
      if (found != nullptr) return *found;
      classes = " and the architectures " + list->json();
    }
    fail("model_type to be one of " + family_names(), "none" + classes);
  }

  void set(const ConfigKey& key, EncoderConfig& config) const {
    const std::optional<JsonEntry> own = value(key.name);
    if (!own && key.is_required) fail("the key " + key.name, "none");
    if (own) std::visit([&](auto member) { set(key, *own, config.*member); }, key.member);
  }

  void check(const FixedKey& key) const {
    const std::optional<JsonEntry> own = value(key.name);
    const std::string text = own ? own->json() : "null";
    if (std::ranges::count(key.values, text) == 0)
      fail(key.name + " to be " + key.values.front(), text);
  }

  // The list of kinds of layers, in place of global_attn_every_n_layers.
  void set_global_every(EncoderConfig& config) const {
    const std::optional<JsonEntry> types = value("layer_types");
    if (!types) return;
    std::vector<std::string> kinds;
    types->each_item([&](const JsonEntry& kind) { kinds.push_back(kind.json()); });
    std::size_t every = 1;
    while (every < kinds.size() && kinds[every] != "\"full_attention\"") ++every;
    for (std::size_t layer = 0; layer < kinds.size(); ++layer) {
      if (kinds[layer] == (layer % every == 0 ? "\"full_attention\"" : "\"sliding_attention\""))
        continue;
      fail("layer_types with full_attention at every so many layers", kinds[layer]);
    }
    config.global_every = static_cast<unsigned>(every);
  }

 private:
  // The value of a key, if there is one; the keys of a path lie one in the other.
  std::optional<JsonEntry> value(std::string_view path) const {
    std::optional<JsonEntry> found = all_;
    while (found && !path.empty()) {
      const std::size_t end = std::min(path.find('/'), path.size());
      found = found->find(std::string(path.substr(0, end)));
      path.remove_prefix(std::min(end + 1, path.size()));
    }
    return found;
  }

  [[noreturn]] void fail(const std::string& need, const std::string& got) const {
    constexpr std::size_t kShown = 60;
    throw FileError(file_, "[EncoderConfig] need " + need + "; got " + got.substr(0, kShown));
  }

  void set(const ConfigKey& key, const JsonEntry& value, unsigned& number) const {
    const std::string text = value.json();
    const bool is_whole = text.find_first_not_of("-0123456789") == std::string::npos;
    if (is_whole && key.or_negative && text.starts_with('-')) {
      number = 0;
    } else if (is_whole && !text.starts_with('-') &&
               value.number() <= std::numeric_limits<unsigned>::max()) {
      number = static_cast<unsigned>(value.number());
    } else {
      fail(key.name + " to be a whole number from 0 to 4294967295", text);
    }
  }
  void set(const ConfigKey& key, const JsonEntry& value, float& number) const {
    const std::string text = value.json();
    if (text.find_first_of("-0123456789") != 0) fail(key.name + " to be a number", text);
    number = static_cast<float>(value.real());
  }
  void set(const ConfigKey& key, const JsonEntry& value, std::string& text) const {
    if (!value.is_text()) fail(key.name + " to be text", value.json());
    text = value.text();
  }

  JsonEntry all_;
  std::string file_;
};

// The double with the shortest text that reads as the same float.
Json json_of(float number) { return Json::parse(fmt::format("{}", number)).get<double>(); }
Json json_of(const std::string& text) { return text; }

}  // namespace

EncoderConfig EncoderConfig::of(std::string_view model_type) {
  return family_of(model_type).defaults;
}

EncoderConfig EncoderConfig::read(const std::string& path) {
  return from_text(dynet_like::detail::read_text(path, "EncoderConfig", kMostConfigBytes), path);
}

EncoderConfig EncoderConfig::from_text(std::string_view json, const std::string& file) {
  const ConfigReader reader(json, file);
  const Family& family = reader.family();
  EncoderConfig config = family.defaults;
  for (const ConfigKey& key : family.keys) reader.set(key, config);
  for (const FixedKey& key : family.fixed) reader.check(key);
  reader.check({"auto_map/AutoModel", {"null"}});  // a model with code of its own
  if (family.positions == Positions::rotary) reader.set_global_every(config);
  try {
    config.check();
  } catch (const UsageError& error) {
    throw FileError(file, error.what());
  }
  return config;
}

std::string EncoderConfig::to_text() const {
  check();
  const Family& family = family_of(model_type);
  Json json = {{"model_type", model_type}};
  const auto is_path = [](const std::string& name) { return name.find('/') != std::string::npos; };
  for (const FixedKey& key : family.fixed) {
    const bool is_absent = key.values.front() == "null";
    if (!is_path(key.name) && !is_absent) json[key.name] = Json::parse(key.values.front());
  }
  for (const ConfigKey& key : family.keys) {
    if (is_path(key.name)) continue;
    json[key.name] = std::visit(
        [&](auto member) -> Json {
          using Value = std::remove_cvref_t<decltype(this->*member)>;
          if constexpr (std::is_same_v<Value, unsigned>) {
            return key.or_negative && this->*member == 0 ? Json(-1) : Json(this->*member);
          } else {
            return json_of(this->*member);
          }
        },
        key.member);
  }
  return json.dump(2) + '\n';
}

void EncoderConfig::check() const {
  const Family& family = family_of(model_type);
  const auto need = [](bool is_good, const std::string& rule, const auto&... got) {
    if (is_good) return;
    std::string text;
    ((text += fmt::format("{}{}", text.empty() ? "" : " and ", got)), ...);
    throw UsageError("[Encoder] need " + rule + "; got " + text);
  };
  for (const unsigned number : {vocabulary, size, hidden, heads, positions}) {
    need(number > 0, "a vocabulary, size, hidden, heads and positions of at least 1", number);
  }
  need(layers > 0 && layers <= kMostLayers,
       "1 to " + dynet_like::detail::counted(kMostLayers, "layer"), layers);
  need(size % heads == 0, "a size that is a multiple of heads", size, heads);
  need(find_activation(activation) != nullptr,
       "an activation of gelu, gelu_new, gelu_pytorch_tanh, relu, silu and swish", activation);
  need(norm_epsilon >= 0 && std::isfinite(norm_epsilon), "a finite norm_epsilon of at least 0",
       norm_epsilon);
  need(initial_deviation >= 0 && std::isfinite(initial_deviation),
       "a finite initial_deviation of at least 0", initial_deviation);
  for (const float rate : {embedding_dropout, attention_dropout, attention_output_dropout,
                           hidden_dropout, network_dropout}) {
    need(rate >= 0 && rate < 1, "rates of dropout of at least 0 and below 1", rate);
  }
  if (family.counts_from_padding) {
    need(padding < positions - 1, "more positions than the padding's id and one", positions,
         padding);
  }
  if (family.positions == Positions::rotary) {
    need(size / heads % 2 == 0, "an even size of a head", size / heads);
    need(window > 1 && global_every > 0, "a window of at least 2 and global_every of at least 1",
         window, global_every);
    for (const float theta : {global_theta, local_theta}) {
      need(theta > 0 && std::isfinite(theta), "finite thetas above 0", theta);
    }
  }
  if (family.positions == Positions::table_and_biases) {
    need(position_buckets == kBiasRows, fmt::format("{} position_buckets", kBiasRows),
         position_buckets);
  }
  if (family.positions == Positions::distances) {
    const unsigned largest = largest_distance == 0 ? positions : largest_distance;
    need(position_buckets > 1 && largest > position_buckets / 2 + 1,
         "at least 2 position_buckets, and a largest distance above half of them and 1",
         position_buckets, largest);
  }
}

}  // namespace dynet_like::nn
