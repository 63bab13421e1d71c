// Minibatch::record: samples recorded beside each other, with the results of one by one.
#include <algorithm>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/alone.h"
#include "dynet_like/graph/rethrow_in_sample.h"
#include "dynet_like/graph/sample_order.h"
#include "dynet_like/exec/executor.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like {

using namespace detail;

void Minibatch::check_not_recording(const char* user) const {
  if (!recording_.load(std::memory_order_relaxed)) return;
  throw UsageError(std::string("[") + user +
                   "] need a minibatch that is not being recorded; got one inside record, "
                   "add_losses or for_each_sample");
}

// The samples that were recorded before cannot run either: the executor sees all tapes.
void Minibatch::set_recording(bool recording) {
  recording_ = recording;
  for (std::size_t sample = 0; sample < used_; ++sample) {
    graphs_[sample]->beside_others_ = recording;
  }
}

void Minibatch::add_losses(std::span<const Expression> losses) {
  const Alone alone(*this, "add_losses");
  for (const Expression& loss : losses) check_loss(loss, "add_losses");
  losses_.insert(losses_.end(), losses.begin(), losses.end());
}

void Minibatch::add_losses(std::size_t count, const RecordSample& loss_of) {
  const Alone alone(*this, "record");
  const std::vector<Expression> losses = record(count, [&](ComputationGraph& graph, std::size_t i) {
    const Expression loss = loss_of(graph, i);
    check_loss(loss, "add_losses");
    return loss;
  });
  losses_.insert(losses_.end(), losses.begin(), losses.end());
}

std::vector<Expression> Minibatch::record(std::size_t count, const RecordSample& record) {
  const Alone alone(*this, "record");
  const std::size_t first = used_;
  for (std::size_t i = 0; i < count; ++i) new_graph();
  // Not in a destructor: g++ 12 drops stores to members just before it goes on unwinding.
  try {
    set_recording(true);
    std::vector<Expression> expressions = record_from(first, record);
    set_recording(false);
    return expressions;
  } catch (...) {
    set_recording(false);
    throw;
  }
}

std::vector<Expression> Minibatch::record_from(std::size_t first, const RecordSample& record) {
  const std::size_t count = used_ - first;
  const unsigned threads = use_threads(count);
  std::vector<Expression> expressions(count);
  SampleOrder order(count);
  const auto work = [&](unsigned thread) {
    TypeCache& cache = *caches_[thread];
    const OneThread::Use use(cache.user());  // between two operations, too
    TimelineScope scope(executor_->common().track(), TimelineSpan::record_samples);
    std::size_t recorded = 0;
    while (const std::optional<std::size_t> i = order.next()) {
      ComputationGraph& graph = *graphs_[first + *i];
      std::exception_ptr failure;
      cache.begin_sample(threads > 1 ? &order : nullptr, *i);
      graph.tape_->record_with(cache);
      try {
        expressions[*i] = record(graph, *i);
        graph.ref(expressions[*i], "record");  // throws if it is not its own
      } catch (...) {
        failure = std::current_exception();
      }
      graph.tape_->record_with(*caches_[0]);
      cache.end_sample();
      order.finish(*i, failure);
      scope.count(++recorded);
    }
  };
  if (threads == 1) {
    work(0);
  } else {
    executor_->lanes().threads().run(threads, work);
  }
  if (order.failed()) rethrow_in_sample(order.failure(), first + *order.failed());
  return expressions;
}

}  // namespace dynet_like
