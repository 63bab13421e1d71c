// ComputationGraph and Expression: handles are checked here, work is done by the executor.
#include "dynet_like/graph/computation_graph.h"

#include <algorithm>
#include <mutex>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/core/text.h"
#include "dynet_like/exec/executor.h"
#include "dynet_like/graph/sample_fibers.h"
#include "dynet_like/report/make_report.h"
#include "dynet_like/tape/tape_writer.h"

namespace dynet_like {

using namespace detail;

Expression::Expression(ComputationGraph* graph, std::uint32_t value) {
  if (graph == nullptr) {
    throw UsageError("[Expression] need a value of a graph; got number " + std::to_string(value) +
                     " of 0");
  }
  const Tape& tape = graph->writer().tape();
  const OneThread::Use use(tape.user());
  if (value >= tape.values().size()) {
    throw UsageError("[Expression] need a value of a graph; got number " + std::to_string(value) +
                     " of " + std::to_string(tape.values().size()));
  }
  *this = graph->expression(value);
}

const Dim& Expression::dim() const {
  ComputationGraph& owner = graph("dim");
  const OneThread::Use use(owner.tape().user());
  if (!owner.is_recorded(*this)) throw_reverted("dim");
  return owner.dim_of(i);
}

Tensor Expression::value() const { return graph("value").get_value(*this); }

Tensor Expression::gradient() const { return graph("gradient").get_gradient(*this); }

std::string Expression::get_device_name() const {
  graph("get_device_name");
  return "CPU";
}

const Expression& Expression::label(std::string name) const {
  graph("label").label(*this, std::move(name));
  return *this;
}

void Expression::throw_stale(const char* user) const {
  throw StateError(std::string("[") + user + "] need an expression of a living graph; got " +
                   (pg == nullptr ? "an empty one" : "one whose graph was cleared or destroyed"));
}

void Expression::throw_reverted(const char* user) {
  throw StateError(std::string("[") + user +
                   "] need an expression that is still recorded; got one that was reverted");
}

GraphMemory::GraphMemory(const GraphOptions& options)
    : executor(std::make_unique<Executor>(options)) {
  auto types = std::make_shared<TypeTable>();
  cache = std::make_unique<TypeCache>(*types);
  writer = std::make_unique<TapeWriter>(std::move(types), *cache, 0, options.dtype);
}

GraphMemory::GraphMemory(std::unique_ptr<TypeCache> recent, std::unique_ptr<TapeWriter> records,
                         std::unique_ptr<Executor> runs)
    : cache(std::move(recent)), writer(std::move(records)), executor(std::move(runs)) {}

GraphMemory::GraphMemory(GraphMemory&&) noexcept = default;
GraphMemory& GraphMemory::operator=(GraphMemory&&) noexcept = default;
GraphMemory::~GraphMemory() = default;

struct ComputationGraph::Checkpoint {
  TapeWriter::Mark tape;
  Liveness::Mark run;
};

struct ComputationGraph::LockedExecutor {
  Executor* executor;
  std::unique_lock<std::mutex> lock;
};

ComputationGraph::ComputationGraph(const GraphOptions& options)
    : ComputationGraph(GraphMemory(options)) {}

ComputationGraph::ComputationGraph(GraphMemory memory)
    : slot_(acquire_handle_slot()),
      own_cache_(std::move(memory.cache)),
      writer_(std::move(memory.writer)),
      tape_(&writer_->tape()),
      own_executor_(std::move(memory.executor)),
      executor_(own_executor_.get()),
      index_(executor_->add_tape(*tape_)) {
  use(true);
  executor_->common().take_step();
}

ComputationGraph::ComputationGraph(const GraphPlace& place)
    : slot_(acquire_handle_slot()),
      writer_(std::make_unique<TapeWriter>(place.types, place.cache, place.sample,
                                           place.executor.options().dtype)),
      tape_(&writer_->tape()),
      executor_(&place.executor) {
  use(false);
}

ComputationGraph::~ComputationGraph() = default;

std::size_t ComputationGraph::size() const { return tape_->size(); }

bool ComputationGraph::is_recorded(const Expression& e) const {
  return e.i < (e.is_latest() ? tape_->values().size() : values_kept_since(e.generation));
}

bool ComputationGraph::has_random() const { return executor_->options().random != nullptr; }
bool ComputationGraph::verifies_batching() const { return executor_->options().verify_batching; }

void ComputationGraph::draw_anew() { executor_->common().take_step(); }

void ComputationGraph::detect_anomaly(bool detect) {
  const OneThread::Use use(tape_->user());
  executor("detect_anomaly").common().options.detect_anomaly = detect;
}

Report ComputationGraph::explain() const {
  const OneThread::Use use(tape_->user());
  return detail::make_report(executor("explain"));
}

ValueRef ComputationGraph::ref(const Expression& e, const char* user) const {
  if (&e.graph(user) != this) {
    throw UsageError(std::string("[") + user + "] need an expression of this graph; got one of " +
                     "another");
  }
  if (!is_recorded(e)) Expression::throw_reverted(user);
  return {index_, e.i};
}

// The fewest values that a revert since then has left. Generations are compared by their distance
// from now, so that they may wrap around.
std::size_t ComputationGraph::values_kept_since(std::uint32_t generation) const {
  const std::uint32_t now = slot_->generation;
  const auto first = std::upper_bound(reverts_.begin(), reverts_.end(), generation,
                                      [now](std::uint32_t made, const Revert& revert) {
                                        return now - made > now - revert.generation;
                                      });
  return first == reverts_.end() ? tape_->values().size() : first->values;
}

void ComputationGraph::use(bool in_use) {
  in_use_ = in_use;
  looks_at_calls_ = !in_use || executor_->options().record_places;
}

void ComputationGraph::look_at_call() {
  if (!in_use_) {
    throw UsageError(
        "[ComputationGraph] need a graph of a minibatch that is in use; got one that was "
        "cleared: ask for a new_graph");
  }
  tape_->calls.note(static_cast<NodeId>(tape_->size()));
}

void ComputationGraph::throw_not_derived() {
  throw UsageError(
      "[ComputationGraph] need a graph of the class that is asked for; got one of another, such "
      "as a graph of a Minibatch");
}

void ComputationGraph::throw_beside_others(const char* user) {
  throw UsageError(
      std::string("[") + user +
      "] need a graph that is recorded alone; got one of a minibatch while its samples are "
      "recorded or run: add_losses runs nothing, and in for_each_sample a sample may ask for "
      "values "
      "of its own graph, and for nothing else");
}

void ComputationGraph::throw_records_function(const char* user) {
  throw UsageError(
      std::string("[") + user +
      "] need a function that looks at no values; got one that does: it is called once for all "
      "arguments of the same shapes and numbers");
}

Tensor ComputationGraph::forward(const Expression& last) {
  if (waiter_ != nullptr) return get_value(last);
  const OneThread::Use use(tape_->user());
  executor("forward").invalidate();
  return get_value(last);
}

// Where a sample waits, others of its thread go on: it is not inside meanwhile.
Tensor ComputationGraph::get_value(const Expression& e) {
  if (waiter_ == nullptr) {
    const OneThread::Use use(tape_->user());
    return executor("value").value(ref(e, "value"));
  }
  const ValueRef wanted = ref(e, "value");
  Tensor value;
  waiter_->wait_for(std::span(&wanted, 1), std::span(&value, 1));
  return value;
}

std::vector<Tensor> ComputationGraph::get_values(Expressions expressions) {
  std::vector<ValueRef> wanted;
  const auto refer = [&] {
    wanted.reserve(expressions.size());
    for (const Expression& e : expressions) wanted.push_back(ref(e, "values_of"));
  };
  std::vector<Tensor> values(expressions.size());
  if (values.empty()) return values;
  if (waiter_ != nullptr) {
    refer();
    waiter_->wait_for(wanted, values);
    return values;
  }
  const OneThread::Use use(tape_->user());
  refer();
  Executor& executor = this->executor("values_of");
  executor.forward(wanted);
  executor.results().bring(wanted);
  std::transform(wanted.begin(), wanted.end(), values.begin(),
                 [&](ValueRef value) { return executor.value(value); });
  return values;
}

std::vector<Tensor> values_of(Expressions expressions) {
  if (expressions.size() == 0) return {};
  return expressions.begin()->graph("values_of").get_values(expressions);
}

const Gradients& ComputationGraph::backward(const Expression& loss, bool full) {
  const OneThread::Use use(tape_->user());
  if (collected_ == nullptr) gradients_.clear();
  Gradients& gradients = collected_ != nullptr ? *collected_ : gradients_;
  backward(loss, gradients, full);
  return gradients;
}

void ComputationGraph::backward(const Expression& loss, Gradients& gradients, bool full) {
  const OneThread::Use use(tape_->user());
  const ValueRef root = ref(loss, "backward");
  Executor& executor = this->executor("backward");
  if (executor.options().inference) {
    throw UsageError("[backward] need a graph that keeps its values; got GraphOptions::inference");
  }
  if (tape_->shape_of(loss.i).size != 1) {
    throw ShapeError("[backward] need a loss of one number; got " + to_string(loss.dim()) +
                     labels_of(*tape_, std::span(&loss.i, 1)));
  }
  executor.common().parameters.check("backward");
  gradients.check_not_used();
  executor.forward(std::span(&root, 1));
  executor.begin_backward();
  executor.run_backward(std::span(&root, 1), gradients, full);
  executor.finish_backward(gradients);
  const bool is_callers = &gradients != &gradients_ && &gradients != collected_;
  last_gradients_ = is_callers ? nullptr : &gradients;
}

Tensor ComputationGraph::get_gradient(const Expression& e) const {
  const OneThread::Use use(tape_->user());
  static const Gradients none;
  const ValueRef value = ref(e, "gradient");
  const bool is_parameter = tape_->type_of(tape_->value(value.value).node).op->is_parameter();
  Executor& executor = this->executor("gradient");
  const bool was_run = executor.has_gradients(index_);
  if (is_parameter ? last_gradients_ == nullptr : !was_run) {
    throw StateError(was_run
                         ? "[gradient] need a backward pass without Gradients of the caller for "
                           "the gradient of a parameter; got none: look there"
                         : "[gradient] need a backward pass since the values were computed; "
                           "got none: call backward first");
  }
  return executor.gradient(value, last_gradients_ == nullptr ? none : *last_gradients_);
}

const Dim& ComputationGraph::dim_of(std::uint32_t id) const {
  const OneThread::Use use(tape_->user());
  if (id >= tape_->values().size()) {
    throw UsageError("[ComputationGraph] need a value below " +
                     std::to_string(tape_->values().size()) + "; got " + index_text(id));
  }
  const Value& value = tape_->value(id);
  if (value.items == 1) return tape_->shape_of(id).dim;
  const auto [found, is_new] = minibatch_dims_.try_emplace({value.shape, value.items});
  if (is_new) found->second = tape_->dim_of(id);
  return found->second;
}

// The executor for what may be done in for_each_sample, too, where fibers of several threads meet.
ComputationGraph::LockedExecutor ComputationGraph::locked(const char* user) {
  if (waiter_ == nullptr) return {&executor(user), std::unique_lock<std::mutex>()};
  return {executor_, waiter_->lock()};
}

void ComputationGraph::checkpoint() {
  const OneThread::Use use(tape_->user());
  writer();
  const auto [executor, lock] = locked("checkpoint");
  checkpoints_.push_back({writer_->mark(), executor->liveness().mark(index_)});
}

void ComputationGraph::revert() {
  const OneThread::Use use(tape_->user());
  const auto [executor, lock] = locked("revert");
  if (checkpoints_.empty()) throw UsageError("[revert] need a checkpoint before; got none");
  make_room(reverts_);  // nothing fails from here on
  const Checkpoint checkpoint = checkpoints_.back();
  checkpoints_.pop_back();
  executor->liveness().revert(index_, checkpoint.tape.nodes, checkpoint.run);
  writer_->revert(checkpoint.tape);
  const auto kept = static_cast<std::uint32_t>(checkpoint.tape.values);
  while (!reverts_.empty() && reverts_.back().values >= kept) reverts_.pop_back();
  reverts_.push_back({++slot_->generation, kept});
}

void ComputationGraph::forget_values(std::size_t first, std::size_t end) {
  const OneThread::Use use(tape_->user());
  const auto [executor, lock] = locked("forget_values");
  executor->liveness().forget_values(index_, first, end);
}

void ComputationGraph::invalidate() {
  const OneThread::Use use(tape_->user());
  executor("invalidate").invalidate();
}

void ComputationGraph::clear() {
  if (own_executor_ == nullptr) {
    throw UsageError("[clear] need a graph of its own; got one of a minibatch: clear that");
  }
  const OneThread::Use use(tape_->user());
  forget_all();
  executor_->common().take_step();
  executor_->add_tape(*tape_);
}

GraphMemory ComputationGraph::take_memory() {
  forget_all();
  return {std::move(own_cache_), std::move(writer_), std::move(own_executor_)};
}

void ComputationGraph::forget_all() {
  tape_->types().runs.check();
  executor_->clear();
  forget_records();
  if (tape_->shared_types()->trim()) {
    own_cache_->forget();
    executor_->forget_types();
  }
}

void ComputationGraph::forget_records() {
  slot_->start_anew();
  writer_->revert({});
  checkpoints_.clear();
  reverts_.clear();
  minibatch_dims_.clear();
  last_gradients_ = nullptr;
}

void ComputationGraph::label(const Expression& e, std::string name) {
  const OneThread::Use use(tape_->user());
  tape_->labels[tape_->value(ref(e, "label").value).node] = std::move(name);
}

}  // namespace dynet_like
