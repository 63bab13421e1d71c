// ComputationGraph and Expression: handles are checked here, work is done by the executor.
#include "dynet_like/graph/computation_graph.h"

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

Dim Expression::dim() const {
  ComputationGraph& owner = graph("dim");
  if (!owner.is_recorded(*this)) throw_reverted("dim");
  return owner.tape().dim_of(i);
}

Tensor Expression::value() const { return graph("value").get_value(*this); }

Tensor Expression::gradient() const { return graph("gradient").get_gradient(*this); }

const Expression& Expression::label(std::string name) const {
  graph("label").label(*this, std::move(name));
  return *this;
}

void Expression::throw_stale(const char* user) const {
  throw UsageError(std::string("[") + user + "] need an expression of a living graph; got " +
                   (pg == nullptr ? "an empty one" : "one whose graph was cleared or destroyed"));
}

void Expression::throw_reverted(const char* user) {
  throw UsageError(std::string("[") + user +
                   "] need an expression that is still recorded; got one " + "that was reverted");
}

ComputationGraph::ComputationGraph(const GraphOptions& options)
    : slot_(acquire_handle_slot()),
      tape_(std::make_shared<TypeTable>(), 0, options.dtype),
      own_executor_(std::make_unique<Executor>(options)),
      executor_(own_executor_.get()),
      index_(executor_->add_tape(tape_)) {}

ComputationGraph::ComputationGraph(std::shared_ptr<TypeTable> types, Executor& executor,
                                   std::uint32_t sample)
    : slot_(acquire_handle_slot()),
      tape_(std::move(types), sample, executor.options().dtype),
      executor_(&executor),
      index_(executor.add_tape(tape_)) {}

ComputationGraph::~ComputationGraph() { release_handle_slot(slot_); }

ValueRef ComputationGraph::ref(const Expression& e, const char* user) const {
  if (&e.graph(user) != this) {
    throw UsageError(std::string("[") + user + "] need an expression of this graph; got one of " +
                     "another");
  }
  if (!is_recorded(e)) Expression::throw_reverted(user);
  return {index_, e.i};
}

// The fewest values that a revert since then has left.
std::uint32_t ComputationGraph::values_kept_since(std::uint32_t epoch) const {
  const auto first = std::upper_bound(
      reverts_.begin(), reverts_.end(), epoch,
      [](std::uint32_t made, const Revert& revert) { return made < revert.epoch; });
  return first == reverts_.end() ? static_cast<std::uint32_t>(tape_.value_count()) : first->values;
}

void ComputationGraph::throw_not_in_use() {
  throw UsageError(
      "[ComputationGraph] need a graph of a minibatch that is in use; got one that was "
      "cleared: ask for a new_graph");
}

Tensor ComputationGraph::forward(const Expression& last) {
  executor_->invalidate();
  return get_value(last);
}

Tensor ComputationGraph::get_value(const Expression& e) {
  return executor_->value(ref(e, "value"));
}

const Gradients& ComputationGraph::backward(const Expression& loss, bool full) {
  gradients_.clear();
  backward(loss, gradients_, full);
  return gradients_;
}

void ComputationGraph::backward(const Expression& loss, Gradients& gradients, bool full) {
  const ValueRef root = ref(loss, "backward");
  if (executor_->options().inference) {
    throw UsageError("[backward] need a graph that keeps its values; got GraphOptions::inference");
  }
  if (tape_.shape_of(loss.i).size != 1) {
    throw ShapeError("[backward] need a loss of one number; got " + to_string(loss.dim()));
  }
  executor_->forward(std::span(&root, 1));
  executor_->begin_backward();
  executor_->run_backward(std::span(&root, 1), gradients, full);
  executor_->finish_backward(gradients);
  last_gradients_ = &gradients == &gradients_ ? &gradients_ : nullptr;
}

Tensor ComputationGraph::get_gradient(const Expression& e) const {
  static const Gradients none;
  const ValueRef value = ref(e, "gradient");
  const NodeType& type = tape_.type_of(tape_.value(value.value).node);
  const bool is_parameter = type.op == &ops::parameter || type.op == &ops::lookup_parameter;
  if (is_parameter && last_gradients_ == nullptr) {
    throw UsageError(
        "[gradient] need a backward pass without Gradients of the caller for the "
        "gradient of a parameter; got none: look there");
  }
  return executor_->gradient(value, last_gradients_ == nullptr ? none : *last_gradients_);
}

void ComputationGraph::checkpoint() {
  tape();
  checkpoints_.push_back({tape_.mark(), executor_->mark()});
}

void ComputationGraph::revert() {
  if (checkpoints_.empty()) throw UsageError("[revert] need a checkpoint before; got none");
  const Checkpoint checkpoint = checkpoints_.back();
  checkpoints_.pop_back();
  executor_->revert(index_, checkpoint.tape.nodes, checkpoint.run);
  tape_.revert(checkpoint.tape);
  const auto kept = static_cast<std::uint32_t>(checkpoint.tape.values);
  while (!reverts_.empty() && reverts_.back().values >= kept) reverts_.pop_back();
  reverts_.push_back({++epoch_, kept});
}

void ComputationGraph::invalidate() { executor_->invalidate(); }

void ComputationGraph::clear() {
  if (own_executor_ == nullptr) {
    throw UsageError("[clear] need a graph of its own; got one of a minibatch: clear that");
  }
  executor_->clear();
  forget_records();
  tape_.types().trim();
  executor_->add_tape(tape_);
}

void ComputationGraph::forget_records() {
  ++slot_->generation;
  tape_.clear();
  checkpoints_.clear();
  reverts_.clear();
  last_gradients_ = nullptr;
}

void ComputationGraph::label(const Expression& e, std::string name) {
  tape_.set_label(tape_.value(ref(e, "label").value).node, std::move(name));
}

}  // namespace dynet_like
