// The state of a trainer: how it is made, checked and loaded.
#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/train/parameter_state.h"
#include "dynet_like/train/trainer.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like {

using namespace detail;

namespace {

void check_shape(const ParameterStorage& storage, const std::string& what, const Tensor& values) {
  if (values.d == storage.dim && values.dtype() == storage.dtype) return;
  throw UsageError(fmt::format("[Trainer] need {} {} for \"{}\" of \"{}\"; got {} {}",
                               name_of(storage.dtype), to_string(storage.dim), what, storage.name,
                               name_of(values.dtype()), to_string(values.d)));
}

std::vector<ParameterAverages::Average> copies_of(const TrainerState& state) {
  std::vector<ParameterAverages::Average> copies;
  for (const TrainerState::Average& average : state.averages) {
    Device& device = average.parameter->device();
    copies.push_back({average.parameter,
                      average.count,
                      Block(bytes_of(*average.parameter), device.memory()),
                      {}});
    Block& values = copies.back().values;
    device.write(values.data(), average.values.data(), values.size());
  }
  return copies;
}

// The parameter's numbers in memory of this process: a device's are copied.
Tensor view_of(const ParameterStorage& storage, std::byte* values, TrainerState& state) {
  if (!storage.device().is_cpu()) {
    const auto copy = std::make_shared<const Block>(bytes_of(storage));
    storage.device().read(copy->data(), values, copy->size());
    state.copies.push_back(copy);
    values = copy->data();
  }
  return Tensor(storage.dim, storage.dtype, values);
}

using Parameters = std::span<const std::shared_ptr<ParameterState>>;

ParameterState* find(Parameters parameters, const ParameterStorage& storage) {
  for (const auto& parameter : parameters) {
    if (&parameter->storage() == &storage) return parameter.get();
  }
  return nullptr;
}

// `names`: the names of the rule's moments.
void check_moments(const TrainerState& state, Parameters parameters,
                   std::span<const std::string> names) {
  std::set<std::pair<const ParameterStorage*, std::string>> known;
  for (const TrainerState::Moment& moment : state.moments) {
    const ParameterStorage& storage = *moment.parameter;
    const bool expected = std::find(names.begin(), names.end(), moment.name) != names.end();
    if (!expected || find(parameters, storage) == nullptr ||
        !known.emplace(&storage, moment.name).second) {
      throw UsageError(
          fmt::format("[Trainer] need moments that {} has for its parameters, once each; got "
                      "\"{}\" of \"{}\"",
                      state.kind, moment.name, storage.name));
    }
    check_shape(storage, moment.name, moment.values);
  }
  for (const TrainerState::Moment& moment : state.moments) {
    for (const std::string& name : names) {
      if (known.contains({moment.parameter.get(), name})) continue;
      throw UsageError(fmt::format("[Trainer] need all moments of \"{}\"; got none named \"{}\"",
                                   moment.parameter->name, name));
    }
  }
}

void check_averages(const TrainerState& state, Parameters parameters) {
  state.moving_average.check();
  std::set<const ParameterStorage*> known;
  for (const auto& [parameter, count, values] : state.averages) {
    if (state.moving_average.kind == MovingAverage::None || count == 0 ||
        find(parameters, *parameter) == nullptr || !known.insert(parameter.get()).second) {
      throw UsageError(
          fmt::format("[Trainer] need averages of some values of its parameters, once each, and "
                      "none without averaging; got one of {} of \"{}\"",
                      counted(count, "value"), parameter->name));
    }
    check_shape(*parameter, "average", values);
  }
}

}  // namespace

std::string Trainer::kind() const {
  std::string kind = rule_->description();
  if (cycle_) kind += " with " + cycle_->description();
  if (!groups_.all().empty()) kind += " with groups " + groups_.description();
  return kind;
}

std::map<std::string, std::string> Trainer::settings() const {
  return {{"kind", kind()},
          {"collection", collection_.get_fullname()},
          {"learning rate", fmt::to_string(learning_rate)},
          {"clipping threshold", fmt::to_string(clip_threshold)},
          {"weight decay", fmt::to_string(weight_decay)},
          {"sparse updates", sparse_updates == SparseUpdates::lazy ? "lazy" : "exact"},
          {"moving average", averages_.settings.description()},
          {"weights", averages_.swapped() ? "averages in their place" : "in their place"}};
}

TrainerState Trainer::state() {
  finish_update();
  averages_.check_not_swapped();
  const auto storages = find_parameters();
  TrainerState state;
  state.kind = kind();
  state.updates = updates_;
  state.clipped_updates = clipped_updates_;
  state.learning_rate = learning_rate;
  state.clip_threshold = clip_threshold;
  state.weight_decay = weight_decay;
  state.sparse_updates = sparse_updates;
  const std::vector<std::string> names = rule_->moments();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i]->refresh_all();
    for (std::size_t j = 0; parameters_[i]->prepared() && j < names.size(); ++j) {
      state.moments.push_back(
          {storages[i], names[j], view_of(*storages[i], parameters_[i]->moment(j), state)});
    }
  }
  state.moving_average = averages_.settings;
  for (const ParameterAverages::Average& average : averages_.all()) {
    const ParameterStorage& storage = *average.parameter;
    state.averages.push_back(
        {average.parameter, average.count, view_of(storage, average.values.data(), state)});
  }
  return state;
}

std::unique_ptr<Trainer> Trainer::copy() {
  TrainerState from = state();
  std::unique_ptr<Trainer> result(new Trainer(collection_.copy(), learning_rate, rule_));
  result->cycle_ = cycle_;
  result->set_groups(groups_.all());
  for (TrainerState::Moment& moment : from.moments) {
    moment.parameter = result->collection_.find(moment.parameter->name);
  }
  for (TrainerState::Average& average : from.averages) {
    average.parameter = result->collection_.find(average.parameter->name);
  }
  result->load_state(from);
  return result;
}

void Trainer::load_state(const TrainerState& state) {
  find_parameters();
  if (state.kind != kind()) {
    throw UsageError(
        fmt::format("[Trainer] need the state of {}; got that of {}", kind(), state.kind));
  }
  averages_.check_not_swapped();
  const std::vector<std::string> names = rule_->moments();
  check_moments(state, parameters_, names);
  check_averages(state, parameters_);
  std::vector<ParameterAverages::Average> averages = copies_of(state);
  std::set<const ParameterState*> with_moments;
  for (const TrainerState::Moment& moment : state.moments) {
    ParameterState* parameter = find(parameters_, *moment.parameter);
    parameter->prepare();
    with_moments.insert(parameter);
  }
  averages_.replace(std::move(averages));
  // From here on nothing fails.
  is_unfinished_ = false;
  for (const auto& parameter : parameters_) {
    with_moments.contains(parameter.get()) ? parameter->refresh_all() : parameter->forget();
  }
  for (const TrainerState::Moment& moment : state.moments) {
    const auto name = std::find(names.begin(), names.end(), moment.name);
    const auto i = static_cast<std::size_t>(name - names.begin());
    std::byte* const to = find(parameters_, *moment.parameter)->moment(i);
    if (to == moment.values.data()) continue;  // a view of this trainer's own memory
    moment.parameter->device().write(to, moment.values.data(), bytes_of(*moment.parameter));
  }
  averages_.settings = state.moving_average;
  updates_ = state.updates;
  clipped_updates_ = state.clipped_updates;
  learning_rate = state.learning_rate;
  clip_threshold = state.clip_threshold;
  weight_decay = state.weight_decay;
  sparse_updates = state.sparse_updates;
}

}  // namespace dynet_like
