// The files of an encoder: which tensors they must have, and under which names.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/io/atomic_file.h"
#include "dynet_like/io/input_file.h"
#include "dynet_like/io/model_file.h"
#include "dynet_like/io/tensor_file.h"
#include "nn/encoders/encoder.h"
#include "nn/encoders/encoder_parameters.h"
#include "nn/encoders/shards.h"

namespace dynet_like::nn {

using namespace encoders;
namespace fs = std::filesystem;

namespace {

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kConfig = "config.json";
constexpr std::uint64_t kMostIndexBytes = 1 << 26;

// Names, after a family's prefix, of what belongs to a task or is computed: poolers, heads, and
// tables of numbers.
// clang-format off
constexpr const char* kIgnored[] = {
    "pooler.", "cls.", "lm_head.", "classifier.", "qa_outputs.", "score.", "head.", "decoder.",
    "pre_classifier.", "vocab_transform.", "vocab_layer_norm.", "vocab_projector.", "summary.",
    "mask_predictions.", "lm_predictions.", "discriminator_predictions.", "generator_predictions.",
    "generator_lm_head.", "embeddings.position_ids", "embeddings.token_type_ids"};
// clang-format on

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

[[noreturn]] void fail(const std::string& file, const std::string& need, const std::string& got) {
  throw FileError(file, fmt::format("[load_encoder] need {}; got {}", need, got));
}

// The tensors of one file, or of several shards.
class Tensors {
 public:
  Tensors(const fs::path& folder, const Family& family) : family_(family) {
    const bool is_whole = is_there(folder / kWeights) || !is_there(folder / kIndex);
    name_ = (folder / (is_whole ? kWeights : kIndex)).string();
    if (is_whole && !is_there(folder / kWeights)) {
      fail(name_, "this file, or the index of shards " + std::string(kIndex),
           is_there(folder / "pytorch_model.bin") ? "pytorch_model.bin alone: save it again with "
                                                    "save_pretrained(..., safe_serialization=True)"
                                                  : "neither");
    }
    std::set<std::string> names = {kWeights};
    if (!is_whole) {
      names =
          shard_names(dynet_like::detail::read_text(name_, "load_encoder", kMostIndexBytes), name_);
    }
    for (const std::string& name : names) {
      files_.push_back(SafetensorsFile::read(folder / name));
    }
    for (const SafetensorsFile& file : files_) {
      for (const TensorEntry& entry : file.entries()) {
        const auto [place, is_new] = all_.try_emplace(entry.name, &file);
        if (!is_new) fail(file.name(), "tensors with a name of their own", entry.name + " twice");
      }
    }
    const std::string first = family.names.front().published + ".weight";
    if (!all_.contains(first) && all_.contains(family.prefix + first)) prefix_ = family.prefix;
  }

  // The name in the file of a parameter, also if the file has an old name for it.
  std::string name_of(const EncoderTensor& tensor) const {
    const std::string name = prefix_ + tensor.published;
    if (all_.contains(name) || tensor.is_table || tensor.shape.size() == 2) return name;
    const std::size_t stem = name.rfind('.') + 1;
    const std::string old = name.substr(0, stem) + (tensor.is_bias ? "beta" : "gamma");
    return all_.contains(old) ? old : name;
  }

  // Throws unless the files have exactly these tensors, besides those that are ignored.
  void check(const std::vector<EncoderTensor>& wanted, DType dtype) const {
    std::set<std::string> names;
    for (const EncoderTensor& tensor : wanted) {
      const std::string& name = *names.insert(name_of(tensor)).first;
      const auto found = all_.find(name);
      if (found == all_.end()) fail_missing(name);
      const TensorEntry& entry = *found->second->find(name);
      const bool is_convertible =
          entry.dtype == safetensors_name(dtype) || entry.dtype == "F16" || entry.dtype == "BF16";
      if (is_convertible && entry.shape == tensor.shape) continue;
      fail(found->second->name(),
           fmt::format("{} [{}] for {}", safetensors_name(dtype), fmt::join(tensor.shape, ", "),
                       name),
           fmt::format("{} [{}]", entry.dtype, fmt::join(entry.shape, ", ")));
    }
    for (const auto& [name, file] : all_) {
      if (names.contains(name) || is_ignored(name)) continue;
      fail(file->name(), "no tensors but those of a " + family_.defaults.model_type + " encoder",
           name);
    }
  }

  void load(const EncoderTensor& tensor, const std::shared_ptr<ParameterStorage>& to) const {
    const std::string name = name_of(tensor);
    const SafetensorsFile& file = *all_.at(name);
    if (tensor.is_table) {
      load_parameter(file, name, LookupParameter(to));
    } else {
      load_parameter(file, name, Parameter(to));
    }
  }

 private:
  bool is_ignored(std::string_view name) const {
    if (name.starts_with(family_.prefix)) name.remove_prefix(family_.prefix.size());
    return std::ranges::any_of(kIgnored,
                               [&](const char* known) { return name.starts_with(known); });
  }

  [[noreturn]] void fail_missing(const std::string& name) const {
    fail(name_, "the tensor " + name,
         dynet_like::detail::counted(all_.size(), "tensor") +
             dynet_like::detail::nearest_keys_text(name, all_));
  }

  const Family& family_;
  std::string name_, prefix_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, const SafetensorsFile*> all_;
};

}  // namespace

Encoder load_encoder(ParameterCollection& model, const std::string& folder,
                     const LayerOptions& options) {
  const EncoderConfig config = EncoderConfig::read((fs::path(folder) / kConfig).string());
  const Family& family = *find_family(config.model_type);
  const Tensors tensors(folder, family);
  const std::vector<EncoderTensor> wanted = tensors_of(family, config);
  tensors.check(wanted, model.dtype());
  const Encoder encoder = Encoder::without_weights(model, config, options);
  for (const EncoderTensor& tensor : wanted) {
    tensors.load(tensor, encoder.parameters_->storage_of(tensor));
  }
  return encoder;
}

void Encoder::save(const std::string& folder) const {
  if (has_unmerged_adapters(*parameters_)) {
    throw UsageError("[Encoder] need adapters that are merged to save " + folder +
                     "; got others: call merge_adapters()");
  }
  namespace files = dynet_like::detail::tensor_file;
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
