// Values and gradients of one graph, from the executor or at the next wave.
#include "dynet_like/graph/graph_run.h"

#include <algorithm>
#include <optional>
#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/exec/executor.h"
#include "dynet_like/graph/sample_fibers.h"

namespace dynet_like {

namespace detail {

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

// Other samples of the thread run while this one waits: so it must not hold OneThread::Use then.
Tensor GraphRun::value(const Expression& e) const {
  if (waiter == nullptr) {
    const OneThread::Use use(record.user());
    return executor_for("value").value(record.ref(e, "value"));
  }
  const ValueRef wanted = record.ref(e, "value");
  Tensor value;
  waiter->wait_for(std::span(&wanted, 1), std::span(&value, 1));
  return value;
}

std::vector<Tensor> GraphRun::values(Expressions expressions) const {
  std::vector<Tensor> values(expressions.size());
  if (values.empty()) return values;
  std::optional<OneThread::Use> use;
  if (waiter == nullptr) use.emplace(record.user());
  std::vector<ValueRef> wanted;
  wanted.reserve(values.size());
  for (const Expression& e : expressions) wanted.push_back(record.ref(e, "values_of"));
  if (waiter != nullptr) {
    waiter->wait_for(wanted, values);
    return values;
  }
  Executor& executor = executor_for("values_of");
  executor.forward(wanted);
  executor.results().bring(wanted);
  std::transform(wanted.begin(), wanted.end(), values.begin(),
                 [&](ValueRef value) { return executor.value(value); });
  return values;
}

Tensor GraphRun::gradient(const Expression& e) const {
  const OneThread::Use use(record.user());
  static const Gradients none;
  const ValueRef value = record.ref(e, "gradient");
  const Tape& tape = record.tape();
  const bool is_parameter = tape.type_of(tape.value(value.value).node).op->is_parameter();
  Executor& executor = executor_for("gradient");
  const bool was_run = executor.has_gradients(record.index());
  if (is_parameter ? last == nullptr : !was_run) {
    throw StateError(was_run ? "[gradient] need a backward pass without Gradients of your own for "
                               "the gradient of a parameter; got one with: look in these"
                             : "[gradient] need a backward pass since the values were computed; "
                               "got none: call backward first");
  }
  return executor.gradient(value, last == nullptr ? none : *last);
}

}  // namespace detail

std::vector<Tensor> values_of(Expressions expressions) {
  if (expressions.size() == 0) return {};
  return expressions.begin()->graph("values_of").run().values(expressions);
}

}  // namespace dynet_like
