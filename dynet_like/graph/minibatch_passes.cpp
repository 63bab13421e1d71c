// MinibatchPasses: passes over all samples, or part by part if memory is limited.
#include "dynet_like/graph/minibatch_passes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/memory_needs.h"

namespace dynet_like::detail {

void MinibatchPasses::check_loss(const Expression& loss, const char* user) const {
  if (trained_losses_ > 0 && gradients_.is_used()) {
    throw UsageError(std::string("[") + user +
                     "] need a minibatch that was cleared since a trainer has used its gradients; "
                     "got one with " +
                     counted(trained_losses_, "loss", "losses") +
                     " that would be trained on again: call clear after an update");
  }
  samples_.check(loss, user);
  const Dim dim = loss.dim();
  if (dim.batch_size() == 1) return;
  throw ShapeError(std::string("[") + user + "] need a loss of one number; got " + to_string(dim) +
                   labels_of(loss.pg->record().tape(), std::span(&loss.i, 1)));
}

void MinibatchPasses::add_losses(std::span<const Expression> losses) {
  losses_.all.insert(losses_.all.end(), losses.begin(), losses.end());
}

void MinibatchPasses::add_output(const Expression& output) {
  samples_.ref(output, "add_output");
  outputs_.all.push_back(output);
}

// Discards all values if a parameter has changed since they were computed.
void MinibatchPasses::forget_changed(bool look_at_memory) {
  if (!executor_.common().parameters.may_have_changed(look_at_memory)) return;
  executor_.invalidate();
  ran_forward_ = ran_backward_ = false;
}

void MinibatchPasses::start() {
  ran_forward_ = ran_backward_ = false;
  forget_changed(true);
  find_parts();
  const bool in_parts = parts_.size() > 1, trains = in_parts && !executor_.options().inference;
  if (trains) {
    executor_.release();
    gradients_.clear();
    executor_.begin_backward();
  }
  if (forgets_ != executor_.liveness().forgets()) {
    losses_.computed = outputs_.computed = 0;
    loss_values_.clear();
  }
  // The values of a part are freed before the next one runs, except losses and outputs in
  // inference.
  std::vector<double> losses(in_parts ? losses_.all.size() - loss_values_.size() : 0);
  std::vector<ValueRef> kept;
  if (in_parts && !trains) {
    choose(std::span(losses_.all).first(losses_.computed), all_samples(), kept);
    choose(std::span(outputs_.all).first(outputs_.computed), all_samples(), kept);
  }
  for (const Part& part : parts_) {
    forward_new(part);
    if (!in_parts) break;
    read_losses(part, losses);
    if (trains) {
      run_backward(part, gradients_);
    } else {
      choose(losses_.from(losses_.computed), part, kept);
      choose(outputs_.from(outputs_.computed), part, kept);
    }
    executor_.release(kept);
  }
  if (trains) executor_.finish_backward(gradients_);
  loss_values_.insert(loss_values_.end(), losses.begin(), losses.end());
  losses_.computed = losses_.all.size();
  outputs_.computed = outputs_.all.size();
  forgets_ = executor_.liveness().forgets();
  parameter_changes_ = executor_.parameter_changes();
  ran_forward_ = true;
  ran_backward_ = trains;
}

float MinibatchPasses::loss() {
  read_new_losses();
  return static_cast<float>(std::accumulate(loss_values_.begin(), loss_values_.end(), 0.0));
}

double MinibatchPasses::loss_of(std::uint32_t begin, std::uint32_t end) {
  read_new_losses();
  const Part part{begin, end};
  double sum = 0;
  for (std::size_t i = 0; i < loss_values_.size(); ++i) {
    if (part.has(samples_.ref(losses_.all[i], "loss_of"))) sum += loss_values_[i];
  }
  return sum;
}

void MinibatchPasses::read_new_losses() {
  const bool is_read = loss_values_.size() == losses_.computed;
  if (!is_read && forgets_ != executor_.liveness().forgets()) {
    throw StateError(
        "[loss] need the values that start has computed; got a minibatch that has forgotten them: "
        "call loss before what changes it");
  }
  if (!ran_forward_) {
    throw UsageError("[loss] need a call of start or forward that succeeded; got none");
  }
  if (is_read) return;
  std::vector<double> losses(losses_.computed - loss_values_.size());
  read_losses(all_samples(), losses);
  loss_values_.insert(loss_values_.end(), losses.begin(), losses.end());
}

void MinibatchPasses::check_finite_loss() {
  const float sum = loss();
  if (std::isfinite(sum)) return;
  const bool in_parts = parts_.size() > 1;
  for (const Expression& loss : std::span(losses_.all).first(losses_.computed)) {
    const ValueRef value = samples_.ref(loss, "check_finite_loss");
    double number = 0;
    executor_.forward(std::span(&value, 1));
    executor_.sum_values(std::span(&value, 1), std::span(&number, 1));
    if (in_parts) executor_.release();
    if (std::isfinite(number)) continue;
    throw NumericError("[Minibatch] need a finite loss; got " + std::to_string(number) +
                       " in sample " + std::to_string(value.tape) + first_not_finite(value));
  }
  throw NumericError("[Minibatch] need a finite sum of the losses; got " + std::to_string(sum));
}

// Computes a loss again with detect_anomaly, and returns its message.
std::string MinibatchPasses::first_not_finite(const ValueRef& loss) {
  struct Detecting {
    Executor& executor;
    ~Detecting() { executor.common().options.detect_anomaly = false; }
  };
  const Detecting detecting{executor_};
  executor_.invalidate();
  executor_.common().options.detect_anomaly = true;
  try {
    executor_.forward(std::span(&loss, 1));
  } catch (const NumericError& error) {
    return std::string("; ") + error.what();
  }
  return "";
}

void MinibatchPasses::compute(std::span<const Expression> expressions) {
  std::vector<ValueRef> values;
  choose(expressions, all_samples(), values, "compute");
  if (!values.empty()) compute(values);
}

void MinibatchPasses::compute(std::span<const ValueRef> values) {
  forget_changed(false);
  executor_.lanes().spread(0, all_samples().end);
  executor_.forward(values);
}

const Gradients& MinibatchPasses::backward() {
  check_backward();
  if (ran_backward_) {
    trained_all(&gradients_);
  } else {
    gradients_.clear();
    backward(gradients_);
  }
  return gradients_;
}

void MinibatchPasses::backward(Gradients& gradients) {
  check_backward();
  if (losses_.all.empty() && samples_.size() > 0) {
    throw UsageError("[backward] need a loss or more; got none, from " +
                     counted(samples_.size(), "sample") +
                     ": call add_loss() or add_losses(), or pass over the minibatch");
  }
  gradients.check_not_used();
  const bool in_parts = parts_.size() > 1;
  executor_.begin_backward();
  for (const Part& part : parts_) {
    if (in_parts) executor_.lanes().spread(part.begin, part.end);
    run_backward(part, gradients);
    if (in_parts) executor_.release();
  }
  executor_.finish_backward(gradients);
  if (in_parts) forgets_ = executor_.liveness().forgets();
  trained_all(&gradients);
}

void MinibatchPasses::trained_all(const Gradients* gradients) {
  trained_losses_ = losses_.all.size();
  samples_.note_pass(gradients, gradients_);
}

void MinibatchPasses::backward(std::span<const std::uint32_t> ends, std::span<Gradients> gradients,
                               const OnComplete& complete) {
  check_backward();
  if (parts_.size() > 1) {
    throw UsageError(
        "[backward] need a minibatch that runs as a whole for gradients of shards; got "
        "one in " +
        counted(parts_.size(), "part") + ": raise GraphOptions::memory_limit");
  }
  check_shards(ends);
  if (executor_.common().shares_in_training() && !executor_.lanes().are_split(ends)) {
    throw UsageError(
        "[backward] need shards that share no work (GraphOptions::share_repeated); got samples "
        "that ran before their shards were known: leave forward to update(), or do without the "
        "option");
  }
  if (gradients.size() != ends.size()) {
    throw UsageError("[backward] need gradients for each shard; got " +
                     std::to_string(gradients.size()) + " for " + std::to_string(ends.size()));
  }
  for (const Gradients& some : gradients) some.check_not_used();
  if (samples_.size() == 0) return;  // a rank without samples: there may never have been any
  std::vector<ValueRef> losses;
  choose(losses_.all, all_samples(), losses);
  executor_.forward(losses);  // values that were freed since
  executor_.run_backward_by_shards(losses, ends, gradients, complete);
  trained_all(nullptr);
}

void MinibatchPasses::check_shards(std::span<const std::uint32_t> ends) const {
  const bool is_whole = (ends.empty() ? 0 : ends.back()) == samples_.size();
  if (is_whole && std::is_sorted(ends.begin(), ends.end())) return;
  throw UsageError("[backward] need ends of shards that do not decrease, the last of them " +
                   std::to_string(samples_.size()) + ", the number of samples; got " +
                   counted(ends.size(), "shard") +
                   (ends.empty() ? "" : ", the last with end " + std::to_string(ends.back())));
}

void MinibatchPasses::keep_apart(std::span<const std::uint32_t> ends) {
  if (!executor_.common().shares_in_training()) return;
  check_shards(ends);
  ends_of_shards_.assign(ends.begin(), ends.end());
}

void MinibatchPasses::check_backward() const {
  if (executor_.options().inference) {
    throw UsageError(
        "[backward] need a minibatch that keeps its values; got "
        "GraphOptions::inference");
  }
  if (!ran_forward_ || losses_.computed != losses_.all.size()) {
    throw UsageError(
        "[backward] need a call of forward that succeeded, after every add_loss; got " +
        counted(losses_.all.size(), "loss", "losses") + ", " +
        std::to_string(ran_forward_ ? losses_.computed : 0) + " of them computed");
  }
  executor_.common().parameters.check("backward");
  if (parameter_changes_ != executor_.parameter_changes()) {
    throw StateError(
        "[backward] need the losses that forward returned; got values that were computed anew "
        "since, with other parameters: call forward again");
  }
}

// A part has as many samples as fit the limit, at least one.
void MinibatchPasses::find_parts() {
  parts_.clear();
  if (samples_.size() == 0) return;
  parts_.push_back(all_samples());
  const std::size_t limit = executor_.options().memory_limit;
  if (limit == 0) return;
  MemoryNeeds needs(executor_.options());
  for (std::uint32_t sample = 0, end = all_samples().end; sample < end; ++sample) {
    needs.add(samples_.tape(sample));
    if (sample == parts_.back().begin || needs.bytes() <= limit) continue;
    parts_.back().end = sample;
    parts_.push_back({sample, end});
    needs.start_anew();
    needs.add(samples_.tape(sample));
  }
}

void MinibatchPasses::choose(std::span<const Expression> expressions, Part part,
                             std::vector<ValueRef>& chosen, const char* user) const {
  for (const Expression& e : expressions) {
    const ValueRef value = samples_.ref(e, user);
    if (part.has(value)) chosen.push_back(value);
  }
  // The executor needs this order. Usually it holds already.
  const auto before = [](const ValueRef& a, const ValueRef& b) { return a.tape < b.tape; };
  if (std::is_sorted(chosen.begin(), chosen.end(), before)) return;
  std::stable_sort(chosen.begin(), chosen.end(), before);
}

// Computes the losses and outputs of a part that are new.
void MinibatchPasses::forward_new(Part part) {
  std::vector<ValueRef> losses, targets;
  choose(losses_.from(loss_values_.size()), part, losses);
  choose(losses_.from(losses_.computed), part, targets);
  choose(outputs_.from(outputs_.computed), part, targets);
  if (ends_of_shards_.empty() || parts_.size() > 1) {
    executor_.lanes().spread(part.begin, part.end);
  } else {
    executor_.lanes().split(ends_of_shards_);
  }
  executor_.forward(targets, executor_.options().inference, losses);
}

// Writes the losses of a part that were not read yet to their places in `losses`.
void MinibatchPasses::read_losses(Part part, std::span<double> losses) {
  const std::span new_losses = losses_.from(loss_values_.size());
  std::vector<ValueRef> values;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const ValueRef loss = samples_.ref(new_losses[i], "forward");
    if (!part.has(loss)) continue;
    values.push_back(loss);
    places.push_back(i);
  }
  std::vector<double> sums(values.size());
  executor_.sum_values(values, sums);
  for (std::size_t i = 0; i < places.size(); ++i) losses[places[i]] = sums[i];
}

void MinibatchPasses::run_backward(Part part, Gradients& gradients) {
  std::vector<ValueRef> losses;
  choose(losses_.all, part, losses);
  executor_.forward(losses);  // values that were freed since
  executor_.run_backward(losses, gradients);
}

void MinibatchPasses::clear() {
  losses_.all.clear();
  outputs_.all.clear();
  losses_.computed = outputs_.computed = 0;
  loss_values_.clear();
  parts_.clear();
  ends_of_shards_.clear();
  gradients_.clear();
  ran_forward_ = ran_backward_ = false;
  trained_losses_ = 0;
}

}  // namespace dynet_like::detail
