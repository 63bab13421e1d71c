// Minibatch: runs its graphs together, or part by part where memory is bounded.
#include "dynet_like/graph/minibatch.h"

#include <algorithm>

#include "dynet_like/core/errors.h"

namespace dynet_like {

namespace {

RandomKey next_key(const GraphOptions& options) {
  return options.random == nullptr ? RandomKey{} : options.random->next_step();
}

}  // namespace

Minibatch::Minibatch(const GraphOptions& options)
    : types_(std::make_shared<TypeTable>()), executor_(options, next_key(options)) {}

ComputationGraph& Minibatch::new_graph() {
  if (used_ == graphs_.size()) {
    const auto sample = static_cast<std::uint32_t>(used_);
    graphs_.emplace_back(new ComputationGraph(types_, executor_, sample));
  } else {
    graphs_[used_]->index_ = executor_.add_tape(graphs_[used_]->tape_);
  }
  return *graphs_[used_++];
}

void Minibatch::add_loss(const Expression& loss) {
  ComputationGraph& graph = loss.graph("add_loss");
  const ValueRef ref = graph.ref(loss, "add_loss");
  if (graph.executor_ != &executor_) {
    throw UsageError("[add_loss] need an expression of this minibatch; got one of another graph");
  }
  if (graph.tape_.shape_of(loss.i).size != 1) {
    throw ShapeError("[add_loss] need a loss of one number; got " + to_string(loss.dim()));
  }
  losses_.push_back(ref);
}

void Minibatch::add_output(const Expression& output) {
  ComputationGraph& graph = output.graph("add_output");
  const ValueRef ref = graph.ref(output, "add_output");
  if (graph.executor_ != &executor_) {
    throw UsageError("[add_output] need an expression of this minibatch; got one of another graph");
  }
  outputs_.push_back(ref);
}

float Minibatch::forward() {
  find_parts();
  loss_values_.assign(losses_.size(), 0.0);
  ran_backward_ = false;
  if (parts_.size() <= 1) {
    for (const Part& part : parts_) run_part(part);
  } else if (executor_.options().inference) {
    for (const Part& part : parts_) {
      run_part(part);
      if (part.end != used_) executor_.release();
    }
  } else {
    gradients_.clear();
    run_all_parts(gradients_);
    ran_backward_ = true;
  }
  double total = 0;
  for (double loss : loss_values_) total += loss;
  return static_cast<float>(total);
}

const Gradients& Minibatch::backward() {
  check_backward();
  if (ran_backward_) return gradients_;
  gradients_.clear();
  backward(gradients_);
  return gradients_;
}

void Minibatch::backward(Gradients& gradients) {
  check_backward();
  if (parts_.size() > 1) {
    run_all_parts(gradients);
  } else {
    executor_.begin_backward();
    for (const Part& part : parts_) run_backward(part, gradients);
    executor_.finish_backward(gradients);
  }
  for (std::size_t i = 0; i < used_; ++i) graphs_[i]->last_gradients_ = &gradients;
}

void Minibatch::check_backward() const {
  if (executor_.options().inference) {
    throw UsageError(
        "[backward] need a minibatch that keeps its values; got "
        "GraphOptions::inference");
  }
  if (loss_values_.size() != losses_.size()) {
    throw UsageError("[backward] need a call of forward before, and after every add_loss; got " +
                     std::to_string(losses_.size() - loss_values_.size()) + " new losses");
  }
}

// As many samples as fit, at least one.
void Minibatch::find_parts() {
  parts_.clear();
  const std::size_t limit = executor_.options().memory_limit;
  std::size_t bytes = 0;
  for (std::uint32_t sample = 0; sample < used_; ++sample) {
    const std::size_t needed =
        limit == 0 ? 0 : executor_.bytes_needed(sample, !executor_.options().inference);
    if (parts_.empty() || bytes + needed > limit) {
      if (parts_.empty() || limit != 0) {
        parts_.push_back({sample, sample});
        bytes = 0;
      }
    }
    bytes += needed;
    parts_.back().end = sample + 1;
  }
}

std::vector<ValueRef> Minibatch::choose(std::span<const ValueRef> refs, Part part) const {
  std::vector<ValueRef> chosen;
  for (const ValueRef& ref : refs) {
    if (ref.tape >= part.begin && ref.tape < part.end) chosen.push_back(ref);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const ValueRef& a, const ValueRef& b) { return a.tape < b.tape; });
  return chosen;
}

void Minibatch::run_part(Part part) {
  std::vector<ValueRef> all = losses_;
  all.insert(all.end(), outputs_.begin(), outputs_.end());
  executor_.forward(choose(all, part), executor_.options().inference);
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    if (losses_[i].tape < part.begin || losses_[i].tape >= part.end) continue;
    const Tensor loss = executor_.value(losses_[i]);
    for (std::size_t item = 0; item < loss.d.size(); ++item) loss_values_[i] += loss.at(item);
  }
}

void Minibatch::run_backward(Part part, Gradients& gradients) {
  executor_.run_backward(choose(losses_, part), gradients);
}

void Minibatch::run_all_parts(Gradients& gradients) {
  loss_values_.assign(losses_.size(), 0.0);
  executor_.release();
  executor_.begin_backward();
  for (const Part& part : parts_) {
    run_part(part);
    run_backward(part, gradients);
    executor_.release();
  }
  executor_.finish_backward(gradients);
}

void Minibatch::clear() {
  executor_.clear(next_key(executor_.options()));
  for (std::size_t i = 0; i < used_; ++i) graphs_[i]->forget_records();
  used_ = 0;
  losses_.clear();
  outputs_.clear();
  loss_values_.clear();
  parts_.clear();
  gradients_.clear();
  ran_backward_ = false;
  types_->trim();
}

}  // namespace dynet_like
