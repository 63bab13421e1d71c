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

void Minibatch::add_losses(std::size_t count, const LossOf& loss_of) {
  check_alone("add_losses");
  struct Recording {
    Minibatch& batch;
    std::size_t first = batch.used_;
    ~Recording() { set(false); }
    void set(bool beside_others) {
      batch.recording_ = beside_others;
      for (std::size_t sample = first; sample < batch.used_; ++sample) {
        batch.graphs_[sample]->beside_others_ = beside_others;
      }
    }
  } recording{*this};
  for (std::size_t i = 0; i < count; ++i) new_graph();
  recording.set(true);
  const std::vector<Expression> losses = record_samples(count, loss_of);
  losses_.insert(losses_.end(), losses.begin(), losses.end());
}

std::vector<Expression> Minibatch::record_samples(std::size_t count, const LossOf& loss_of) {
  const std::size_t first = used_ - count;
  const auto threads = static_cast<unsigned>(
      std::clamp<std::size_t>(count, 1, std::max(1u, executor_.options().threads)));
  while (caches_.size() < threads) caches_.push_back(std::make_unique<TypeCache>(*types_));
  std::vector<Expression> losses(count);
  SampleOrder order(count);
  const auto work = [&](unsigned thread) {
    while (const std::optional<std::size_t> i = order.next()) {
      try {
        losses[*i] = record_sample(first + *i, *i, *caches_[thread], threads > 1 ? &order : nullptr,
                                   loss_of);
        order.finish(*i);
      } catch (...) {
        order.finish(*i, std::current_exception());
      }
    }
  };
  if (threads == 1) {
    work(0);
  } else {
    if (pool_ == nullptr) pool_ = std::make_unique<ThreadPool>(executor_.options().threads);
    pool_->run(threads, work);
  }
  if (order.failed()) rethrow(order.failure(), first + *order.failed());
  return losses;
}

Expression Minibatch::record_sample(std::size_t sample, std::size_t i, TypeCache& cache, Turn* turn,
                                    const LossOf& loss_of) {
  ComputationGraph& graph = *graphs_[sample];
  // Whatever happens, the graph is recorded by the caller's thread again afterwards.
  struct Session {
    Session(Tape& tape, TypeCache& cache, TypeCache& callers, Turn* turn, std::size_t i)
        : tape(tape), cache(cache), callers(callers) {
      cache.begin_sample(turn, i);
      tape.record_with(cache);
    }
    ~Session() {
      cache.end_sample();
      tape.record_with(callers);
    }
    Tape& tape;
    TypeCache &cache, &callers;
  } session(graph.tape_, cache, *caches_[0], turn, i);
  const Expression loss = loss_of(graph, i);
  if (&loss.graph("add_losses") != &graph) {
    throw UsageError("[add_losses] need a loss of the sample's own graph; got one of another");
  }
  check_loss(loss, "add_losses");
  return loss;
}

}  // namespace dynet_like
