// Trainer: checks the gradients, then updates one parameter after the other.
#include "dynet_like/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/core/text.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/train/parameter_state.h"
#include "dynet_like/train/update_check.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like {

using namespace detail;

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

namespace {

float checked_rate(float rate) {
  if (std::isfinite(rate) && rate >= 0) return rate;
  throw UsageError(fmt::format("[Trainer] need a finite learning rate from 0; got {}", rate));
}

// Where one is among those that differ; a new one is put at the end.
std::size_t place_of(const GroupSettings& one, std::vector<GroupSettings>& all) {
  const auto found = std::find(all.begin(), all.end(), one);
  const auto place = static_cast<std::size_t>(found - all.begin());
  if (found == all.end()) all.push_back(one);
  return place;
}

}  // namespace

Trainer::Trainer(ParameterCollection collection, float learning_rate,
                 std::shared_ptr<const UpdateRule> rule)
    : learning_rate(checked_rate(learning_rate)),
      collection_(std::move(collection)),
      rule_(std::move(rule)),
      check_(std::make_unique<UpdateCheck>()) {}

Trainer::~Trainer() {
  for (const auto& parameter : parameters_) parameter->detach();
}

// Collections only grow, at the end.
void Trainer::find_parameters() {
  const auto storages = collection_.storages();
  for (std::size_t i = parameters_.size(); i < storages.size(); ++i) {
    make_room(parameters_);
    make_room(settings_of_);
    auto parameter = std::make_shared<ParameterState>(rule_, storages[i]);
    settings_of_.push_back(place_of(groups_.settings_of(*storages[i]), settings_));
    parameters_.push_back(std::move(parameter));
  }
}

ParameterState* Trainer::find(const ParameterStorage& storage) const {
  for (const auto& parameter : parameters_) {
    if (&parameter->storage() == &storage) return parameter.get();
  }
  return nullptr;
}

bool Trainer::updates(std::size_t parameter) const {
  return parameters_[parameter]->storage().updated && !settings_[settings_of_[parameter]].frozen;
}

std::vector<std::shared_ptr<ParameterStorage>> Trainer::updated_storages() const {
  std::vector<std::shared_ptr<ParameterStorage>> updated;
  const auto storages = collection_.storages();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (updates(i)) updated.push_back(storages[i]);
  }
  return updated;
}

// Means of squares of gradients below it are finite, however they are rounded.
double Trainer::moment_limit() const {
  return collection_.dtype() == DType::f32 ? 0x1p63 : 0x1p511;
}

// The size that gradients must stay below before they are clipped.
double Trainer::gradient_limit() const {
  const double limit = moment_limit();
  const bool clips = clip_threshold > 0 && static_cast<double>(clip_threshold) < limit;
  return rule_->squares_gradients() && !clips ? limit : std::numeric_limits<double>::infinity();
}

// The factor that clips the gradients. Throws NumericError unless all of them are below the limit;
// a finite norm says that they are finite.
double Trainer::gradient_scale(const Gradients& gradients, Storages updated,
                               std::optional<double> own_norm) const {
  const bool clips = clip_threshold > 0;
  const double norm = !clips ? 0 : own_norm ? *own_norm : gradients.norm(updated);
  const double limit = gradient_limit();
  if (!clips || !std::isfinite(norm) || std::isfinite(limit)) {
    UpdateCheck::need_below(limit, gradients, updated);
  }
  if (!std::isfinite(norm)) {
    throw NumericError(fmt::format("[Trainer] need a finite norm of the gradients; got {}", norm));
  }
  const double threshold = static_cast<double>(clip_threshold);
  return clips && norm > threshold ? threshold / norm : 1;
}

void Trainer::refuse_unusable(const Gradients& gradients, unsigned summands) {
  find_parameters();
  UpdateCheck::need_below(gradient_limit(), gradients, updated_storages());
  if (summands <= 1) return;
  const double largest = collection_.dtype() == DType::f32
                             ? static_cast<double>(std::numeric_limits<float>::max())
                             : std::numeric_limits<double>::max();
  const double limit = rule_->squares_gradients() ? moment_limit() : largest;
  const std::string reason = fmt::format("{} of them can be added up", summands);
  // One part more, for rounding.
  UpdateCheck::need_below(limit / (summands + 1.0), gradients, updated_storages(), reason.c_str());
}

void Trainer::check_weights_in_place() const {
  if (!averages_.swapped()) return;
  throw UsageError(
      "[Trainer] need the weights in their place, by swap_params_to_weights() or restart(); got "
      "their moving averages");
}

void Trainer::check_settings() const {
  checked_rate(learning_rate);
  if (!(clip_threshold >= 0)) {
    throw UsageError(
        fmt::format("[Trainer] need a clipping threshold from 0; got {}", clip_threshold));
  }
  if (!(weight_decay >= 0 && weight_decay < 1)) {
    throw UsageError(
        fmt::format("[Trainer] need a weight decay from 0 to below 1; got {}", weight_decay));
  }
  check_weights_in_place();
}

// How much is multiplied by what in the next update of parameters with these settings.
Step Trainer::step_of(const GroupSettings& settings, double scale) const {
  const double rate = static_cast<double>(learning_rate) * static_cast<double>(settings.rate);
  const double decay = static_cast<double>(settings.weight_decay.value_or(weight_decay));
  Step step = {rule_->rate(rate, updates_ + 1), scale, 1 - decay};
  if (!rule_->decay_follows_rate()) return step;
  step.keep = 1 - rate * decay;
  if (!(step.keep > 0 && step.keep <= 1)) {
    throw UsageError(
        fmt::format("[Trainer] need a learning rate times weight decay from 0 to below 1; got {} "
                    "times {}",
                    rate, decay));
  }
  step.rate /= step.keep;  // the change is multiplied by it, too, but must not be
  return step;
}

// By their place in settings_.
std::vector<Step> Trainer::steps(double scale) const {
  std::vector<Step> steps;
  for (const GroupSettings& settings : settings_) steps.push_back(step_of(settings, scale));
  return steps;
}

// Those of another model would be passed over, and nothing be trained.
void Trainer::check_own(const Gradients& gradients) const {
  constexpr std::size_t kMostNames = 5;  // in a message
  if (!parameters_.empty() && gradients.has_any_of(collection_)) return;
  const std::vector<std::string> others = gradients.names();
  if (others.empty()) return;
  std::vector<std::string> own;
  for (const auto& parameter : parameters_) own.push_back(parameter->storage().name);
  throw UsageError(fmt::format(
      "[Trainer] need gradients of the collection that it was made for, which has {}; got those of "
      "{} elsewhere: make the trainer for the collection that the model is in",
      own.empty() ? "no parameters" : listed_names(own, kMostNames),
      listed_names(others, kMostNames)));
}

void Trainer::update(const Gradients& gradients) {
  finish_update();
  check_settings();
  find_parameters();
  check_own(gradients);
  // All that can fail comes first.
  const auto updated = updated_storages();
  const std::optional<double> own_norm =
      clip_threshold > 0 ? norm_for_clipping(gradients, updated) : std::nullopt;
  const bool device_decides =
      !own_norm && rule_->runs_on_device() &&
      check_->begin(gradient_limit(), gradients, updated, static_cast<double>(clip_threshold));
  const std::vector<Step> steps =
      this->steps(device_decides ? 1 : gradient_scale(gradients, updated, own_norm));
  const bool averages = averages_.is_due(updates_ + 1);
  const bool exact = sparse_updates == SparseUpdates::exact;
  std::vector<Changes> changes(steps.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!updates(i)) continue;
    ParameterState& parameter = *parameters_[i];
    ParameterStorage& storage = parameter.storage();
    const std::size_t settings = settings_of_[i];
    storage.values.take_writes();
    parameter.prepare(steps[settings], exact);
    plan(parameter, gradients, steps[settings], changes[settings]);
  }
  if (averages) averages_.prepare(updated);
  const auto all = [&] {
    for (std::size_t i = 0; i < steps.size(); ++i) make(changes[i], steps[i]);
    if (averages) averages_.take();
  };
  collection_.device()->updates().together(all, device_decides ? check_->condition() : nullptr);
  collection_.device()->submit();
  for (const Changes& some : changes) {
    for (ParameterState* parameter : some.parameters) parameter->storage().values.device_written();
  }
  gradients.mark_used();
  ++updates_;
  if (cycle_) learning_rate = cycle_->after(updates_);
  unfinished_ = {true, device_decides, averages, steps.front().scale != 1};
  if (!device_decides) finish_update();
}

void Trainer::finish_update() {
  const Unfinished update = std::exchange(unfinished_, {});
  if (!update.any) return;
  try {
    if (update.device_decides ? check_->finish() : update.clipped) ++clipped_updates_;
    if (update.averages) averages_.count();
  } catch (const NumericError&) {
    --updates_;
    if (cycle_) learning_rate = cycle_->after(updates_);
    throw;
  }
}

void Trainer::plan(ParameterState& parameter, const Gradients& gradients, Step step,
                   Changes& changes) const {
  const ParameterStorage& storage = parameter.storage();
  const bool exact = sparse_updates == SparseUpdates::exact;
  const Gradients::Rows* const rows = gradients.find_rows(storage);
  if (storage.is_table && storage.device().is_cpu()) {
    changes.tables.push_back({&parameter, rows, exact});
    return;
  }
  const std::optional<Elements> elements =
      storage.is_table ? parameter.row_elements(rows, step, exact)
                       : parameter.all_elements(gradients.find_dense(storage), step);
  if (!elements) return;
  changes.elements.push_back(*elements);
  changes.parameters.push_back(&parameter);
}

void Trainer::make(const Changes& changes, Step step) const {
  if (!changes.elements.empty()) {
    rule_->apply(collection_.device()->updates(), changes.elements, step);
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
  unfinished_ = {};
  for (const auto& parameter : parameters_) parameter->forget();
  averages_.replace({});
  updates_ = clipped_updates_ = 0;
  if (cycle_) learning_rate = cycle_->after(0);
}

void Trainer::restart(float learning_rate) {
  checked_rate(learning_rate);
  restart();
  this->learning_rate = learning_rate;
}

void Trainer::forget_moments() {
  finish_update();
  for (const auto& parameter : parameters_) parameter->forget();
  if (averages_.swapped()) averages_.replace({});
}

void Trainer::set_groups(std::vector<ParameterGroup> groups) {
  ParameterGroups found(std::move(groups), collection_.storages());
  std::vector<GroupSettings> settings = {GroupSettings()};
  std::vector<std::size_t> settings_of;
  for (const auto& parameter : parameters_) {
    settings_of.push_back(place_of(found.settings_of(parameter->storage()), settings));
  }
  groups_ = std::move(found);
  settings_ = std::move(settings);
  settings_of_ = std::move(settings_of);
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
  finish_update();
  averages_.swap_in(save_weights, bias_correction);
}

void Trainer::swap_params_to_weights() { averages_.swap_out(); }

}  // namespace dynet_like
