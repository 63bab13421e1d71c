// Minibatch::add_losses: samples recorded beside each other, with the results of one by one.
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
  } catch (const DeviceError& error) {
    throw_in_sample(error, sample);
    throw;
  }
}

}  // namespace

void Minibatch::check_alone(const char* user) const {
  if (!recording_) return;
  throw UsageError(std::string("[") + user +
                   "] need a minibatch that is not being recorded; got one inside add_losses");
}

void Minibatch::set_recording(bool recording, std::size_t first) {
  recording_ = recording;
  for (std::size_t sample = first; sample < used_; ++sample) {
    graphs_[sample]->beside_others_ = recording;
  }
}

void Minibatch::add_losses(std::size_t count, const LossOf& loss_of) {
  check_alone("add_losses");
  const std::size_t first = used_;
  for (std::size_t i = 0; i < count; ++i) new_graph();
  // Not in a destructor: g++ 12 drops stores to members just before it goes on unwinding.
  try {
    set_recording(true, first);
    const std::vector<Expression> losses = record_samples(first, loss_of);
    losses_.insert(losses_.end(), losses.begin(), losses.end());
  } catch (...) {
    set_recording(false, first);
    throw;
  }
  set_recording(false, first);
}

std::vector<Expression> Minibatch::record_samples(std::size_t first, const LossOf& loss_of) {
  const std::size_t count = used_ - first;
  const auto threads = static_cast<unsigned>(
      std::clamp<std::size_t>(count, 1, std::max(1u, executor_.options().threads)));
  while (caches_.size() < threads) caches_.push_back(std::make_unique<TypeCache>(*types_));
  std::vector<Expression> losses(count);
  SampleOrder order(count);
  const auto work = [&](unsigned thread) {
    TypeCache& cache = *caches_[thread];
    while (const std::optional<std::size_t> i = order.next()) {
      Tape& tape = graphs_[first + *i]->tape_;
      std::exception_ptr failure;
      cache.begin_sample(threads > 1 ? &order : nullptr, *i);
      tape.record_with(cache);
      try {
        losses[*i] = record_sample(*graphs_[first + *i], *i, loss_of);
      } catch (...) {
        failure = std::current_exception();
      }
      tape.record_with(*caches_[0]);
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
  return losses;
}

Expression Minibatch::record_sample(ComputationGraph& graph, std::size_t i,
                                    const LossOf& loss_of) const {
  const Expression loss = loss_of(graph, i);
  if (&loss.graph("add_losses") != &graph) {
    throw UsageError("[add_losses] need a loss of the sample's own graph; got one of another");
  }
  check_loss(loss, "add_losses");
  return loss;
}

}  // namespace dynet_like
