// What a minibatch does for samples on fibers: their graphs wait for values that it computes.
#include "dynet_like/graph/for_each_sample.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/alone.h"
#include "dynet_like/graph/rethrow_in_sample.h"
#include "dynet_like/graph/sample_fibers.h"
#include "dynet_like/exec/executor.h"

namespace dynet_like {

using namespace detail;

namespace {

constexpr std::size_t kBytesWorthGivingBack = 16 << 20;
constexpr std::size_t kLeastStack = 64 << 10;
constexpr std::size_t kSamplesWorthALook = 1024;

}  // namespace

void Minibatch::run_samples(std::size_t count, const RunSample& run) {
  const Alone alone(*this, "for_each_sample");
  run_with_graphs(count, run, nullptr);
}

void Minibatch::run_arriving(std::size_t at_once, const TakeSample& take, const RunSample& run) {
  const Alone alone(*this, "for_each_arriving");
  if (!executor_->options().inference || at_once == 0) {
    throw UsageError(
        "[for_each_arriving] need GraphOptions::inference, and at least one sample at once; got " +
        std::string(executor_->options().inference ? "inference" : "training") + " and " +
        std::to_string(at_once));
  }
  run_with_graphs(at_once, run, take);
}

void Minibatch::run_with_graphs(std::size_t count, const RunSample& run, const TakeSample& take) {
  if (executor_->options().stack_bytes < kLeastStack) {
    throw UsageError("[for_each_sample] need GraphOptions::stack_bytes of at least " +
                     std::to_string(kLeastStack) + "; got " +
                     std::to_string(executor_->options().stack_bytes));
  }
  const std::size_t first = used_;
  for (std::size_t i = 0; i < count; ++i) new_graph();
  if (fibers_ == nullptr) {
    fibers_ = std::make_unique<SampleFibers>(executor_->options().stack_bytes);
  }
  const auto end = [&] {
    for (std::size_t sample = first; sample < used_; ++sample) {
      graphs_[sample]->waiter_ = nullptr;
      graphs_[sample]->tape_->record_with(*caches_[0]);
    }
    for (const std::unique_ptr<TypeCache>& cache : caches_) cache->end_sample();
    set_recording(false);
  };
  // Not in a destructor: g++ 12 drops stores to members just before it goes on unwinding.
  try {
    set_recording(true);
    run_on_fibers(first, run, take);
    end();
  } catch (...) {
    end();
    throw;
  }
}

void Minibatch::run_on_fibers(std::size_t first, const RunSample& run, const TakeSample& take) {
  SampleFibers::Job job;
  job.count = used_ - first;
  job.threads = use_threads(job.count);
  job.track = [&] { return executor_->common().track(); };
  job.run = [&](std::size_t i, ValueWaiter& waiter) {
    ComputationGraph& graph = *graphs_[first + i];
    graph.waiter_ = &waiter;
    run(graph, i);
  };
  job.prepare = [&](std::size_t i, unsigned thread, Turn& turn) {
    caches_[thread]->begin_sample(&turn, i);
    graphs_[first + i]->tape_->record_with(*caches_[thread]);
  };
  job.user = [&](unsigned thread) -> OneThread& { return caches_[thread]->user(); };
  job.compute = [&](std::span<const ValueRef> values, std::size_t samples) {
    compute_wave(values, samples);
  };
  job.read = [&](ValueRef value) { return executor_->value(value); };
  std::vector<std::uint32_t> ended;  // as long as that is not worth while
  job.end = [&](std::size_t i) {
    ended.push_back(graphs_[first + i]->index_);
    if (executor_->lanes().value_bytes() < kBytesWorthGivingBack) return;
    for (const std::uint32_t tape : ended) executor_->liveness().end_sample(tape);
    ended.clear();
  };
  // Nothing is recorded: types are trimmed, as `clear` does, and models that are gone are
  // forgotten.
  const auto forget_all_samples = [&] {
    executor_->clear();
    waves_.clear();
    wave_count_ = 0;
    for (std::size_t i = 0; i < used_; ++i) graphs_[i]->forget_records();
    trim_types(false);
    for (std::size_t i = 0; i < used_; ++i) {
      graphs_[i]->index_ = executor_->add_tape(*graphs_[i]->tape_);
    }
  };
  std::vector<std::size_t> numbers(take != nullptr ? job.count : 0);  // of those that have come
  if (take != nullptr) {
    job.take = [&, come = std::size_t{0}, looked = std::size_t{0}, drains = false](
                   std::size_t i, bool idle) mutable {
      if (first == 0 && come >= looked + kSamplesWorthALook) {
        drains = types_->has_much_to_forget();
        looked = come;
      }
      if (drains) {
        if (!idle) return false;  // those that are there end first
        forget_all_samples();
        drains = false;
      }
      if (!take(i, idle)) return false;
      numbers[i] = come++;
      return true;
    };
    job.end = [&](std::size_t i) { use_again(*graphs_[first + i]); };
  }
  const std::optional<SampleFibers::Failure> failure =
      fibers_->run(job, executor_->lanes().threads());
  if (!failure.has_value()) return;
  rethrow_in_sample(failure->exception,
                    take != nullptr ? numbers[failure->sample] : first + failure->sample);
}

// For the next sample that arrives.
void Minibatch::use_again(ComputationGraph& graph) {
  executor_->liveness().forget_tape(graph.index_);
  graph.forget_records();
  graph.waiter_ = nullptr;
}

void Minibatch::compute_wave(std::span<const ValueRef> values, std::size_t samples) {
  TimelineScope scope(executor_->common().track(), TimelineSpan::wave);
  executor_->timeline().forget_recording();  // samples did that
  forget_changed(false);
  executor_->lanes().spread(0, static_cast<std::uint32_t>(used_));
  executor_->forward(values);
  executor_->results().bring(values);
  const Executor::Size size = executor_->last_forward();
  scope.count(samples, size.nodes, size.batches);
  ++wave_count_;
  if (waves_.size() == Report::kKeptWaves) return;
  waves_.push_back({samples, size.nodes, size.batches});
}

// As many as are worth it; each has a cache of types of its own.
unsigned Minibatch::use_threads(std::size_t samples) {
  const std::size_t most = std::max(1u, executor_->options().threads);
  const auto threads = static_cast<unsigned>(std::clamp<std::size_t>(samples, 1, most));
  while (caches_.size() < threads) caches_.push_back(std::make_unique<TypeCache>(*types_, true));
  return threads;
}

}  // namespace dynet_like
