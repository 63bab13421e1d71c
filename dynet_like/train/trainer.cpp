// Trainer: checks the gradients, then updates one parameter after the other.
#include "dynet_like/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/train/parameter_state.h"

namespace dynet_like {

namespace {

double element(DType dtype, const void* x, std::size_t i) {
  return dtype == DType::f32 ? static_cast<double>(static_cast<const float*>(x)[i])
                             : static_cast<const double*>(x)[i];
}

// The first element that is not finite.
std::optional<std::size_t> find_fault(DType dtype, const void* x, std::size_t n) {
  if (updates::all_finite(dtype, x, n)) return {};
  std::size_t i = 0;
  while (std::isfinite(element(dtype, x, i))) ++i;
  return i;
}

[[noreturn]] void refuse(const ParameterStorage& storage, double value, const std::string& place) {
  throw NumericError(fmt::format("[Trainer] need finite gradients; got {} for \"{}\", element {}",
                                 value, storage.name, place));
}

void check_finite(const Gradients& gradients, const ParameterStorage& storage) {
  if (const void* dense = gradients.find_dense(storage); dense != nullptr) {
    const auto fault = find_fault(storage.dtype, dense, storage.size());
    if (fault) refuse(storage, element(storage.dtype, dense, *fault), fmt::to_string(*fault));
  }
  if (const Gradients::Rows* rows = gradients.find_rows(storage); rows != nullptr) {
    const std::size_t entry = storage.entry_size();
    const void* values = rows->values.data();
    const auto fault = find_fault(storage.dtype, values, rows->rows.size() * entry);
    if (!fault) return;
    refuse(storage, element(storage.dtype, values, *fault),
           fmt::format("{} of row {}", *fault % entry, rows->rows[*fault / entry]));
  }
}

}  // namespace

Trainer::Trainer(ParameterCollection collection, float learning_rate,
                 std::shared_ptr<const UpdateRule> rule)
    : learning_rate(learning_rate), collection_(std::move(collection)), rule_(std::move(rule)) {}

Trainer::~Trainer() {
  for (const auto& parameter : parameters_) parameter->detach();
}

// Collections only grow, at the end.
void Trainer::find_parameters() {
  const auto storages = collection_.storages();
  for (std::size_t i = parameters_.size(); i < storages.size(); ++i) {
    parameters_.push_back(std::make_shared<ParameterState>(rule_, storages[i]));
  }
}

ParameterState* Trainer::find(const ParameterStorage& storage) const {
  for (const auto& parameter : parameters_) {
    if (&parameter->storage() == &storage) return parameter.get();
  }
  return nullptr;
}

// The factor that clips the gradients. Throws NumericError unless all of them are finite; a finite
// norm says that they are.
double Trainer::gradient_scale(const Gradients& gradients) const {
  const bool clips = clip_threshold > 0;
  const double norm = clips ? gradients.norm(collection_) : 0;
  for (const auto& parameter : parameters_) {
    if (clips && std::isfinite(norm)) break;
    if (parameter->storage().updated) check_finite(gradients, parameter->storage());
  }
  if (!std::isfinite(norm)) {
    throw NumericError(fmt::format("[Trainer] need a finite norm of the gradients; got {}", norm));
  }
  const double threshold = static_cast<double>(clip_threshold);
  return clips && norm > threshold ? threshold / norm : 1;
}

void Trainer::update(const Gradients& gradients) {
  if (!std::isfinite(learning_rate)) {
    throw UsageError(fmt::format("[Trainer] need a finite learning rate; got {}", learning_rate));
  }
  find_parameters();
  // All that can fail comes first.
  const Step step = {rule_->rate(static_cast<double>(learning_rate), updates_ + 1),
                     gradient_scale(gradients)};
  for (const auto& parameter : parameters_) {
    if (parameter->storage().updated) parameter->prepare();
  }
  const bool exact = sparse_updates == SparseUpdates::exact;
  for (const auto& parameter : parameters_) {
    const ParameterStorage& storage = parameter->storage();
    if (!storage.updated) continue;
    const void* dense = gradients.find_dense(storage);
    const Gradients::Rows* rows = gradients.find_rows(storage);
    if (storage.is_table && exact) {
      parameter->update_rows_exactly(rows, step);
    } else if (storage.is_table) {
      parameter->update_rows(rows, step);
    } else if (dense != nullptr || exact) {
      parameter->update_all(dense, step);
    }
  }
  ++updates_;
}

void Trainer::enable_clipping(float threshold) {
  if (!(threshold > 0)) {
    throw UsageError(fmt::format("[Trainer] need a clipping threshold above 0; got {}", threshold));
  }
  clip_threshold = threshold;
}

void Trainer::restart() {
  for (const auto& parameter : parameters_) parameter->forget();
  updates_ = 0;
}

void Trainer::restart(float learning_rate) {
  restart();
  this->learning_rate = learning_rate;
}

TrainerState Trainer::state() {
  find_parameters();
  TrainerState state{rule_->description(), updates_,       learning_rate,
                     clip_threshold,       sparse_updates, {}};
  const std::vector<std::string> names = rule_->moments();
  const auto storages = collection_.storages();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i]->refresh_all();
    for (std::size_t j = 0; parameters_[i]->prepared() && j < names.size(); ++j) {
      state.moments.push_back({storages[i], names[j], parameters_[i]->moment(j)});
    }
  }
  return state;
}

void Trainer::check(const TrainerState& state) const {
  if (state.kind != rule_->description()) {
    throw UsageError(fmt::format("[Trainer] need the state of {}; got that of {}",
                                 rule_->description(), state.kind));
  }
  const std::vector<std::string> names = rule_->moments();
  std::set<std::pair<const ParameterStorage*, std::string>> known;
  for (const TrainerState::Moment& moment : state.moments) {
    const ParameterStorage& storage = *moment.parameter;
    const bool expected = std::find(names.begin(), names.end(), moment.name) != names.end();
    if (!expected || find(storage) == nullptr || !known.emplace(&storage, moment.name).second) {
      throw UsageError(
          fmt::format("[Trainer] need moments that {} has for its parameters, once each; got "
                      "\"{}\" of \"{}\"",
                      state.kind, moment.name, storage.name));
    }
    if (moment.values.d != storage.dim || moment.values.dtype() != storage.dtype) {
      throw UsageError(fmt::format("[Trainer] need {} {} for \"{}\" of \"{}\"; got {} {}",
                                   name_of(storage.dtype), to_string(storage.dim), moment.name,
                                   storage.name, name_of(moment.values.dtype()),
                                   to_string(moment.values.d)));
    }
  }
  for (const TrainerState::Moment& moment : state.moments) {
    for (const std::string& name : names) {
      if (known.contains({moment.parameter.get(), name})) continue;
      throw UsageError(fmt::format("[Trainer] need all moments of \"{}\"; got none named \"{}\"",
                                   moment.parameter->name, name));
    }
  }
}

void Trainer::load_state(const TrainerState& state) {
  find_parameters();
  check(state);
  std::set<const ParameterState*> with_moments;
  for (const TrainerState::Moment& moment : state.moments) {
    ParameterState* parameter = find(*moment.parameter);
    parameter->prepare();
    with_moments.insert(parameter);
  }
  for (const auto& parameter : parameters_) {
    with_moments.contains(parameter.get()) ? parameter->refresh_all() : parameter->forget();
  }
  const std::vector<std::string> names = rule_->moments();
  for (const TrainerState::Moment& moment : state.moments) {
    const auto name = std::find(names.begin(), names.end(), moment.name);
    const auto i = static_cast<std::size_t>(name - names.begin());
    // The view may be of this trainer's own memory.
    std::memmove(find(*moment.parameter)->moment(i).data(), moment.values.data(),
                 moment.values.d.size() * size_of(moment.values.dtype()));
  }
  updates_ = state.updates;
  learning_rate = state.learning_rate;
  clip_threshold = state.clip_threshold;
  sparse_updates = state.sparse_updates;
}

}  // namespace dynet_like
