// Reads modules.json and the folders of modules. Keys that might change a module are refused.
#include "nn/encoders/sentence_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/io/input_file.h"
#include "dynet_like/io/tensor_file.h"
#include "nn/encoders/python_json.h"
#include "nn/encoders/sentence_names.h"

namespace dynet_like::nn::encoders {

namespace fs = std::filesystem;

namespace {

using detail::counted;
using Kind = SentenceModule::Kind;

constexpr std::uint64_t kMostModuleBytes = 1 << 20;
constexpr std::size_t kMostModules = 16;

std::optional<JsonEntry> read_module_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const std::string text = dynet_like::detail::read_text(path, "SentenceFolder", kMostModuleBytes);
  return JsonEntry::parse(standard_json(text), path.string());
}

// The last name of a Python class in the package of Sentence Transformers.
std::string class_of(const JsonEntry& type) {
  const std::string& name = type.text();
  if (!name.starts_with("sentence_transformers.")) {
    type.need("a class of sentence_transformers, since others are programs of their own");
  }
  return name.substr(name.rfind('.') + 1);
}

unsigned size_of_module(const JsonEntry& entry) {
  if (entry.id() == 0) entry.need("a size from 1");
  return entry.id();
}

void check_input(const JsonEntry& config) {
  for (const char* const key : {"module_input_name", "module_output_name"}) {
    const std::optional<JsonEntry> name = config.find(key);
    if (name && name->text() != "sentence_embedding") name->need("sentence_embedding");
  }
}

SentenceModule read_pooling_module(const JsonEntry& config) {
  SentenceModule module = {.kind = Kind::pooling};
  const std::optional<JsonEntry> renamed = config.find("embedding_dimension");
  module.inputs = size_of_module(renamed ? *renamed : config.at("word_embedding_dimension"));
  if (const std::optional<JsonEntry> mode = config.find("pooling_mode")) {
    const auto add = [&](const JsonEntry& name) { module.poolings.push_back(read_pooling(name)); };
    if (mode->is_text()) {
      add(*mode);
    } else {
      mode->each_item(add);
    }
  }
  const bool has_modes = !module.poolings.empty();
  config.each_member([&](const std::string& key, const JsonEntry& value) {
    constexpr std::string_view kOthers[] = {"embedding_dimension", "word_embedding_dimension",
                                            "pooling_mode", "include_prompt"};
    const auto* const flag = std::ranges::find(kPoolings, key, &PoolingName::flag);
    if (flag == kPoolings.end() && std::ranges::count(kOthers, key) == 0) {
      value.fail("this key is not supported");
    }
  });
  for (const PoolingName& name : kPoolings) {
    if (!has_modes && config.flag_or(name.flag, false)) module.poolings.push_back(name.pooling);
  }
  if (module.poolings.empty()) module.poolings = {Pooling::mean};
  module.outputs = module.inputs * static_cast<unsigned>(module.poolings.size());
  return module;
}

SentenceModule read_dense(const JsonEntry& config) {
  config.allow({"in_features", "out_features", "bias", "activation_function", "module_input_name",
                "module_output_name", "use_residual"});
  check_input(config);
  const std::optional<JsonEntry> residual = config.find("use_residual");
  if (residual && residual->flag()) residual->need("false");
  SentenceModule module = {.kind = Kind::dense,
                           .inputs = size_of_module(config.at("in_features")),
                           .outputs = size_of_module(config.at("out_features")),
                           .has_bias = config.flag_or("bias", true)};
  if (const std::optional<JsonEntry> name = config.find("activation_function")) {
    module.activation = name->text().substr(name->text().rfind('.') + 1);
    if (!name->text().starts_with("torch.nn.") ||
        find_sentence_activation(module.activation) == nullptr) {
      name->need("Identity, Tanh, ReLU, GELU, SiLU or Sigmoid of torch.nn");
    }
  }
  return module;
}

SentenceModule read_module(const JsonEntry& entry, const fs::path& folder, unsigned size) {
  const std::string type = class_of(entry.at("type"));
  const std::optional<JsonEntry> config = read_module_file(folder / "config.json");
  if (type == "Normalize") {
    if (config) check_input(*config);
    return {.kind = Kind::normalize, .inputs = size, .outputs = size};
  }
  if (type != "Pooling" && type != "Dense" && type != "LayerNorm") {
    entry.at("type").need("a module Pooling, Dense, LayerNorm or Normalize behind a Transformer");
  }
  if (!config) {
    throw FileError((folder / "config.json").string(), "[TextEncoder] need this file; got none");
  }
  if (type == "Pooling") return read_pooling_module(*config);
  if (type == "Dense") return read_dense(*config);
  const unsigned own = size_of_module(config->at("dimension"));
  return {.kind = Kind::layer_norm, .inputs = own, .outputs = own};
}

// The file with the weights of a module, which must have its shapes.
std::vector<SafetensorsFile> read_weights(const SentenceModule& module, const fs::path& folder) {
  std::vector<SafetensorsFile> files;
  if (module.kind == Kind::pooling || module.kind == Kind::normalize) return files;
  const bool is_dense = module.kind == Kind::dense;
  std::error_code ignored;
  const fs::path path = folder / "model.safetensors";
  if (!fs::exists(path, ignored)) {
    throw FileError(
        path.string(),
        std::string("[TextEncoder] need this file; got ") +
            (fs::exists(folder / "pytorch_model.bin", ignored)
                 ? "pytorch_model.bin alone: save the model again with SentenceTransformer"
                 : "none"));
  }
  const SafetensorsFile& file = files.emplace_back(SafetensorsFile::read(path));
  const auto check = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
    const TensorEntry* const entry = file.find(name);
    if (entry != nullptr && entry->shape == shape &&
        dynet_like::detail::tensor_file::is_float(*entry)) {
      return;
    }
    throw FileError(path.string(),
                    fmt::format("[TextEncoder] need {} with the shape [{}]; got {}", name,
                                fmt::join(shape, ", "),
                                entry == nullptr ? "none"
                                                 : fmt::format("{} [{}]", entry->dtype,
                                                               fmt::join(entry->shape, ", "))));
  };
  if (is_dense) {
    check("linear.weight", {module.outputs, module.inputs});
    if (module.has_bias) check("linear.bias", {module.outputs});
  } else {
    check("norm.weight", {module.inputs});
    check("norm.bias", {module.inputs});
  }
  return files;
}

// A folder inside the folder, "" for itself.
std::string path_of(const JsonEntry& module) {
  const JsonEntry path = module.at("path");
  const std::string& name = path.text();
  if (name.find_first_of("/\\:") != name.npos || name.starts_with('.')) {
    path.need("a folder in this one");
  }
  return name;
}

std::string read_prompt(const fs::path& folder) {
  const std::optional<JsonEntry> all =
      read_module_file(folder / "config_sentence_transformers.json");
  const std::optional<JsonEntry> name = all ? all->find("default_prompt_name") : std::nullopt;
  return name ? all->at("prompts").at(name->text()).text() : "";
}

}  // namespace

Activation find_sentence_activation(std::string_view name) {
  static const std::array<std::pair<std::string_view, Activation>, 6> all = {
      {{"Identity", [](const Expression& x) { return x; }},
       {"Tanh", tanh},
       {"ReLU", relu},
       {"GELU", gelu},
       {"SiLU", [](const Expression& x) { return silu(x); }},
       {"Sigmoid", sigmoid}}};
  const auto* const found = std::ranges::find(all, name, [](const auto& own) { return own.first; });
  return found == all.end() ? nullptr : found->second;
}

SentenceFolder::SentenceFolder(const std::string& folder) : encoder(folder) {
  const std::optional<JsonEntry> list = read_module_file(fs::path(folder) / "modules.json");
  if (!list) return;
  config.prompt = read_prompt(folder);
  std::size_t place = 0;
  list->each_item([&](const JsonEntry& entry) {
    const fs::path path = fs::path(folder) / path_of(entry);
    if (place++ == 0) {
      if (class_of(entry.at("type")) != "Transformer") entry.at("type").need("a Transformer first");
      encoder = path_of(entry).empty() ? folder : path.string();
      return;
    }
    if (place > kMostModules) list->fail("need at most " + counted(kMostModules, "module"));
    const unsigned size = config.modules.empty() ? 0 : config.modules.back().outputs;
    config.modules.push_back(read_module(entry, path, size));
    weights.push_back(read_weights(config.modules.back(), path));
    const std::optional<JsonEntry> own = read_module_file(path / "config.json");
    const std::optional<JsonEntry> prompt = own ? own->find("include_prompt") : std::nullopt;
    if (prompt && !prompt->flag() && !config.prompt.empty()) {
      prompt->need("true, since a prompt is put in front of texts");
    }
  });
}

}  // namespace dynet_like::nn::encoders
