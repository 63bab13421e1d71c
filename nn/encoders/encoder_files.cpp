// The files of an encoder: which tensors they must have, and under which names.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/io/atomic_file.h"
#include "dynet_like/io/input_file.h"
#include "dynet_like/io/tensor_file.h"
#include "nn/encoders/encoder.h"
#include "nn/encoders/encoder_parameters.h"
#include "nn/encoders/shards.h"

namespace dynet_like::nn {

using namespace encoders;
namespace fs = std::filesystem;
namespace files = dynet_like::detail::tensor_file;

namespace {

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kConfig = "config.json";
constexpr std::uint64_t kMostIndexBytes = 1 << 26;

// The beginnings of names, without a prefix such as "bert.", of what belongs to a task or is
// computed: poolers, heads, and tables of numbers.
// clang-format off
constexpr const char* kIgnored[] = {
    "pooler.", "cls.", "lm_head.", "classifier.", "qa_outputs.", "score.", "head.", "decoder.",
    "pre_classifier.", "vocab_transform.", "vocab_layer_norm.", "vocab_projector.", "summary.",
    "sequence_summary.", "mask_predictions.", "lm_predictions.", "discriminator_predictions.",
    "generator_predictions.", "generator_lm_head.", "embeddings.position_ids",
    "embeddings.token_type_ids"};
// clang-format on

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

[[noreturn]] void fail(const std::string& file, const std::string& need, const std::string& got) {
  throw FileError(file, fmt::format("[load_encoder] need {}; got {}", need, got));
}

// The files with the tensors of a folder: one, or several shards.
struct WeightFiles {
  std::string name;  // of the one file, or of the index of shards
  std::vector<SafetensorsFile> files;

  explicit WeightFiles(const fs::path& folder) {
    const bool is_whole = is_there(folder / kWeights) || !is_there(folder / kIndex);
    name = (folder / (is_whole ? kWeights : kIndex)).string();
    if (is_whole && !is_there(folder / kWeights)) {
      fail(name, "this file, or the index of shards " + std::string(kIndex),
           is_there(folder / "pytorch_model.bin") ? "pytorch_model.bin alone: save it again with "
                                                    "save_pretrained(..., safe_serialization=True)"
                                                  : "neither");
    }
    std::set<std::string> names = {kWeights};
    if (!is_whole) {
      names =
          shard_names(dynet_like::detail::read_text(name, "load_encoder", kMostIndexBytes), name);
    }
    for (const std::string& each : names) files.push_back(SafetensorsFile::read(folder / each));
  }
};

std::string text_of(std::string_view dtype, const std::vector<std::uint64_t>& shape) {
  return fmt::format("{} [{}]", dtype, fmt::join(shape, ", "));
}

bool fits(const TensorEntry& entry, const EncoderTensor& tensor) {
  return files::is_float(entry) && entry.shape == tensor.shape;
}

// The tensors of a folder by the names of an encoder's parameters.
class Tensors {
 public:
  Tensors(const fs::path& folder, const std::vector<EncoderTensor>& wanted) : files_(folder) {
    for (const SafetensorsFile& file : files_.files) {
      for (const TensorEntry& entry : file.entries()) {
        const auto [place, is_new] = all_.try_emplace(entry.name, Place{&file, &entry});
        if (!is_new) fail(file.name(), "tensors with a name of their own", entry.name + " twice");
      }
    }
    add_other_names();
    prefix_ = find_prefix(wanted);
  }

  struct Place {
    const SafetensorsFile* file = nullptr;
    const TensorEntry* entry = nullptr;
  };

  // Where a parameter is, perhaps under an old name; no entry if it is missing.
  Place find(const EncoderTensor& tensor) const {
    const std::string name = prefix_ + tensor.published;
    const auto found = all_.find(name);
    if (found != all_.end()) return found->second;
    if (tensor.is_table || tensor.shape.size() == 2) return {};
    const std::size_t stem = name.rfind('.') + 1;
    const auto old = all_.find(name.substr(0, stem) + (tensor.is_bias ? "beta" : "gamma"));
    return old == all_.end() ? Place{} : old->second;
  }

  // What becomes of the parameters, and the tensors that are neither parameters nor ignored.
  LoadReport report(const std::vector<EncoderTensor>& wanted, DType dtype) const {
    LoadReport report;
    std::set<const TensorEntry*> used;
    for (const EncoderTensor& tensor : wanted) {
      const TensorEntry* const entry = find(tensor).entry;
      used.insert(entry);
      if (entry == nullptr) {
        report.missing.push_back(prefix_ + tensor.published);
      } else if (fits(*entry, tensor)) {
        report.loaded.push_back(entry->name);
      } else {
        report.mismatched.push_back({entry->name, text_of(safetensors_name(dtype), tensor.shape),
                                     text_of(entry->dtype, entry->shape)});
      }
    }
    for (const auto& [name, place] : all_) {
      const bool is_other_name = place.entry->name != name;
      if (used.contains(place.entry) || is_other_name || is_ignored(name)) continue;
      report.left_over.push_back(name);
    }
    return report;
  }

  // Throws unless the encoder was found as it is.
  void check(const LoadReport& report, const std::string& family) const {
    if (!report.missing.empty()) {
      const std::string& name = report.missing.front();
      fail(files_.name, "the tensor " + name,
           dynet_like::detail::counted(all_.size(), "tensor") +
               dynet_like::detail::nearest_keys_text(name, all_));
    }
    if (!report.mismatched.empty()) {
      const auto& [name, own, found] = report.mismatched.front();
      fail(all_.at(name).file->name(), own + " for " + name, found);
    }
    if (report.left_over.empty()) return;
    const auto [file, entry] = all_.at(report.left_over.front());
    fail(file->name(), "no tensors but those of a " + family + " encoder",
         fmt::format("{}, {}: if it belongs to a head, pass EncoderFileOptions::report",
                     entry->name, text_of(entry->dtype, entry->shape)));
  }

 private:
  // Of tensors that share their memory, safetensors keeps one. The metadata have the other names,
  // each with the name that is there.
  void add_other_names() {
    for (const SafetensorsFile& file : files_.files) {
      for (const auto& [name, kept] : file.metadata()) {
        const TensorEntry* const entry = file.find(kept);
        if (entry != nullptr) all_.try_emplace(name, Place{&file, entry});
      }
    }
  }

  // What stands in front of most of the parameters' names: "bert." in a model with a head.
  std::string find_prefix(const std::vector<EncoderTensor>& wanted) const {
    std::set<std::string_view> names;
    for (const EncoderTensor& tensor : wanted) names.insert(tensor.published);
    std::map<std::string, std::size_t> counts = {{"", 0}};
    for (const auto& [name, place] : all_) {
      for (std::size_t begin = 0; begin != name.npos;) {
        if (names.contains(std::string_view(name).substr(begin))) ++counts[name.substr(0, begin)];
        const std::size_t point = name.find('.', begin);
        begin = point == name.npos ? name.npos : point + 1;
      }
    }
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto most = std::ranges::max_element(counts, by_count);
    for (const auto& [prefix, count] : counts) {
      if (count == 0 || count < most->second || prefix == most->first) continue;
      fail(files_.name, "the tensors of one encoder",
           "two, which begin with " + most->first + " and " + prefix);
    }
    return most->first;
  }

  bool is_ignored(std::string_view name) const {
    if (name.starts_with(prefix_)) name.remove_prefix(prefix_.size());
    return name.ends_with(".inv_freq") || std::ranges::any_of(kIgnored, [&](const char* known) {
             return name.starts_with(known);
           });
  }

  WeightFiles files_;
  std::map<std::string, Place> all_;
  std::string prefix_;
};

}  // namespace

Encoder load_encoder(ParameterCollection& model, const std::string& folder,
                     const EncoderFileOptions& options) {
  const EncoderConfig config = EncoderConfig::read((fs::path(folder) / kConfig).string());
  const std::vector<EncoderTensor> wanted = tensors_of(*find_family(config.model_type), config);
  const Tensors tensors(folder, wanted);
  LoadReport report = tensors.report(wanted, model.dtype());
  if (options.report == nullptr) tensors.check(report, config.model_type);
  const LayerOptions own = {.name = options.name};
  const bool is_whole = report.loaded.size() == wanted.size();
  const Encoder encoder =
      is_whole ? Encoder::without_weights(model, config, own) : Encoder(model, config, own);
  for (const EncoderTensor& tensor : wanted) {
    const TensorEntry* const entry = tensors.find(tensor).entry;
    if (entry == nullptr || !fits(*entry, tensor)) continue;
    files::read_into(*entry, encoder.parameters_->storage_of(tensor));
  }
  if (options.report != nullptr) *options.report = std::move(report);
  return encoder;
}

void Encoder::save(const std::string& folder) const {
  if (has_unmerged_adapters(*parameters_)) {
    throw UsageError("[Encoder] need adapters that are merged to save " + folder +
                     "; got others: call merge_adapters()");
  }
  const std::vector<EncoderTensor> own = tensors_of(*parameters_->family, config());
  files::Parameters storages;
  for (const EncoderTensor& tensor : own) storages.push_back(parameters_->storage_of(tensor));
  std::vector<files::NamedTensor> named = files::tensors_of(storages);
  for (std::size_t i = 0; i < named.size(); ++i) named[i].name = own[i].published;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw FileError(folder, "[Encoder] need a folder to write to; got " + error.message());
  dynet_like::detail::write_atomically(fs::path(folder) / kConfig, config().to_text());
  write_safetensors(fs::path(folder) / kWeights, files::entries_of(named).entries,
                    {{"format", "pt"}});
}

}  // namespace dynet_like::nn
