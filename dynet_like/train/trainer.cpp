// Trainer: checks the gradients, then updates one parameter after the other.
#include "dynet_like/train/trainer.h"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/train/apply_on_cpu.h"
#include "dynet_like/train/parameter_state.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like {

namespace {

struct Fault {
  std::size_t at;
  double value;
};

// The first element that is not finite.
std::optional<Fault> find_fault(const ParameterStorage& storage, const Stretch& stretch) {
  const std::size_t bytes = stretch.count * size_of(storage.dtype);
  const Block copy(bytes);
  storage.device().read(copy.data(), stretch.begin, bytes);
  const Tensor numbers(Dim({static_cast<unsigned>(stretch.count)}), storage.dtype, copy.data());
  for (std::size_t i = 0; i < stretch.count; ++i) {
    if (!std::isfinite(numbers.at(i))) return Fault{i, numbers.at(i)};
  }
  return {};
}

[[noreturn]] void refuse(const ParameterStorage& storage, double value, const std::string& place) {
  throw NumericError(fmt::format("[Trainer] need finite gradients; got {} for \"{}\", element {}",
                                 value, storage.name, place));
}

// All in one pass; what is wrong is looked for only then.
void check_finite(const Gradients& gradients, std::span<const ParameterStorage* const> storages) {
  if (storages.empty()) return;
  std::vector<Stretch> all;
  for (const ParameterStorage* storage : storages) {
    for (const Stretch& stretch : gradients.stretches(*storage)) all.push_back(stretch);
  }
  const ParameterStorage& any = *storages.front();
  if (any.device().updates().all_finite(any.dtype, all)) return;
  for (const ParameterStorage* storage : storages) {
    for (const Stretch& stretch : gradients.stretches(*storage)) {
      const auto fault = find_fault(*storage, stretch);
      if (!fault) continue;
      if (!storage->is_table) refuse(*storage, fault->value, fmt::to_string(fault->at));
      const std::size_t entry = storage->entry_size();
      refuse(*storage, fault->value,
             fmt::format("{} of row {}", fault->at % entry,
                         gradients.find_rows(*storage)->rows[fault->at / entry]));
    }
  }
}

}  // namespace

// What one update changes: in one pass, or table by table on the CPU, where rows are left behind.
struct Trainer::Changes {
  struct Table {
    ParameterState* parameter;
    const Gradients::Rows* rows;
    bool exact;
  };
  std::vector<Elements> elements;
  std::vector<ParameterState*> parameters;  // of these elements
  std::vector<Table> tables;
};

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
  const double norm = clips ? gradients.norm(collection_, clip_by_all) : 0;
  if (!clips || !std::isfinite(norm)) {
    std::vector<const ParameterStorage*> updated;
    for (const auto& parameter : parameters_) {
      if (parameter->storage().updated) updated.push_back(&parameter->storage());
    }
    check_finite(gradients, updated);
  }
  if (!std::isfinite(norm)) {
    throw NumericError(fmt::format("[Trainer] need a finite norm of the gradients; got {}", norm));
  }
  const double threshold = static_cast<double>(clip_threshold);
  return clips && norm > threshold ? threshold / norm : 1;
}

void Trainer::check_weights_in_place() const {
  if (!averages_.swapped()) return;
  throw UsageError(
      "[Trainer] need the weights in their place, by swap_params_to_weights() or restart(); got "
      "their moving averages");
}

void Trainer::check_settings() const {
  if (!std::isfinite(learning_rate)) {
    throw UsageError(fmt::format("[Trainer] need a finite learning rate; got {}", learning_rate));
  }
  if (!(weight_decay >= 0 && weight_decay < 1)) {
    throw UsageError(
        fmt::format("[Trainer] need a weight decay from 0 to below 1; got {}", weight_decay));
  }
  check_weights_in_place();
}

void Trainer::update(const Gradients& gradients) {
  check_settings();
  find_parameters();
  // All that can fail comes first.
  const Step step = {rule_->rate(static_cast<double>(learning_rate), updates_ + 1),
                     gradient_scale(gradients), 1 - static_cast<double>(weight_decay)};
  const bool averages = averages_.is_due(updates_ + 1);
  const bool exact = sparse_updates == SparseUpdates::exact;
  Changes changes;
  for (const auto& parameter : parameters_) {
    ParameterStorage& storage = parameter->storage();
    if (!storage.updated) continue;
    storage.take_writes();
    parameter->check(gradients.find_dense(storage), gradients.find_rows(storage));
    parameter->prepare(step, exact);
    plan(*parameter, gradients, step, changes);
  }
  if (averages) averages_.prepare(collection_.storages());
  collection_.device()->updates().together([&] {
    make(changes, step);
    if (averages) averages_.take();
  });
  collection_.device()->submit();
  for (ParameterState* parameter : changes.parameters) parameter->storage().values_changed();
  if (averages) averages_.count();
  ++updates_;
  if (step.scale != 1) ++clipped_updates_;
  if (cycle_) learning_rate = cycle_->after(updates_);
}

void Trainer::plan(ParameterState& parameter, const Gradients& gradients, Step step,
                   Changes& changes) const {
  const ParameterStorage& storage = parameter.storage();
  const bool exact = sparse_updates == SparseUpdates::exact;
  const bool acts = exact && !rule_->leaves_tables_if_exact();
  const Gradients::Rows* const rows = exact && !acts ? nullptr : gradients.find_rows(storage);
  if (storage.is_table && storage.device().is_cpu()) {
    changes.tables.push_back({&parameter, rows, acts});
    return;
  }
  const std::optional<Elements> elements =
      storage.is_table ? parameter.row_elements(rows, step, acts)
                       : parameter.all_elements(gradients.find_dense(storage), step,
                                                sparse_updates != SparseUpdates::lazy);
  if (!elements) return;
  changes.elements.push_back(*elements);
  changes.parameters.push_back(&parameter);
}

void Trainer::make(const Changes& changes, Step step) const {
  Device& device = *collection_.device();
  if (rule_->runs_on_cpu() && !device.is_cpu()) {
    apply_on_cpu(*rule_, device, changes.elements, step);
  } else if (!changes.elements.empty()) {
    rule_->apply(device.updates(), changes.elements, step);
  }
  for (const auto& [table, rows, exact] : changes.tables) table->update_rows(rows, step, exact);
}

void Trainer::enable_clipping(float threshold) {
  if (!(threshold > 0)) {
    throw UsageError(fmt::format("[Trainer] need a clipping threshold above 0; got {}", threshold));
  }
  clip_threshold = threshold;
}

void Trainer::restart() {
  for (const auto& parameter : parameters_) parameter->forget();
  averages_.replace({});
  updates_ = clipped_updates_ = 0;
  if (cycle_) learning_rate = cycle_->after(0);
}

void Trainer::restart(float learning_rate) {
  restart();
  this->learning_rate = learning_rate;
}

void Trainer::forget_moments() {
  for (const auto& parameter : parameters_) parameter->forget();
  if (averages_.swapped()) averages_.replace({});
}

void Trainer::follow(const CyclicalRate& cycle) {
  cycle.check();
  cycle_ = cycle;
  learning_rate = cycle.after(updates_);
}

void Trainer::start_averaging(const MovingAverageSettings& settings) {
  settings.check();
  if (updates_ > 0) {
    throw UsageError(fmt::format(
        "[Trainer] need moving averages from the first update on; got {} before them", updates_));
  }
  averages_.settings = settings;
}

void Trainer::exponential_moving_average(float beta, unsigned update_freq) {
  start_averaging({MovingAverage::Exponential, beta, update_freq});
}

void Trainer::cumulative_moving_average(unsigned update_freq) {
  start_averaging({MovingAverage::Cumulative, 0, update_freq});
}

void Trainer::swap_params_to_moving_average(bool save_weights, bool bias_correction) {
  averages_.swap_in(save_weights, bias_correction);
}

void Trainer::swap_params_to_weights() { averages_.swap_out(); }

}  // namespace dynet_like
