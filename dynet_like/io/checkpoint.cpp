// Checkpoints: model files that also have the trainer's moments and averages.
#include "dynet_like/io/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/memory.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/io/safetensors_header.h"
#include "dynet_like/io/tensor_file.h"

namespace dynet_like {

using namespace detail;

namespace {

using safetensors::shown;
using tensor_file::NamedTensor;

constexpr const char* kTrainerKind = "dynet_like.trainer";
constexpr const char* kUpdates = "dynet_like.updates";
constexpr const char* kLearningRate = "dynet_like.learning_rate";
constexpr const char* kClipThreshold = "dynet_like.clip_threshold";
constexpr const char* kSparseUpdates = "dynet_like.sparse_updates";
constexpr std::array kSparseModes = {"lazy", "exact"};  // in the enum's order
constexpr const char* kClippedUpdates = "dynet_like.clipped_updates";
constexpr const char* kWeightDecay = "dynet_like.weight_decay";
constexpr const char* kMovingAverage = "dynet_like.moving_average";
constexpr const char* kAverageBeta = "dynet_like.moving_average_beta";
constexpr const char* kAverageFrequency = "dynet_like.moving_average_update_freq";
// Followed by the parameter's name: the number of values in its average.
constexpr const char* kAverageCount = "dynet_like.moving_average_count";
constexpr const char* kSeed = "dynet_like.random_seed";
constexpr const char* kPosition = "dynet_like.random_position";

template <class Number>
std::optional<Number> parse(const std::string& text) {
  Number number = {};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return {};
  return number;
}

// The library's own metadata of a file. Keys that were added in later versions are optional, all
// others required.
struct Settings {
  const std::string& path;
  const Metadata& metadata;

  const std::string& text(const char* key) const {
    const auto found = metadata.find(key);
    if (found == metadata.end()) {
      tensor_file::fail(path, fmt::format("a checkpoint with {} in its metadata", shown(key)),
                        "none");
    }
    return found->second;
  }

  template <class Number>
  Number number(const char* key) const {
    const std::optional<Number> number = parse<Number>(text(key));
    if (!number) tensor_file::fail(path, "a number as " + shown(key), shown(text(key)));
    return *number;
  }

  template <class Number>
  Number number(const char* key, Number otherwise) const {
    return metadata.contains(key) ? number<Number>(key) : otherwise;
  }

  SparseUpdates sparse_updates() const {
    const std::string& mode = text(kSparseUpdates);
    const auto known = std::find(kSparseModes.begin(), kSparseModes.end(), mode);
    if (known == kSparseModes.end()) {
      tensor_file::fail(path, "lazy or exact as " + shown(kSparseUpdates), shown(mode));
    }
    return static_cast<SparseUpdates>(known - kSparseModes.begin());
  }

  MovingAverageSettings moving_average() const {
    if (!metadata.contains(kMovingAverage)) return {};
    const std::string& kind = text(kMovingAverage);
    if (kind != "cumulative" && kind != "exponential") {
      tensor_file::fail(path, "cumulative or exponential as " + shown(kMovingAverage), shown(kind));
    }
    return {kind == "cumulative" ? MovingAverage::Cumulative : MovingAverage::Exponential,
            number<float>(kAverageBeta), number<unsigned>(kAverageFrequency)};
  }

  std::uint64_t count_of(const TrainerState::Average& average) const {
    return number<std::uint64_t>((kAverageCount + average.parameter->name).c_str());
  }
};

// The moment "mean" of "/lstm/W" is the tensor "trainer/mean/lstm/W". No moment is named "average".
NamedTensor tensor_of(const TrainerState::Moment& moment) {
  return {std::string(tensor_file::kTrainer) + moment.name + moment.parameter->name, moment.values,
          moment.parameter->is_table};
}

constexpr const char* kAverage = "average";

NamedTensor tensor_of(const TrainerState::Average& average) {
  return tensor_of(TrainerState::Moment{average.parameter, kAverage, average.values});
}

// The moments and averages of a file, copied to memory of their own.
struct LoadedTensors {
  std::vector<TrainerState::Moment> moments;
  std::vector<TrainerState::Average> averages;
  std::vector<Block> memory;

  LoadedTensors(const std::string& path, const SafetensorsFile& file,
                const ParameterCollection& collection) {
    std::vector<NamedTensor> tensors;
    for (const TensorEntry& entry : file.entries()) {
      if (!entry.name.starts_with(tensor_file::kTrainer)) continue;
      tensors.push_back(add(path, entry.name, collection));
    }
    tensor_file::check(file, tensors, false);
    tensor_file::read(file, tensors);
  }

  NamedTensor add(const std::string& path, const std::string& name,
                  const ParameterCollection& collection) {
    const std::string rest = name.substr(tensor_file::kTrainer.size());
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const CollectionStorage& known = collection.get_storage();
    const auto found = known.by_name.find(rest.substr(slash));
    if (found == known.by_name.end()) {
      tensor_file::fail(path, "moments of the collection's parameters",
                        shown(name) + nearest_keys_text(rest.substr(slash), known.by_name));
    }
    std::shared_ptr<ParameterStorage> parameter = known.all[found->second];
    memory.emplace_back(parameter->size() * size_of(parameter->dtype));
    Tensor values(parameter->dim, parameter->dtype, memory.back().data());
    TrainerState::Moment moment = {std::move(parameter), rest.substr(0, slash), values};
    NamedTensor tensor = tensor_of(moment);
    if (moment.name == kAverage) {
      averages.push_back({std::move(moment.parameter), 0, values});
    } else {
      moments.push_back(std::move(moment));
    }
    return tensor;
  }
};

void add(const MovingAverageSettings& settings, std::span<const TrainerState::Average> averages,
         Metadata& metadata) {
  if (settings.kind == MovingAverage::None) return;
  const bool is_cumulative = settings.kind == MovingAverage::Cumulative;
  metadata[kMovingAverage] = is_cumulative ? "cumulative" : "exponential";
  metadata[kAverageBeta] = fmt::to_string(settings.beta);
  metadata[kAverageFrequency] = fmt::to_string(settings.update_freq);
  for (const TrainerState::Average& average : averages) {
    metadata[kAverageCount + average.parameter->name] = fmt::to_string(average.count);
  }
}

}  // namespace

void save_checkpoint(const std::string& path, const ParameterCollection& collection,
                     Trainer& trainer, const Random& random, const Metadata& metadata) {
  tensor_file::check_keys(metadata);
  const TrainerState state = trainer.state();
  std::vector<NamedTensor> tensors = tensor_file::tensors_of(collection.storages());
  for (const TrainerState::Moment& moment : state.moments) tensors.push_back(tensor_of(moment));
  for (const TrainerState::Average& average : state.averages) tensors.push_back(tensor_of(average));
  Metadata all = metadata;
  all[kTrainerKind] = state.kind;
  all[kUpdates] = fmt::to_string(state.updates);
  all[kLearningRate] = fmt::to_string(state.learning_rate);
  all[kClipThreshold] = fmt::to_string(state.clip_threshold);
  all[kSparseUpdates] = kSparseModes[static_cast<std::size_t>(state.sparse_updates)];
  all[kClippedUpdates] = fmt::to_string(state.clipped_updates);
  all[kWeightDecay] = fmt::to_string(state.weight_decay);
  add(state.moving_average, state.averages, all);
  all[kSeed] = fmt::to_string(random.seed());
  all[kPosition] = fmt::to_string(random.position());
  write_safetensors(path, tensor_file::entries_of(tensors).entries, all);
}

Metadata load_checkpoint(const std::string& path, const ParameterCollection& collection,
                         Trainer& trainer, Random& random) {
  const SafetensorsFile file = SafetensorsFile::read(path);
  const Settings settings{path, file.metadata()};
  const tensor_file::Parameters parameters = collection.storages();
  const std::vector<NamedTensor> tensors = tensor_file::tensors_of(parameters);
  tensor_file::check(file, tensors, true);
  LoadedTensors loaded(path, file, collection);
  TrainerState state;
  state.kind = settings.text(kTrainerKind);
  state.updates = settings.number<std::uint64_t>(kUpdates);
  state.learning_rate = settings.number<float>(kLearningRate);
  state.clip_threshold = settings.number<float>(kClipThreshold);
  state.clipped_updates = settings.number<std::uint64_t>(kClippedUpdates, 0);
  state.weight_decay = settings.number<float>(kWeightDecay, 0);
  state.sparse_updates = settings.sparse_updates();
  state.moving_average = settings.moving_average();
  for (TrainerState::Average& average : loaded.averages) average.count = settings.count_of(average);
  state.moments = std::move(loaded.moments);
  state.averages = std::move(loaded.averages);
  const Random position(settings.number<std::uint64_t>(kSeed),
                        settings.number<std::uint64_t>(kPosition));
  Metadata metadata = tensor_file::user_metadata(file);
  try {
    trainer.load_state(state);  // changes nothing if it throws; nothing throws after it
  } catch (const UsageError& error) {
    throw FileError(path, error.what());
  }
  tensor_file::read(file, tensors, parameters);
  random = position;
  return metadata;
}

std::string number_text(double number) { return fmt::to_string(number); }

double number_of(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  const std::string text = found == metadata.end() ? "" : found->second;
  const std::optional<double> number = parse<double>(text);
  if (!number) {
    throw UsageError(fmt::format(
        "[number_of] need a number under {}; got {}", shown(key),
        found == metadata.end() ? "no such key" + nearest_keys_text(key, metadata) : shown(text)));
  }
  return *number;
}

}  // namespace dynet_like
