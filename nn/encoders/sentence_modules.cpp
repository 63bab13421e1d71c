// SentenceModules: what they record, and their files.
#include "nn/encoders/sentence_modules.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/io/atomic_file.h"
#include "dynet_like/io/tensor_file.h"
#include "dynet_like/ops/ops.h"
#include "nn/encoders/sentence_folder.h"
#include "nn/encoders/sentence_names.h"

namespace dynet_like::nn::encoders {

namespace {

using Json = nlohmann::json;
using Kind = SentenceModule::Kind;
namespace stored = dynet_like::detail::tensor_file;

constexpr float kNormEpsilon = 1e-5f;      // PyTorch's default for LayerNorm
constexpr float kSmallestLength = 1e-12f;  // of a vector that is normalised

// The names of a module's weights and bias in its file.
std::pair<const char*, const char*> names_of(Kind kind) {
  if (kind == Kind::dense) return {"linear.weight", "linear.bias"};
  return {"norm.weight", "norm.bias"};
}

std::string folder_of(const SentenceModule& module, std::size_t number) {
  constexpr const char* kNames[] = {"Pooling", "Dense", "LayerNorm", "Normalize"};
  return fmt::format("{}_{}", number, kNames[static_cast<std::size_t>(module.kind)]);
}

// The config.json of a module.
Json json_of(const SentenceModule& module) {
  switch (module.kind) {
    case Kind::pooling: {
      // The form with flags, which all versions read, has one order of the results.
      Json json = {{"word_embedding_dimension", module.inputs}, {"include_prompt", true}};
      for (const PoolingName& name : kPoolings) {
        json[name.flag] = std::ranges::count(module.poolings, name.pooling) > 0;
      }
      std::vector<std::string> names;
      for (const Pooling pooling : module.poolings) names.push_back(pooling_name(pooling));
      std::vector<std::string> in_order;
      for (const PoolingName& name : kPoolings) {
        if (json[name.flag] == true) in_order.push_back(name.name);
      }
      if (names == in_order) return json;
      return {{"embedding_dimension", module.inputs}, {"pooling_mode", names}};
    }
    case Kind::dense: {
      const char* const package = module.activation == "Identity" ? "linear." : "activation.";
      return {{"in_features", module.inputs},
              {"out_features", module.outputs},
              {"bias", module.has_bias},
              {"activation_function", "torch.nn.modules." + (package + module.activation)}};
    }
    case Kind::layer_norm:
      return {{"dimension", module.inputs}};
    case Kind::normalize:
      break;
  }
  return Json::object();
}

}  // namespace

SentenceModules::SentenceModules(ParameterCollection& model, const SentenceConfig& config,
                                 unsigned size)
    : config_(config), weights_(config.modules.size()) {
  config_.check(size);
  size_ = config_.modules.back().outputs;
  const ParameterInitConst none(0);
  std::optional<ParameterCollection> all;
  for (std::size_t i = 0; i < config_.modules.size(); ++i) {
    const SentenceModule& module = config_.modules[i];
    if (module.kind != Kind::dense && module.kind != Kind::layer_norm) continue;
    if (!all) all = model.add_subcollection("sentence");
    const bool is_dense = module.kind == Kind::dense;
    ParameterCollection own =
        all->add_subcollection(fmt::format("{}_{}", is_dense ? "dense" : "norm", i + 1));
    const Dim dim = is_dense ? Dim({module.outputs, module.inputs}) : Dim({module.inputs});
    weights_[i].w = own.add_parameters(dim, none, is_dense ? "W" : "g");
    if (module.has_bias) weights_[i].b = own.add_parameters({module.outputs}, none, "b");
  }
}

SentenceModules::SentenceModules(ParameterCollection& model, const SentenceFolder& folder,
                                 unsigned size)
    : SentenceModules(model, folder.config, size) {
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const auto [weight, bias] = names_of(config_.modules[i].kind);
    for (const SafetensorsFile& file : folder.weights[i]) {
      stored::read_into(*file.find(weight), weights_[i].w.p);
      if (weights_[i].b.p != nullptr) stored::read_into(*file.find(bias), weights_[i].b.p);
    }
  }
}

Expression SentenceModules::operator()(const Expression& pieces) const {
  Expression x = pieces;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const SentenceModule& module = config_.modules[i];
    const auto& [w, b] = weights_[i];
    switch (module.kind) {
      case Kind::pooling: {
        std::vector<Expression> all;
        for (const Pooling pooling : module.poolings) all.push_back(pool_sentence(x, pooling));
        x = all.size() == 1 ? all.front() : concatenate(all);
        break;
      }
      case Kind::dense:
        x = find_sentence_activation(module.activation)(
            b.p == nullptr ? w * x : affine_transform({b, w, x}));
        break;
      case Kind::layer_norm:
        x = layer_norm(x, w, b, kNormEpsilon);
        break;
      case Kind::normalize:
        x = cdiv(x, max(l2_norm(x), kSmallestLength));
        break;
    }
  }
  return x;
}

void SentenceModules::save(const std::string& folder) const {
  namespace fs = std::filesystem;
  const auto write = [](const fs::path& path, const Json& json) {
    dynet_like::detail::write_atomically(path, json.dump(2) + '\n');
  };
  const std::string package = "sentence_transformers.models.";
  Json list =
      Json::array({{{"idx", 0}, {"name", "0"}, {"path", ""}, {"type", package + "Transformer"}}});
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const SentenceModule& module = config_.modules[i];
    const std::string name = folder_of(module, i + 1);
    list.push_back({{"idx", i + 1},
                    {"name", std::to_string(i + 1)},
                    {"path", name},
                    {"type", package + name.substr(name.find('_') + 1)}});
    const fs::path own = fs::path(folder) / name;
    std::error_code error;
    fs::create_directories(own, error);
    if (error) throw FileError(own.string(), "[TextEncoder] need a folder; got " + error.message());
    write(own / "config.json", json_of(module));
    if (weights_[i].w.p == nullptr) continue;
    stored::Parameters storages = {weights_[i].w.p};
    if (weights_[i].b.p != nullptr) storages.push_back(weights_[i].b.p);
    std::vector<stored::NamedTensor> tensors = stored::tensors_of(storages);
    const auto [weight, bias] = names_of(module.kind);
    for (std::size_t k = 0; k < tensors.size(); ++k) tensors[k].name = k == 0 ? weight : bias;
    write_safetensors(own / "model.safetensors", stored::entries_of(tensors).entries,
                      {{"format", "pt"}});
  }
  write(fs::path(folder) / "modules.json", list);
  Json settings = {{"prompts", Json::object()}, {"default_prompt_name", nullptr}};
  if (!config_.prompt.empty()) {
    settings["prompts"]["default"] = config_.prompt;
    settings["default_prompt_name"] = "default";
  }
  write(fs::path(folder) / "config_sentence_transformers.json", settings);
}

}  // namespace dynet_like::nn::encoders
