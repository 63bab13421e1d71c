// What a minibatch does for samples on fibers: their graphs wait for values that it computes.
#include "dynet_like/graph/for_each_sample.h"

#include "dynet_like/graph/rethrow_in_sample.h"
#include "dynet_like/graph/sample_fibers.h"

namespace dynet_like {

void Minibatch::run_samples(std::size_t count, const RunSample& run) {
  check_alone("for_each_sample");
  const std::size_t first = used_;
  for (std::size_t i = 0; i < count; ++i) new_graph();
  if (fibers_ == nullptr) {
    fibers_ = std::make_unique<SampleFibers>(executor_.options().stack_bytes);
  }
  const auto end = [&] {
    set_recording(false);
    for (std::size_t sample = first; sample < used_; ++sample) {
      graphs_[sample]->waiter_ = nullptr;
      graphs_[sample]->tape_.record_with(*caches_[0]);
    }
    for (const std::unique_ptr<TypeCache>& cache : caches_) cache->end_sample();
  };
  // Not in a destructor: g++ 12 drops stores to members just before it goes on unwinding.
  try {
    set_recording(true);
    run_on_fibers(first, run);
    end();
  } catch (...) {
    end();
    throw;
  }
}

void Minibatch::run_on_fibers(std::size_t first, const RunSample& run) {
  SampleFibers::Job job;
  job.count = used_ - first;
  job.threads = use_threads(job.count);
  job.run = [&](std::size_t i, ValueWaiter& waiter) {
    ComputationGraph& graph = *graphs_[first + i];
    graph.waiter_ = &waiter;
    run(graph, i);
  };
  job.prepare = [&](std::size_t i, unsigned thread, Turn* turn) {
    caches_[thread]->begin_sample(turn, i);
    graphs_[first + i]->tape_.record_with(*caches_[thread]);
  };
  job.compute = [&](std::span<const ValueRef> values) { compute_wave(values); };
  job.read = [&](ValueRef value) { return executor_.value(value); };
  job.end = [&](std::size_t i) { executor_.end_sample(graphs_[first + i]->index_); };
  const std::optional<SampleFibers::Failure> failure = fibers_->run(job, executor_.threads());
  if (failure.has_value()) rethrow_in_sample(failure->exception, first + failure->sample);
}

void Minibatch::compute_wave(std::span<const ValueRef> values) {
  forget_changed(false);
  executor_.spread(0, static_cast<std::uint32_t>(used_));
  executor_.forward(values);
  ++wave_count_;
  if (waves_.size() == Report::kKeptWaves) return;
  const Executor::Size size = executor_.last_forward();
  waves_.push_back({values.size(), size.nodes, size.batches});
}

// As many as are worth it; each has a cache of types of its own.
unsigned Minibatch::use_threads(std::size_t samples) {
  const std::size_t most = std::max(1u, executor_.options().threads);
  const auto threads = static_cast<unsigned>(std::clamp<std::size_t>(samples, 1, most));
  while (caches_.size() < threads) caches_.push_back(std::make_unique<TypeCache>(*types_));
  return threads;
}

}  // namespace dynet_like
