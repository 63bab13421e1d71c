// ComputationGraph and Expression: what a program asks of its record and of its executor.
#include "dynet_like/graph/computation_graph.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/graph_memory.h"
#include "dynet_like/graph/sample_fibers.h"
#include "dynet_like/report/make_report.h"

namespace dynet_like {

using namespace detail;

namespace {

// For what may be done in for_each_sample, too, where fibers of several threads meet.
std::unique_lock<std::mutex> lock_executor(const GraphRun& run, const char* user) {
  if (run.waiter != nullptr) return run.waiter->lock();
  run.executor_for(user);
  return {};
}

// Without one, the seed that was set is forgotten.
void seed_of_options(GraphMemory& memory, std::uint64_t clears) {
  const std::optional<std::uint64_t>& seed = memory.executor.options().seed;
  std::optional<std::uint64_t>& own = memory.writer.tape().random.seed;
  own.reset();
  if (seed.has_value()) own = derived_seed(*seed, clears, 0);
}

}  // namespace

Expression::Expression(ComputationGraph* graph, std::uint32_t value) {
  if (graph == nullptr) {
    throw UsageError("[Expression] need a value of a graph; got number " + std::to_string(value) +
                     " of 0");
  }
  const Tape& tape = graph->record().tape();
  const OneThread::Use use(tape.user());
  if (value >= tape.values().size()) {
    throw UsageError("[Expression] need a value of a graph; got number " + std::to_string(value) +
                     " of " + std::to_string(tape.values().size()));
  }
  *this = graph->expression(value);
}

const Dim& Expression::dim() const {
  ComputationGraph& owner = graph("dim");
  const OneThread::Use use(owner.record().user());
  if (!owner.record().is_recorded(*this)) throw_reverted("dim");
  return owner.record().dim_of(i);
}

Tensor Expression::value() const { return graph("value").get_value(*this); }

Tensor Expression::gradient() const { return graph("gradient").get_gradient(*this); }

std::string Expression::get_device_name() const {
  graph("get_device_name");
  return "CPU";
}

const Expression& Expression::label(std::string name) const {
  ComputationGraph& owner = graph("label");
  const OneThread::Use use(owner.record().user());
  owner.record().label(*this, std::move(name));
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

Executor& GraphRun::executor_for(const char* user) const {
  if (record.records_a_function()) {
    throw UsageError(
        std::string("[") + user +
        "] need a function that looks at no values; got one that does: it is called once for all "
        "arguments of the same shapes and numbers");
  }
  if (is_beside_others) {
    throw UsageError(
        std::string("[") + user +
        "] need a graph that is recorded alone; got one of a minibatch while its samples are "
        "recorded or run: add_losses runs nothing, and in for_each_sample a sample may ask for "
        "values of its own graph, and for nothing else");
  }
  return executor;
}

void detail::throw_not_derived() {
  throw UsageError(
      "[ComputationGraph] need a graph of the class that is asked for; got one of another, such "
      "as a graph of a Minibatch");
}

ComputationGraph::ComputationGraph(const GraphOptions& options)
    : ComputationGraph(std::make_unique<GraphMemory>(options)) {}

ComputationGraph::ComputationGraph(std::unique_ptr<GraphMemory> memory)
    : own_(std::move(memory)),
      record_(own_->writer, own_->executor.options()),
      run_{record_, own_->executor} {
  record_.set_index(run_.executor.add_tape(own_->writer.tape()));
  record_.use(true);
  seed_of_options(*own_, clears_);
}

ComputationGraph::ComputationGraph(TapeWriter& writer, Executor& executor)
    : record_(writer, executor.options()), run_{record_, executor} {
  record_.use(false);
}

ComputationGraph::~ComputationGraph() = default;

std::size_t ComputationGraph::size() const { return record().tape().size(); }

void ComputationGraph::detect_anomaly(bool detect) {
  const OneThread::Use use(record_.user());
  run_.executor_for("detect_anomaly").common().options.detect_anomaly = detect;
}

Report ComputationGraph::explain() const {
  const OneThread::Use use(record_.user());
  return detail::make_report(run_.executor_for("explain"));
}

Tensor ComputationGraph::forward(const Expression& last) {
  if (run_.waiter != nullptr) return get_value(last);
  const OneThread::Use use(record_.user());
  run_.executor_for("forward").invalidate();
  return get_value(last);
}

// Where a sample waits, others of its thread go on: it is not inside meanwhile.
Tensor ComputationGraph::get_value(const Expression& e) {
  if (run_.waiter == nullptr) {
    const OneThread::Use use(record_.user());
    return run_.executor_for("value").value(record_.ref(e, "value"));
  }
  const ValueRef wanted = record_.ref(e, "value");
  Tensor value;
  run_.waiter->wait_for(std::span(&wanted, 1), std::span(&value, 1));
  return value;
}

std::vector<Tensor> ComputationGraph::get_values(Expressions expressions) {
  std::vector<Tensor> values(expressions.size());
  if (values.empty()) return values;
  std::optional<OneThread::Use> use;
  if (run_.waiter == nullptr) use.emplace(record_.user());
  std::vector<ValueRef> wanted;
  wanted.reserve(values.size());
  for (const Expression& e : expressions) wanted.push_back(record_.ref(e, "values_of"));
  if (run_.waiter != nullptr) {
    run_.waiter->wait_for(wanted, values);
    return values;
  }
  Executor& executor = run_.executor_for("values_of");
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
  const OneThread::Use use(record_.user());
  if (run_.collected == nullptr) run_.own.clear();
  Gradients& gradients = run_.collected != nullptr ? *run_.collected : run_.own;
  backward(loss, gradients, full);
  return gradients;
}

void ComputationGraph::backward(const Expression& loss, Gradients& gradients, bool full) {
  const OneThread::Use use(record_.user());
  const ValueRef root = record_.ref(loss, "backward");
  Executor& executor = run_.executor_for("backward");
  if (executor.options().inference) {
    throw UsageError("[backward] need a graph that keeps its values; got GraphOptions::inference");
  }
  const Tape& tape = std::as_const(record_).tape();
  if (tape.shape_of(loss.i).size != 1) {
    throw ShapeError("[backward] need a loss of one number; got " + to_string(loss.dim()) +
                     labels_of(tape, std::span(&loss.i, 1)));
  }
  executor.common().parameters.check("backward");
  gradients.check_not_used();
  executor.forward(std::span(&root, 1));
  executor.begin_backward();
  executor.run_backward(std::span(&root, 1), gradients, full);
  executor.finish_backward(gradients);
  const bool is_callers = &gradients != &run_.own && &gradients != run_.collected;
  run_.last = is_callers ? nullptr : &gradients;
}

Tensor ComputationGraph::get_gradient(const Expression& e) const {
  const OneThread::Use use(record_.user());
  static const Gradients none;
  const ValueRef value = record_.ref(e, "gradient");
  const Tape& tape = record_.tape();
  const bool is_parameter = tape.type_of(tape.value(value.value).node).op->is_parameter();
  Executor& executor = run_.executor_for("gradient");
  const bool was_run = executor.has_gradients(record_.index());
  if (is_parameter ? run_.last == nullptr : !was_run) {
    throw StateError(was_run
                         ? "[gradient] need a backward pass without Gradients of the caller for "
                           "the gradient of a parameter; got none: look there"
                         : "[gradient] need a backward pass since the values were computed; "
                           "got none: call backward first");
  }
  return executor.gradient(value, run_.last == nullptr ? none : *run_.last);
}

void ComputationGraph::checkpoint() {
  const OneThread::Use use(record_.user());
  record_.writer();  // throws if it must not be recorded on
  const std::unique_lock lock = lock_executor(run_, "checkpoint");
  record_.checkpoint(run_.executor.liveness());
}

void ComputationGraph::revert() {
  const OneThread::Use use(record_.user());
  const std::unique_lock lock = lock_executor(run_, "revert");
  record_.revert(run_.executor.liveness());
}

void ComputationGraph::forget_values(std::size_t first, std::size_t end) {
  const OneThread::Use use(record_.user());
  const std::unique_lock lock = lock_executor(run_, "forget_values");
  run_.executor.liveness().forget_values(record_.index(), first, end);
}

void ComputationGraph::invalidate() {
  const OneThread::Use use(record_.user());
  run_.executor_for("invalidate").invalidate();
}

void ComputationGraph::clear() {
  if (own_ == nullptr) {
    throw UsageError("[clear] need a graph of its own; got one of a minibatch: clear that");
  }
  const OneThread::Use use(record_.user());
  forget_all();
  seed_of_options(*own_, ++clears_);
  run_.executor.add_tape(own_->writer.tape());
}

void ComputationGraph::set_seed(std::uint64_t seed) {
  const OneThread::Use use(record_.user());
  RandomNodes& random = record_.writer().tape().random;
  if (random.count > 0) {
    throw UsageError(
        "[set_seed] need a graph without random numbers; got one that has drawn some: call it "
        "before, or after clear()");
  }
  random.seed = seed;
}

Random ComputationGraph::random() {
  const OneThread::Use use(record_.user());
  if (record_.records_a_function()) {
    throw UsageError(
        "[random] need the graph of a sample; got that of a function, which is called once for all "
        "arguments of the same shapes and numbers: draw outside");
  }
  RandomNodes& random = record_.writer().tape().random;
  const std::uint64_t seed = random.seed_for("random");
  return Random(seed, std::uint64_t{random.count++} << 32);
}

std::unique_ptr<GraphMemory> ComputationGraph::take_memory() {
  forget_all();
  return std::move(own_);
}

void ComputationGraph::forget_all() {
  own_->types->runs.check();
  own_->executor.clear();
  forget_records();
  if (own_->types->trim()) {
    own_->cache.forget();
    own_->executor.forget_types();
  }
}

void ComputationGraph::forget_records() {
  record_.forget();
  run_.last = nullptr;
}

}  // namespace dynet_like
