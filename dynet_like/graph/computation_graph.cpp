// ComputationGraph and Expression: handles are checked here, work is done by the executor.
#include "dynet_like/graph/computation_graph.h"

#include "dynet_like/core/errors.h"

namespace dynet_like {

namespace {

RandomKey next_key(const GraphOptions& options) {
  return options.random == nullptr ? RandomKey{} : options.random->next_step();
}

}  // namespace

Dim Expression::dim() const { return graph("dim").tape().dim_of(i); }

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

ComputationGraph::ComputationGraph(const GraphOptions& options)
    : slot_(acquire_handle_slot()),
      tape_(std::make_shared<TypeTable>(), 0, options.dtype),
      own_executor_(std::make_unique<Executor>(options, next_key(options))),
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
  if (e.i >= tape_.value_count()) {
    throw UsageError(std::string("[") + user + "] need an expression that is still recorded; got " +
                     "one that was reverted");
  }
  return {index_, e.i};
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
  last_gradients_ = &gradients;
}

Tensor ComputationGraph::get_gradient(const Expression& e) const {
  static const Gradients none;
  return const_cast<Executor*>(executor_)->gradient(
      ref(e, "gradient"), last_gradients_ == nullptr ? none : *last_gradients_);
}

void ComputationGraph::checkpoint() { checkpoints_.push_back(tape_.mark()); }

void ComputationGraph::revert() {
  if (checkpoints_.empty()) throw UsageError("[revert] need a checkpoint before; got none");
  executor_->revert(index_, checkpoints_.back().nodes);
  tape_.revert(checkpoints_.back());
  checkpoints_.pop_back();
}

void ComputationGraph::invalidate() { executor_->invalidate(); }

void ComputationGraph::clear() {
  if (own_executor_ == nullptr) {
    throw UsageError("[clear] need a graph of its own; got one of a minibatch: clear that");
  }
  executor_->clear(next_key(executor_->options()));
  forget_records();
  tape_.types().trim();
  executor_->add_tape(tape_);
}

void ComputationGraph::forget_records() {
  ++slot_->generation;
  tape_.clear();
  checkpoints_.clear();
  last_gradients_ = nullptr;
}

void ComputationGraph::label(const Expression& e, std::string name) {
  tape_.set_label(tape_.value(ref(e, "label").value).node, std::move(name));
}

}  // namespace dynet_like
