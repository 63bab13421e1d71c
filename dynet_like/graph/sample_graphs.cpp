// SampleGraphs: adds samples, records them in parallel with the results of sequential recording,
// and forgets them.
#include "dynet_like/graph/sample_graphs.h"

#include <algorithm>
#include <string>
#include <typeinfo>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/core/random.h"

namespace dynet_like::detail {

namespace {

// Adds the number of the sample to the message of a library exception.
template <class Error, class... Others>
[[noreturn]] void rethrow_in_sample(const SampleFailure& failure) {
  try {
    if constexpr (sizeof...(Others) > 0) rethrow_in_sample<Others...>(failure);
    std::rethrow_exception(failure.exception);
  } catch (const Error& error) {
    if (typeid(error) != typeid(Error)) throw;
    throw Error(std::string(error.what()) + ", in sample " + std::to_string(failure.sample));
  }
}

}  // namespace

SampleGraphs::SampleGraphs(const GraphOptions& options, Make make)
    : make_(make), types_(std::make_shared<TypeTable>()), executor_(options) {
  caches_.push_back(std::make_unique<TypeCache>(*types_));
}

ComputationGraph& SampleGraphs::add() {
  if (used_ == samples_.size()) {
    make_room(samples_);
    auto writer = std::make_unique<TapeWriter>(types_, *caches_[0], executor_.options().dtype);
    std::unique_ptr<ComputationGraph> graph(make_ == nullptr
                                                ? new ComputationGraph(*writer, executor_)
                                                : make_(*writer, executor_).release());
    samples_.push_back({std::move(writer), std::move(graph)});
  }
  const auto& [writer, graph] = samples_[used_];
  Tape& tape = writer->tape();
  tape.random.seed = seed_of(used_);
  graph->record_.set_index(executor_.add_tape(tape));
  graph->record_.use(true);
  ++used_;
  return *graph;
}

std::uint64_t SampleGraphs::seed_of(std::uint64_t sample) const {
  return sample < seeds_.size()
             ? seeds_[sample]
             : derived_seed(executor_.options().seed.value_or(0), clears_, sample);
}

void SampleGraphs::seed_samples(std::span<const std::uint64_t> seeds) {
  if (used_ > 0) {
    throw UsageError("[seed_samples] need a minibatch without samples; got one with " +
                     std::to_string(used_) + ": clear() it first");
  }
  seeds_.assign(seeds.begin(), seeds.end());
}

void SampleGraphs::check(const Expression& e, const char* user) const {
  if (&e.graph(user).run_.executor == &executor_) return;
  throw UsageError(std::string("[") + user +
                   "] need an expression of this minibatch; got one of another graph");
}

ValueRef SampleGraphs::ref(const Expression& e, const char* user) const {
  check(e, user);
  return e.pg->record().ref(e, user);
}

void SampleGraphs::check_not_recording(const char* user) const {
  if (!recording_.load(std::memory_order_relaxed)) return;
  throw UsageError(std::string("[") + user +
                   "] need a minibatch that is not being recorded; got one inside record, "
                   "add_losses or for_each_sample");
}

// Earlier samples cannot run either, since the executor works on all tapes.
void SampleGraphs::set_recording(bool recording) {
  recording_ = recording;
  for (const auto& [writer, graph] : std::span(samples_).first(used_)) {
    graph->run_.is_beside_others = recording;
    graph->run_.waiter = nullptr;
    writer->tape().record_with(*caches_[0]);
  }
  for (const std::unique_ptr<TypeCache>& cache : caches_) cache->end_sample();
}

void SampleGraphs::record_beside_others(std::size_t count, const Work& work) {
  const std::size_t first = used_;
  std::optional<SampleFailure> failure;
  for (std::size_t i = 0; i < count; ++i) add();
  // Not in a destructor: g++ 12 drops stores to members just before it goes on unwinding.
  try {
    set_recording(true);
    failure = work(first);
    set_recording(false);
  } catch (...) {
    set_recording(false);
    throw;
  }
  if (!failure.has_value()) return;
  rethrow_in_sample<ShapeError, UsageError, StateError, DeviceError, NumericError>(*failure);
}

std::vector<Expression> SampleGraphs::record(std::size_t count, const Record& record) {
  std::vector<Expression> expressions(count);
  record_beside_others(count, [&](std::size_t first) {
    const unsigned threads = use_threads(count);
    SampleOrder order(count);
    const auto work = [&](unsigned thread) {
      TypeCache& cache = *caches_[thread];
      const OneThread::Use use(cache.user());  // also between two operations
      TimelineScope scope(executor_.common().track(), TimelineSpan::record_samples);
      std::size_t recorded = 0;
      while (const std::optional<std::size_t> i = order.next()) {
        const auto& [writer, graph] = samples_[first + *i];
        std::exception_ptr failure;
        cache.begin_sample(threads > 1 ? &order : nullptr, *i);
        writer->tape().record_with(cache);
        try {
          expressions[*i] = record(*graph, *i);
          graph->record_.ref(expressions[*i], "record");  // throws if it is of another graph
        } catch (...) {
          failure = std::current_exception();
        }
        writer->tape().record_with(*caches_[0]);
        cache.end_sample();
        order.finish(*i, failure);
        scope.count(++recorded);
      }
    };
    if (threads == 1) {
      work(0);
    } else {
      executor_.lanes().threads().run(threads, work);
    }
    std::optional<SampleFailure> failure = order.failure();
    if (failure.has_value()) failure->sample += first;
    return failure;
  });
  return expressions;
}

unsigned SampleGraphs::use_threads(std::size_t samples) {
  const std::size_t most = std::max(1u, executor_.options().threads);
  const auto threads = static_cast<unsigned>(std::clamp<std::size_t>(samples, 1, most));
  while (caches_.size() < threads) caches_.push_back(std::make_unique<TypeCache>(*types_, true));
  return threads;
}

void SampleGraphs::note_pass(const Gradients* gradients, const Gradients& own) const {
  for (std::size_t i = 0; i < used_; ++i) {
    GraphRun& run = graph(i).run_;
    const bool is_known = gradients == &own || gradients == run.collected;
    run.last = is_known ? gradients : nullptr;
  }
}

void SampleGraphs::forget(std::size_t sample) {
  executor_.liveness().forget_tape(graph(sample).record_.index());
  graph(sample).forget_records();
  graph(sample).run_.waiter = nullptr;
}

void SampleGraphs::forget_all() {
  executor_.clear();
  for (std::size_t i = 0; i < used_; ++i) graph(i).forget_records();
  trim_types(false);
  for (std::size_t i = 0; i < used_; ++i) graph(i).record_.set_index(executor_.add_tape(tape(i)));
}

void SampleGraphs::clear() {
  executor_.clear();
  if (used_ > 0) seeds_.clear();  // else they are for the samples to come
  ++clears_;
  for (std::size_t i = 0; i < used_; ++i) {
    graph(i).forget_records();
    graph(i).record_.use(false);
  }
  used_ = 0;
  trim_types(true);
}

void SampleGraphs::trim_types(bool ends_generation) {
  if (!types_->trim(ends_generation)) return;
  executor_.forget_types();
  for (const std::unique_ptr<TypeCache>& cache : caches_) cache->forget();
}

}  // namespace dynet_like::detail
