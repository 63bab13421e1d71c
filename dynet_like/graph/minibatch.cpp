// Minibatch: runs its graphs together, or part by part where memory is bounded.
#include "dynet_like/graph/minibatch.h"

#include <algorithm>

#include "dynet_like/core/errors.h"

namespace dynet_like {

Minibatch::Minibatch(const GraphOptions& options)
    : types_(std::make_shared<TypeTable>()), executor_(options) {
  caches_.push_back(std::make_unique<TypeCache>(*types_));
  executor_.take_step();
}

ComputationGraph& Minibatch::new_graph() {
  check_alone("new_graph");
  if (used_ == graphs_.size()) {
    const auto sample = static_cast<std::uint32_t>(used_);
    graphs_.emplace_back(new ComputationGraph(types_, *caches_[0], executor_, sample));
  } else {
    graphs_[used_]->index_ = executor_.add_tape(graphs_[used_]->tape_);
    graphs_[used_]->in_use_ = true;
  }
  return *graphs_[used_++];
}

ComputationGraph& Minibatch::graph(std::size_t sample) {
  check_alone("Minibatch::graph");
  if (sample >= used_) {
    throw UsageError("[Minibatch::graph] need a sample below " + std::to_string(used_) + "; got " +
                     std::to_string(sample));
  }
  return *graphs_[sample];
}

const Expression& Minibatch::checked(const Expression& e, const char* user) const {
  if (e.graph(user).executor_ == &executor_) return e;
  throw UsageError(std::string("[") + user +
                   "] need an expression of this minibatch; got one of another graph");
}

void Minibatch::check_loss(const Expression& loss, const char* user) const {
  const Dim dim = checked(loss, user).dim();
  if (dim.batch_size() == 1) return;
  throw ShapeError(std::string("[") + user + "] need a loss of one number; got " + to_string(dim));
}

void Minibatch::add_loss(const Expression& loss) {
  check_alone("add_loss");
  check_loss(loss, "add_loss");
  losses_.push_back(loss);
}

void Minibatch::add_output(const Expression& output) {
  check_alone("add_output");
  ref(checked(output, "add_output"), "add_output");
  outputs_.push_back(output);
}

float Minibatch::forward() {
  check_alone("forward");
  if (executor_.parameters_changed()) executor_.invalidate();
  find_parts();
  ran_backward_ = false;
  ran_forward_ = false;
  loss_values_.assign(losses_.size(), 0.0);
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
  ran_forward_ = true;
  double total = 0;
  for (double loss : loss_values_) total += loss;
  return static_cast<float>(total);
}

const Gradients& Minibatch::backward() {
  check_backward();
  if (!ran_backward_) {
    gradients_.clear();
    backward(gradients_);
  }
  for (std::size_t i = 0; i < used_; ++i) graphs_[i]->last_gradients_ = &gradients_;
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
  for (std::size_t i = 0; i < used_; ++i) graphs_[i]->last_gradients_ = nullptr;
}

void Minibatch::check_backward() const {
  check_alone("backward");
  if (executor_.options().inference) {
    throw UsageError(
        "[backward] need a minibatch that keeps its values; got "
        "GraphOptions::inference");
  }
  if (!ran_forward_ || loss_values_.size() != losses_.size()) {
    throw UsageError(
        "[backward] need a call of forward that succeeded, after every add_loss; got " +
        std::to_string(losses_.size()) + " losses, " +
        std::to_string(ran_forward_ ? loss_values_.size() : 0) + " of them computed");
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

std::vector<ValueRef> Minibatch::choose(std::span<const Expression> expressions, Part part) const {
  std::vector<ValueRef> chosen;
  for (const Expression& e : expressions) {
    const ValueRef value = ref(e, "forward");
    if (part.contains(value)) chosen.push_back(value);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const ValueRef& a, const ValueRef& b) { return a.tape < b.tape; });
  return chosen;
}

void Minibatch::run_part(Part part) {
  std::vector<Expression> all = losses_;
  all.insert(all.end(), outputs_.begin(), outputs_.end());
  executor_.spread(part.begin, part.end);
  executor_.forward(choose(all, part), executor_.options().inference);
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    const ValueRef loss = ref(losses_[i], "forward");
    if (!part.contains(loss)) continue;
    const Tensor value = executor_.value(loss);
    loss_values_[i] = 0;
    for (std::size_t item = 0; item < value.d.size(); ++item) loss_values_[i] += value.at(item);
  }
}

void Minibatch::run_backward(Part part, Gradients& gradients) {
  const std::vector<ValueRef> losses = choose(losses_, part);
  executor_.forward(losses);  // what was forgotten since
  executor_.run_backward(losses, gradients);
}

void Minibatch::run_all_parts(Gradients& gradients) {
  executor_.release();
  executor_.begin_backward();
  for (const Part& part : parts_) {
    run_part(part);
    run_backward(part, gradients);
    executor_.release();
  }
  executor_.finish_backward(gradients);
}

Report Minibatch::explain() const {
  check_alone("explain");
  return executor_.report();
}

void Minibatch::clear() {
  check_alone("clear");
  executor_.clear();
  executor_.take_step();
  for (std::size_t i = 0; i < used_; ++i) {
    graphs_[i]->forget_records();
    graphs_[i]->in_use_ = false;
  }
  used_ = 0;
  losses_.clear();
  outputs_.clear();
  loss_values_.clear();
  parts_.clear();
  gradients_.clear();
  ran_backward_ = ran_forward_ = false;
  if (types_->trim()) {
    for (const std::unique_ptr<TypeCache>& cache : caches_) cache->forget();
  }
}

}  // namespace dynet_like
