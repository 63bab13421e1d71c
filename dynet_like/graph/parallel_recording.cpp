// Minibatch::record: samples recorded beside each other, with the results of one by one.
#include <algorithm>
#include <typeinfo>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/minibatch.h"
#include "dynet_like/graph/sample_order.h"

namespace dynet_like {

namespace {

// Says in which sample it happened, if it is exactly an exception of the library.
template <class Error>
void throw_in_sample(const Error& error, std::size_t sample) {
  if (typeid(error) != typeid(Error)) return;
  throw Error(std::string(error.what()) + ", in sample " + std::to_string(sample));
}

[[noreturn]] void rethrow(std::exception_ptr failure, std::size_t sample) {
  try {
    std::rethrow_exception(failure);
  } catch (const ShapeError& error) {
    throw_in_sample(error, sample);
    throw;
  } catch (const UsageError& error) {
    throw_in_sample(error, sample);
    throw;
  } catch (const StateError& error) {
    throw_in_sample(error, sample);
    throw;
  } catch (const DeviceError& error) {
    throw_in_sample(error, sample);
    throw;
  }
}

}  // namespace

void Minibatch::check_alone(const char* user) const {
  if (!recording_) return;
  throw UsageError(
      std::string("[") + user +
      "] need a minibatch that is not being recorded; got one inside record or add_losses");
}

// The samples that were recorded before cannot run either: the executor sees all tapes.
void Minibatch::set_recording(bool recording) {
  recording_ = recording;
  for (std::size_t sample = 0; sample < used_; ++sample) {
    graphs_[sample]->beside_others_ = recording;
  }
}

void Minibatch::add_losses(std::size_t count, const RecordSample& loss_of) {
  const std::vector<Expression> losses = record(count, [&](ComputationGraph& graph, std::size_t i) {
    const Expression loss = loss_of(graph, i);
    check_loss(loss, "add_losses");
    return loss;
  });
  losses_.insert(losses_.end(), losses.begin(), losses.end());
}

std::vector<Expression> Minibatch::record(std::size_t count, const RecordSample& record) {
  check_alone("record");
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
  const auto threads = static_cast<unsigned>(
      std::clamp<std::size_t>(count, 1, std::max(1u, executor_.options().threads)));
  while (caches_.size() < threads) caches_.push_back(std::make_unique<TypeCache>(*types_));
  std::vector<Expression> expressions(count);
  SampleOrder order(count);
  const auto work = [&](unsigned thread) {
    TypeCache& cache = *caches_[thread];
    while (const std::optional<std::size_t> i = order.next()) {
      ComputationGraph& graph = *graphs_[first + *i];
      std::exception_ptr failure;
      cache.begin_sample(threads > 1 ? &order : nullptr, *i);
      graph.tape_.record_with(cache);
      try {
        expressions[*i] = record(graph, *i);
        graph.ref(expressions[*i], "record");  // throws if it is not its own
      } catch (...) {
        failure = std::current_exception();
      }
      graph.tape_.record_with(*caches_[0]);
      cache.end_sample();
      order.finish(*i, failure);
    }
  };
  if (threads == 1) {
    work(0);
  } else {
    executor_.threads().run(threads, work);
  }
  if (order.failed()) rethrow(order.failure(), first + *order.failed());
  return expressions;
}

}  // namespace dynet_like
