// Trainer: checks the gradients, then updates one parameter after the other.
#include "dynet_like/train/trainer.h"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/graph/minibatch.h"
#include "dynet_like/train/parameter_state.h"
#include "dynet_like/train/update_check.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like {

using namespace detail;

namespace {

float checked_rate(float rate) {
  if (std::isfinite(rate) && rate >= 0) return rate;
  throw UsageError(fmt::format("[Trainer] need a finite learning rate from 0; got {}", rate));
}

void check_settings(const Trainer& trainer) {
  checked_rate(trainer.learning_rate);
  if (!(trainer.clip_threshold >= 0)) {
    throw UsageError(
        fmt::format("[Trainer] need a clipping threshold from 0; got {}", trainer.clip_threshold));
  }
  if (!(trainer.weight_decay >= 0 && trainer.weight_decay < 1)) {
    throw UsageError(fmt::format("[Trainer] need a weight decay from 0 to below 1; got {}",
                                 trainer.weight_decay));
  }
}

// Gradients of another model would be ignored, and nothing would be trained.
void check_own(const Gradients& gradients, const ParameterCollection& collection,
               std::span<const std::shared_ptr<ParameterStorage>> storages) {
  constexpr std::size_t kMostNames = 5;  // in the message
  if (!storages.empty() && gradients.has_any_of(collection)) return;
  const std::vector<std::string> others = gradients.names();
  if (others.empty()) return;
  std::vector<std::string> own;
  for (const auto& storage : storages) own.push_back(storage->name);
  throw UsageError(fmt::format(
      "[Trainer] need gradients of the collection that it was made for, which has {}; got those of "
      "{} elsewhere: make the trainer for the collection that the model is in",
      own.empty() ? "no parameters" : listed_names(own, kMostNames),
      listed_names(others, kMostNames)));
}

// The factors of the next update, for parameters with these settings.
Step step_of(const Trainer& trainer, const UpdateRule& rule, const GroupSettings& settings,
             double scale) {
  const double rate =
      static_cast<double>(trainer.learning_rate) * static_cast<double>(settings.rate);
  const double decay = static_cast<double>(settings.weight_decay.value_or(trainer.weight_decay));
  Step step = {rule.rate(rate, trainer.updates() + 1), scale, 1 - decay};
  if (!rule.decay_follows_rate()) return step;
  step.keep = 1 - rate * decay;
  if (!(step.keep > 0 && step.keep <= 1)) {
    throw UsageError(
        fmt::format("[Trainer] need a learning rate times weight decay from 0 to below 1; got {} "
                    "times {}",
                    rate, decay));
  }
  step.rate /= step.keep;  // the update multiplies the change by `keep`, too: undo that
  return step;
}

// The changes of one update, for parameters with the same settings: in one pass, or, for tables on
// the CPU, which leave rows behind, table by table.
class Changes {
 public:
  Changes(Step step, bool exact) : step_(step), exact_(exact) {}

  // Does everything that can fail.
  void prepare(ParameterState& parameter, const Gradients& gradients) {
    ParameterStorage& storage = parameter.storage();
    storage.values.take_writes();
    parameter.prepare(step_, exact_);
    const Gradients::Rows* const rows = gradients.find_rows(storage);
    if (storage.is_table && storage.device().is_cpu()) {
      tables_.emplace_back(&parameter, rows);
      return;
    }
    const std::optional<Elements> elements =
        storage.is_table ? parameter.row_elements(rows, step_, exact_)
                         : parameter.all_elements(gradients.find_dense(storage), step_);
    if (!elements) return;
    elements_.push_back(*elements);
    written_.push_back(&storage);
  }
  void make(const UpdateRule& rule, const Updates& updates) const {
    if (!elements_.empty()) rule.apply(updates, elements_, step_);
    for (const auto& [table, rows] : tables_) table->update_rows(rows, step_, exact_);
  }
  void note_written() const {
    for (ParameterStorage* storage : written_) storage->values.device_written();
  }

 private:
  Step step_;
  bool exact_;
  std::vector<Elements> elements_;
  std::vector<ParameterStorage*> written_;  // the storages of elements_
  std::vector<std::pair<ParameterState*, const Gradients::Rows*>> tables_;
};

}  // namespace

Trainer::Trainer(ParameterCollection collection, float learning_rate,
                 std::shared_ptr<const UpdateRule> rule)
    : learning_rate(checked_rate(learning_rate)),
      collection_(std::move(collection)),
      rule_(std::move(rule)),
      check_(std::make_unique<UpdateCheck>(*rule_, collection_.dtype())) {}

Trainer::~Trainer() {
  for (const auto& parameter : parameters_) parameter->detach();
}

// A collection only grows, at its end.
std::vector<std::shared_ptr<ParameterStorage>> Trainer::find_parameters() {
  auto storages = collection_.storages();
  for (std::size_t i = parameters_.size(); i < storages.size(); ++i) {
    parameters_.push_back(std::make_shared<ParameterState>(rule_, storages[i]));
  }
  return storages;
}

void Trainer::refuse_unusable(const Gradients& gradients, unsigned summands) {
  const auto updated = groups_.updated(find_parameters());
  check_->refuse_unusable(gradients, updated, static_cast<double>(clip_threshold), summands);
}

void Trainer::update(const Gradients& gradients) {
  finish_update();
  check_settings(*this);
  averages_.check_not_swapped();
  const auto storages = find_parameters();
  check_own(gradients, collection_, storages);
  // Everything that can fail comes first.
  const auto updated = groups_.updated(storages);
  const double scale =
      check_->begin(gradients, updated, static_cast<double>(clip_threshold),
                    clip_threshold > 0 ? norm_for_clipping(gradients, updated) : std::nullopt);
  std::vector<Changes> changes;
  for (const GroupSettings& settings : groups_.settings()) {
    changes.emplace_back(step_of(*this, *rule_, settings, scale),
                         sparse_updates == SparseUpdates::exact);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::size_t place = groups_.place_of(i);
    if (!groups_.settings()[place].updates(*storages[i])) continue;
    changes[place].prepare(*parameters_[i], gradients);
  }
  const bool averages = averages_.is_due(updates_ + 1);
  if (averages) averages_.prepare(updated);
  Device& device = *collection_.device();
  const auto all = [&] {
    for (const Changes& some : changes) some.make(*rule_, device.updates());
    if (averages) averages_.take();
  };
  device.updates().together(all, check_->condition());
  device.submit();
  for (const Changes& some : changes) some.note_written();
  gradients.mark_used();
  ++updates_;
  if (cycle_) learning_rate = cycle_->after(updates_);
  is_unfinished_ = true;
  if (check_->condition() == nullptr) finish_update();
}

float Trainer::update(Minibatch& batch) {
  const float loss = batch.forward();
  update(batch.backward());
  return loss;
}

void Trainer::finish_update() {
  if (!std::exchange(is_unfinished_, false)) return;
  try {
    if (check_->finish()) ++clipped_updates_;
    if (averages_.is_due(updates_)) averages_.count();
  } catch (const NumericError&) {
    --updates_;
    if (cycle_) learning_rate = cycle_->after(updates_);
    throw;
  }
}

void Trainer::enable_clipping(float threshold) {
  if (!(threshold > 0)) {
    throw UsageError(fmt::format("[Trainer] need a clipping threshold above 0; got {}", threshold));
  }
  clip_threshold = threshold;
}

void Trainer::restart() {
  is_unfinished_ = false;
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
  groups_ = ParameterGroups(std::move(groups), collection_.storages());
}

void Trainer::follow(const CyclicalRate& cycle) {
  cycle.check();
  cycle_ = cycle;
  learning_rate = cycle.after(updates_);
}

void Trainer::exponential_moving_average(float beta, unsigned update_freq) {
  averages_.start({MovingAverage::Exponential, beta, update_freq}, updates_);
}

void Trainer::cumulative_moving_average(unsigned update_freq) {
  averages_.start({MovingAverage::Cumulative, 0, update_freq}, updates_);
}

void Trainer::swap_params_to_moving_average(bool save_weights, bool bias_correction) {
  finish_update();
  averages_.swap_in(save_weights, bias_correction);
}

void Trainer::swap_params_to_weights() { averages_.swap_out(); }

}  // namespace dynet_like
