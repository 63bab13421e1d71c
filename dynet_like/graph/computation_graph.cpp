// ComputationGraph: passes calls on to its record and its executor.
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

// For calls that are allowed in for_each_sample, where fibers of several threads share the
// executor.
std::unique_lock<std::mutex> lock_executor(const GraphRun& run, const char* user) {
  if (run.waiter != nullptr) return run.waiter->lock();
  run.executor_for(user);
  return {};
}

// A graph on which functions are recorded keeps what they have recorded for other arguments.
void refuse_function(const GraphRecord& record, const char* user) {
  if (!record.records_a_function()) return;
  throw UsageError("[" + std::string(user) +
                   "] need the graph of a sample; got that of a function of a cell or a recursion, "
                   "which the function must leave as it is");
}

// Forgets a seed that was set, even if the options have none.
void seed_of_options(GraphMemory& memory, std::uint64_t clears) {
  const std::optional<std::uint64_t>& seed = memory.executor.options().seed;
  std::optional<std::uint64_t>& own = memory.writer.tape().random.seed;
  own.reset();
  if (seed.has_value()) own = derived_seed(*seed, clears, 0);
}

}  // namespace

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

ComputationGraph::~ComputationGraph() {
  if (own_ != nullptr) own_->types->user.check_open();  // what throws here ends the program
}

std::size_t ComputationGraph::size() const { return record().tape().size(); }

Report ComputationGraph::explain() const {
  const OneThread::Use use(record_.user());
  return detail::make_report(run_.executor_for("explain"));
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

void ComputationGraph::checkpoint() {
  const OneThread::Use use(record_.user());
  record_.writer();  // throws if it must not be recorded on
  refuse_function(record_, "checkpoint");
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
  if (record_.records_a_function()) return;  // which keeps no values
  Liveness& liveness = run_.executor.liveness();
  if (run_.is_beside_others && run_.waiter == nullptr) {
    return liveness.free_after_last_read(record_.index(), first, end);  // nothing runs meanwhile
  }
  const std::unique_lock lock = lock_executor(run_, "forget_values");
  liveness.forget_values(record_.index(), first, end);
}

void ComputationGraph::invalidate() {
  const OneThread::Use use(record_.user());
  run_.executor_for("invalidate").invalidate();
}

void ComputationGraph::clear() {
  if (own_ == nullptr) {
    throw UsageError(
        "[clear] need a graph outside of a minibatch; got one inside: clear the minibatch");
  }
  const OneThread::Use use(record_.user());
  refuse_function(record_, "clear");
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
  own_->types->running.check();
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
