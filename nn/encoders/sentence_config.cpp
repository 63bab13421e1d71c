// SentenceConfig as text.
#include "nn/encoders/sentence_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/errors.h"
#include "nn/encoders/sentence_names.h"
#include "nn/text/json_entry.h"

namespace dynet_like::nn::encoders {

namespace {

using Kind = SentenceModule::Kind;

constexpr std::array<std::pair<Kind, const char*>, 4> kKinds = {{{Kind::pooling, "Pooling"},
                                                                 {Kind::dense, "Dense"},
                                                                 {Kind::layer_norm, "LayerNorm"},
                                                                 {Kind::normalize, "Normalize"}}};

constexpr unsigned kMostSize = 1 << 16;  // of a vector

unsigned size_of(const JsonEntry& entry) {
  if (entry.number() == 0 || entry.number() > kMostSize) {
    entry.need(fmt::format("a size from 1 to {}", kMostSize));
  }
  return static_cast<unsigned>(entry.number());
}

}  // namespace

std::string pooling_name(Pooling pooling) {
  return std::ranges::find(kPoolings, pooling, &PoolingName::pooling)->name;
}

Pooling read_pooling(const JsonEntry& name) {
  std::string names;
  for (const PoolingName& each : kPoolings) {
    if (name.text() == each.name) return each.pooling;
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  name.need("one of " + names);
}

SentenceConfig SentenceConfig::from_text(std::string_view json, const std::string& file) {
  const JsonEntry all = JsonEntry::parse(json, file);
  SentenceConfig config;
  config.prompt = all.at("prompt").text();
  all.at("modules").each_item([&](const JsonEntry& entry) {
    SentenceModule own;
    own.kind = entry.at("type").choice<Kind>({{"Pooling", Kind::pooling},
                                              {"Dense", Kind::dense},
                                              {"LayerNorm", Kind::layer_norm},
                                              {"Normalize", Kind::normalize}});
    own.inputs = size_of(entry.at("inputs"));
    own.outputs = size_of(entry.at("outputs"));
    if (own.kind == Kind::pooling) {
      entry.at("poolings").each_item([&](const JsonEntry& name) {
        own.poolings.push_back(read_pooling(name));
      });
    }
    if (own.kind == Kind::dense) {
      own.has_bias = entry.at("bias").flag();
      own.activation = entry.at("activation").text();
    }
    config.modules.push_back(std::move(own));
  });
  return config;
}

std::string SentenceConfig::to_text() const {
  nlohmann::json list = nlohmann::json::array();
  for (const SentenceModule& own : modules) {
    const auto* const name = std::ranges::find(kKinds, own.kind, [](auto& p) { return p.first; });
    nlohmann::json entry = {
        {"type", name->second}, {"inputs", own.inputs}, {"outputs", own.outputs}};
    for (const Pooling pooling : own.poolings) entry["poolings"].push_back(pooling_name(pooling));
    if (own.kind == Kind::dense) {
      entry["bias"] = own.has_bias;
      entry["activation"] = own.activation;
    }
    list.push_back(std::move(entry));
  }
  return nlohmann::json{{"prompt", prompt}, {"modules", list}}.dump();
}

void SentenceConfig::check(unsigned size) const {
  bool is_pooled = false;
  for (const SentenceModule& own : modules) {
    const bool pools = own.kind == Kind::pooling;
    const std::size_t outputs = pools                     ? own.poolings.size() * own.inputs
                                : own.kind == Kind::dense ? own.outputs
                                                          : own.inputs;
    if (pools != is_pooled && own.inputs == size && own.outputs == outputs && outputs > 0) {
      is_pooled = true;
      size = own.outputs;
      continue;
    }
    throw UsageError(fmt::format(
        "[SentenceConfig] need one pooling, which comes first, and modules that fit: {} from {} "
        "to {}; got {} to {}",
        pools ? "a pooling" : "a module", size, outputs, own.inputs, own.outputs));
  }
  if (!is_pooled) throw UsageError("[SentenceConfig] need a pooling; got none");
  for (const SentenceModule& own : modules) {
    if (own.kind != Kind::dense || find_sentence_activation(own.activation) != nullptr) continue;
    throw UsageError(
        fmt::format("[SentenceConfig] need an activation of Identity, Tanh, ReLU, "
                    "GELU, SiLU and Sigmoid; got {}",
                    own.activation));
  }
}

}  // namespace dynet_like::nn::encoders
