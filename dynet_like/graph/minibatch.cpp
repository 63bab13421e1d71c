// Minibatch: runs its graphs together, or part by part where memory is bounded.
#include "dynet_like/graph/minibatch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/core/text.h"
#include "dynet_like/exec/memory_needs.h"
#include "dynet_like/exec/executor.h"
#include "dynet_like/graph/alone.h"
#include "dynet_like/graph/sample_fibers.h"
#include "dynet_like/report/make_report.h"

namespace dynet_like {

using namespace detail;

namespace {

constexpr std::size_t kKeptStacks = 1024;  // per thread, from minibatch to minibatch

// As the executor wants them; mostly they are so already.
void sort_by_sample(std::vector<ValueRef>& values) {
  const auto before = [](const ValueRef& a, const ValueRef& b) { return a.tape < b.tape; };
  if (std::is_sorted(values.begin(), values.end(), before)) return;
  std::stable_sort(values.begin(), values.end(), before);
}

bool is_within(const ValueRef& value, std::uint32_t begin, std::uint32_t end) {
  return value.tape >= begin && value.tape < end;
}

}  // namespace

Minibatch::Minibatch(const GraphOptions& options)
    : types_(std::make_shared<TypeTable>()), executor_(std::make_unique<Executor>(options)) {
  caches_.push_back(std::make_unique<TypeCache>(*types_));
  executor_->common().take_step();
}

Minibatch::~Minibatch() = default;

ValueRef Minibatch::ref(const Expression& e, const char* user) const { return e.pg->ref(e, user); }

bool Minibatch::trains_in_parts() const {
  return parts_.size() > 1 && !executor_->options().inference;
}

ComputationGraph& Minibatch::new_graph() {
  const Alone alone(*this, "new_graph");
  if (used_ == graphs_.size()) {
    make_room(graphs_);
    graphs_.push_back(
        make_graph({types_, *caches_[0], *executor_, static_cast<std::uint32_t>(used_)}));
  }
  ComputationGraph& graph = *graphs_[used_];
  graph.tape_->random.sample =
      executor_->common().random.first_sample + static_cast<std::uint32_t>(used_);
  graph.index_ = executor_->add_tape(*graph.tape_);
  graph.use(true);
  ++used_;
  return graph;
}

std::unique_ptr<ComputationGraph> Minibatch::make_graph(const GraphPlace& place) {
  return std::unique_ptr<ComputationGraph>(new ComputationGraph(place));
}

ComputationGraph& Minibatch::graph(std::size_t sample) {
  const Alone alone(*this, "Minibatch::graph");
  if (sample >= used_) {
    throw UsageError("[Minibatch::graph] need a sample below " + std::to_string(used_) + "; got " +
                     index_text(sample));
  }
  return *graphs_[sample];
}

const Expression& Minibatch::checked(const Expression& e, const char* user) const {
  if (e.graph(user).executor_ == executor_.get()) return e;
  throw UsageError(std::string("[") + user +
                   "] need an expression of this minibatch; got one of another graph");
}

void Minibatch::check_loss(const Expression& loss, const char* user) const {
  if (trained_losses_ > 0 && gradients_.is_used()) {
    throw UsageError(std::string("[") + user +
                     "] need a minibatch that was cleared since a trainer has used its gradients; "
                     "got one with " +
                     counted(trained_losses_, "loss", "losses") +
                     " that would be trained on again: call clear after an update");
  }
  const Dim dim = checked(loss, user).dim();
  if (dim.batch_size() == 1) return;
  throw ShapeError(std::string("[") + user + "] need a loss of one number; got " + to_string(dim) +
                   labels_of(loss.pg->tape(), std::span(&loss.i, 1)));
}

void Minibatch::add_loss(const Expression& loss) {
  const Alone alone(*this, "add_loss");
  check_loss(loss, "add_loss");
  losses_.push_back(loss);
}

void Minibatch::add_output(const Expression& output) {
  const Alone alone(*this, "add_output");
  ref(checked(output, "add_output"), "add_output");
  outputs_.push_back(output);
}

// Values of parameters that have changed since go, with all that followed from them.
void Minibatch::forget_changed(bool look_at_memory) {
  if (!executor_->common().parameters.may_have_changed(look_at_memory)) return;
  executor_->invalidate();
  ran_forward_ = ran_backward_ = false;
}

void Minibatch::begin_forward() {
  ran_forward_ = ran_backward_ = false;
  forget_changed(true);
  find_parts();
  if (trains_in_parts()) {
    executor_->release();
    gradients_.clear();
    executor_->begin_backward();
  }
  if (forgets_ == executor_->liveness().forgets()) return;
  computed_losses_ = computed_outputs_ = read_losses_ = 0;
  loss_values_.clear();
}

float Minibatch::forward() {
  const Alone alone(*this, "forward");
  start();
  return loss();
}

void Minibatch::start() {
  const Alone alone(*this, "forward");
  begin_forward();
  if (parts_.size() <= 1) {
    for (const Part& part : parts_) forward_new(part);
  } else {
    // What a part has computed is gone when the next one runs.
    std::vector<double> losses(losses_.size() - read_losses_);
    if (executor_->options().inference) {
      infer_in_parts(losses);
    } else {
      train_in_parts(losses);
    }
    loss_values_.insert(loss_values_.end(), losses.begin(), losses.end());
    read_losses_ = losses_.size();
  }
  computed_losses_ = losses_.size();
  computed_outputs_ = outputs_.size();
  forgets_ = executor_->liveness().forgets();
  parameter_changes_ = executor_->parameter_changes();
  ran_forward_ = true;
  ran_backward_ = trains_in_parts();
}

float Minibatch::loss() {
  const Alone alone(*this, "loss");
  read_new_losses();
  return static_cast<float>(std::accumulate(loss_values_.begin(), loss_values_.end(), 0.0));
}

double Minibatch::loss_of(std::uint32_t begin, std::uint32_t end) {
  const Alone alone(*this, "loss");
  read_new_losses();
  double sum = 0;
  for (std::size_t i = 0; i < loss_values_.size(); ++i) {
    if (is_within(ref(losses_[i], "loss_of"), begin, end)) sum += loss_values_[i];
  }
  return sum;
}

void Minibatch::read_new_losses() {
  const bool is_read = read_losses_ == computed_losses_;
  if (!is_read && forgets_ != executor_->liveness().forgets()) {
    throw StateError(
        "[loss] need the values that start has computed; got a minibatch that has forgotten them: "
        "call loss before what changes it");
  }
  if (!ran_forward_) {
    throw UsageError("[loss] need a call of start or forward that succeeded; got none");
  }
  if (is_read) return;
  std::vector<double> losses(computed_losses_ - read_losses_);
  read_losses({0, static_cast<std::uint32_t>(used_)}, losses);
  loss_values_.insert(loss_values_.end(), losses.begin(), losses.end());
  read_losses_ = computed_losses_;
}

void Minibatch::check_finite_loss() {
  const Alone alone(*this, "check_finite_loss");
  const float sum = loss();
  if (std::isfinite(sum)) return;
  const bool in_parts = parts_.size() > 1;
  for (const Expression& loss : std::span(losses_).first(computed_losses_)) {
    const ValueRef value = ref(loss, "check_finite_loss");
    double number = 0;
    executor_->forward(std::span(&value, 1));
    executor_->sum_values(std::span(&value, 1), std::span(&number, 1));
    if (in_parts) executor_->release();
    if (std::isfinite(number)) continue;
    throw NumericError("[Minibatch] need a finite loss; got " + std::to_string(number) +
                       " in sample " + std::to_string(value.tape) + first_not_finite(value));
  }
  throw NumericError("[Minibatch] need a finite sum of the losses; got " + std::to_string(sum));
}

// What detect_anomaly says of the nodes of a loss, which are computed anew.
std::string Minibatch::first_not_finite(const ValueRef& loss) {
  struct Detecting {
    Executor& executor;
    ~Detecting() { executor.common().options.detect_anomaly = false; }
  };
  const Detecting detecting{*executor_};
  executor_->invalidate();
  executor_->common().options.detect_anomaly = true;
  try {
    executor_->forward(std::span(&loss, 1));
  } catch (const NumericError& error) {
    return std::string("; ") + error.what();
  }
  return "";
}

void Minibatch::train_in_parts(std::span<double> losses) {
  for (const Part& part : parts_) {
    forward_new(part);
    read_losses(part, losses);
    run_backward(part, gradients_);
    executor_->release();
  }
  executor_->finish_backward(gradients_);
}

// What was asked for is kept.
void Minibatch::infer_in_parts(std::span<double> losses) {
  const Part all{0, static_cast<std::uint32_t>(used_)};
  std::vector<ValueRef> kept;
  choose(std::span(losses_).first(computed_losses_), all, kept);
  choose(std::span(outputs_).first(computed_outputs_), all, kept);
  for (const Part& part : parts_) {
    forward_new(part);
    read_losses(part, losses);
    choose(std::span(losses_).subspan(computed_losses_), part, kept);
    choose(std::span(outputs_).subspan(computed_outputs_), part, kept);
    executor_->release(kept);
  }
}

void Minibatch::compute(std::span<const Expression> expressions) {
  const Alone alone(*this, "compute");
  std::vector<ValueRef> targets;
  targets.reserve(expressions.size());
  for (const Expression& e : expressions) targets.push_back(ref(checked(e, "compute"), "compute"));
  if (targets.empty()) return;
  sort_by_sample(targets);
  forget_changed(false);
  executor_->lanes().spread(0, static_cast<std::uint32_t>(used_));
  executor_->forward(targets);
}

const Gradients& Minibatch::backward() {
  const Alone alone(*this, "backward");
  check_backward();
  if (!ran_backward_) {
    gradients_.clear();
    backward(gradients_);
  }
  trained_losses_ = losses_.size();
  for (std::size_t i = 0; i < used_; ++i) graphs_[i]->last_gradients_ = &gradients_;
  return gradients_;
}

void Minibatch::backward(Gradients& gradients) {
  const Alone alone(*this, "backward");
  check_backward();
  gradients.check_not_used();
  const bool in_parts = parts_.size() > 1;
  executor_->begin_backward();
  for (const Part& part : parts_) {
    if (in_parts) executor_->lanes().spread(part.begin, part.end);
    run_backward(part, gradients);
    if (in_parts) executor_->release();
  }
  executor_->finish_backward(gradients);
  if (in_parts) forgets_ = executor_->liveness().forgets();
  trained_all(&gradients);
}

// What graphs ask for gradients, unless they are the caller's.
void Minibatch::trained_all(const Gradients* gradients) {
  trained_losses_ = losses_.size();
  for (std::size_t i = 0; i < used_; ++i) {
    const bool is_callers = gradients != graphs_[i]->collected_;
    graphs_[i]->last_gradients_ = is_callers ? nullptr : gradients;
  }
}

void Minibatch::backward(std::span<const std::uint32_t> ends, std::span<Gradients> gradients,
                         const std::function<void(const ParameterStorage&)>& complete) {
  const Alone alone(*this, "backward");
  check_backward();
  check_shards(ends);
  if (gradients.size() != ends.size()) {
    throw UsageError("[backward] need gradients for each shard; got " +
                     std::to_string(gradients.size()) + " for " + std::to_string(ends.size()));
  }
  for (const Gradients& some : gradients) some.check_not_used();
  std::vector<ValueRef> losses;
  choose(losses_, {0, static_cast<std::uint32_t>(used_)}, losses);
  executor_->forward(losses);  // what was forgotten since
  executor_->run_backward_by_parts(losses, ends, gradients, complete);
  trained_all(nullptr);
}

void Minibatch::check_shards(std::span<const std::uint32_t> ends) const {
  if (parts_.size() > 1) {
    throw UsageError(
        "[backward] need a minibatch that runs as a whole for gradients of shards; got "
        "one in " +
        counted(parts_.size(), "part") + ": raise GraphOptions::memory_limit");
  }
  const bool is_whole = (ends.empty() ? 0 : ends.back()) == used_;
  if (is_whole && std::is_sorted(ends.begin(), ends.end())) return;
  throw UsageError("[backward] need ends of shards that do not fall, the last of them " +
                   std::to_string(used_) + ", the number of samples; got " +
                   detail::counted(ends.size(), "shard") +
                   (ends.empty() ? "" : ", the last with end " + std::to_string(ends.back())));
}

void Minibatch::check_backward() {
  if (executor_->options().inference) {
    throw UsageError(
        "[backward] need a minibatch that keeps its values; got "
        "GraphOptions::inference");
  }
  if (!ran_forward_ || computed_losses_ != losses_.size()) {
    throw UsageError(
        "[backward] need a call of forward that succeeded, after every add_loss; got " +
        detail::counted(losses_.size(), "loss", "losses") + ", " +
        std::to_string(ran_forward_ ? computed_losses_ : 0) + " of them computed");
  }
  executor_->common().parameters.check("backward");
  if (parameter_changes_ != executor_->parameter_changes()) {
    throw StateError(
        "[backward] need the losses that forward returned; got values that were computed anew "
        "since, "
        "with other parameters: call forward again");
  }
}

// As many samples as fit, at least one.
void Minibatch::find_parts() {
  parts_.clear();
  if (used_ == 0) return;
  const auto end = static_cast<std::uint32_t>(used_);
  parts_.push_back({0, end});
  const std::size_t limit = executor_->options().memory_limit;
  if (limit == 0) return;
  MemoryNeeds needs(executor_->options());
  for (std::uint32_t sample = 0; sample < end; ++sample) {
    needs.add(*graphs_[sample]->tape_);
    if (sample == parts_.back().begin || needs.bytes() <= limit) continue;
    parts_.back().end = sample;
    parts_.push_back({sample, end});
    needs.start_anew();
    needs.add(*graphs_[sample]->tape_);
  }
}

void Minibatch::choose(std::span<const Expression> expressions, Part part,
                       std::vector<ValueRef>& chosen) const {
  for (const Expression& e : expressions) {
    const ValueRef value = ref(e, "forward");
    if (is_within(value, part.begin, part.end)) chosen.push_back(value);
  }
  sort_by_sample(chosen);
}

// Computes what is new in a part.
void Minibatch::forward_new(Part part) {
  std::vector<ValueRef> losses, targets;
  choose(std::span(losses_).subspan(read_losses_), part, losses);
  choose(std::span(losses_).subspan(computed_losses_), part, targets);
  choose(std::span(outputs_).subspan(computed_outputs_), part, targets);
  executor_->lanes().spread(part.begin, part.end);
  executor_->forward(targets, executor_->options().inference, losses);
}

// Those of the losses to come that are in a part are written to their places.
void Minibatch::read_losses(Part part, std::span<double> losses) {
  const std::span new_losses = std::span(losses_).subspan(read_losses_, losses.size());
  std::vector<ValueRef> values;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const ValueRef loss = ref(new_losses[i], "forward");
    if (!is_within(loss, part.begin, part.end)) continue;
    values.push_back(loss);
    places.push_back(i);
  }
  std::vector<double> sums(values.size());
  executor_->sum_values(values, sums);
  for (std::size_t i = 0; i < places.size(); ++i) losses[places[i]] = sums[i];
}

void Minibatch::run_backward(Part part, Gradients& gradients) {
  std::vector<ValueRef> losses;
  choose(losses_, part, losses);
  executor_->forward(losses);  // what was forgotten since
  executor_->run_backward(losses, gradients);
}

Report Minibatch::explain() const {
  const Alone alone(*this, "explain");
  Report report = detail::make_report(*executor_);
  report.waves = waves_;
  report.wave_count = wave_count_;
  return report;
}

std::string Minibatch::draw_batches(const BatchPicture& what) const {
  const Alone alone(*this, "draw_batches");
  return detail::draw_batches(*executor_, what);
}

void Minibatch::clear() {
  const Alone alone(*this, "clear");
  executor_->clear();
  executor_->common().take_step();
  for (std::size_t i = 0; i < used_; ++i) {
    graphs_[i]->forget_records();
    graphs_[i]->use(false);
  }
  used_ = 0;
  losses_.clear();
  outputs_.clear();
  computed_losses_ = computed_outputs_ = read_losses_ = 0;
  loss_values_.clear();
  forgets_ = executor_->liveness().forgets();
  parts_.clear();
  waves_.clear();
  wave_count_ = 0;
  gradients_.clear();
  ran_forward_ = ran_backward_ = false;
  trained_losses_ = 0;
  if (fibers_ != nullptr) fibers_->keep_stacks(kKeptStacks);
  trim_types(true);
}

void Minibatch::trim_types(bool ends_generation) {
  if (!types_->trim(ends_generation)) return;
  executor_->forget_types();
  for (const std::unique_ptr<TypeCache>& cache : caches_) cache->forget();
}

}  // namespace dynet_like
