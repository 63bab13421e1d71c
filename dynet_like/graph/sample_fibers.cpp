// SampleFibers: resumes samples, collects the values that they wait for, and computes these.
#include "dynet_like/graph/sample_fibers.h"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/fiber.h"
#include "dynet_like/graph/traced_function.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kBytesWorthGivingBack = 16 << 20;
constexpr std::size_t kLeastStack = 64 << 10;
constexpr std::size_t kSamplesWorthALook = 1024;
constexpr std::size_t kKeptStacks = 1024;  // per thread, from minibatch to minibatch

// Thrown into a sample that must end because another one failed. It never leaves this file.
struct Unwound {};

[[noreturn]] void throw_unwound() {
  // During unwinding the caller may be a destructor, from which Unwound would escape and end the
  // program. It can catch a StateError.
  if (std::uncaught_exceptions() > 0) {
    throw StateError(
        "[value] need a sample that still runs; got one that ends because another failed");
  }
  throw Unwound();
}

}  // namespace

/// A call of `run`, and its progress with samples that arrive.
struct SampleFibers::Job {
  const Run& run;
  const Take* take;  ///< null: all samples are known
  std::size_t first, count;
  unsigned threads;

  std::vector<std::size_t> ended{};    ///< samples whose values are not freed yet
  std::vector<std::size_t> numbers{};  ///< of the arrived samples
  std::size_t come = 0, looked = 0;
  bool drains = false;  ///< takes no samples until all have ended and were forgotten
};

struct SampleFibers::Sample final : ValueWaiter {
  Sample(Part& its_part, std::size_t its_index) : part(its_part), index(its_index) {}

  void wait_for(std::span<const ValueRef> refs, std::span<Tensor> values) override;
  std::unique_lock<std::mutex> lock() override;

  Part& part;
  std::size_t index;
  std::unique_ptr<Fiber> fiber;  ///< from when it begins until it ends
  bool has_ended = false;
  // While it waits; both are on its stack.
  std::span<const ValueRef> wanted;
  std::span<Tensor> places;
  std::exception_ptr refusal;  ///< why a value that it waits for cannot be computed
  std::exception_ptr failure;  ///< what the sample threw
};

/// The samples of one thread.
class SampleFibers::Part {
 public:
  Part(SampleFibers& all, unsigned thread) : all_(all), thread_(thread) {}

  /// Makes samples with these numbers; `open` begins them.
  void begin(std::size_t first, std::size_t count);
  std::size_t room() const { return closed_.size(); }
  std::size_t next() const { return closed_.back()->index; }
  void open();
  /// Resumes all samples that have not ended, until they wait or end. Runs on their own thread, and
  /// so does `unwind`.
  void resume(SampleOrder* order);
  /// Reports the samples that have ended. Runs between waves.
  void end_samples();
  void unwind();
  void forget();
  void keep_stacks(std::size_t most);

  std::span<Sample* const> all_open() const { return open_; }
  const Sample* failed() const { return failed_; }
  /// Whether the sample's function is running now, and not another sample or a fiber inside it.
  bool is_running(const Sample& sample) const {
    return current_ == &sample && sample.fiber->is_current();
  }
  SampleFibers& all() { return all_; }

 private:
  static void run_sample(void* sample);
  void give_fiber(Sample& sample);
  void resume(Sample& sample);

  SampleFibers& all_;
  const unsigned thread_;
  std::vector<Sample> samples_;
  std::vector<Sample*> open_;    ///< opened and not ended, in order
  std::vector<Sample*> closed_;  ///< not opened yet, or ended; the next to open is last
  Sample* current_ = nullptr;
  const Sample* failed_ = nullptr;  ///< the first of this wave
  std::vector<std::unique_ptr<Fiber>> spare_;
  unsigned fibers_ = 0;
};

void SampleFibers::Part::begin(std::size_t first, std::size_t count) {
  samples_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) samples_.emplace_back(*this, first + i);
  for (std::size_t i = count; i-- > 0;) closed_.push_back(&samples_[i]);
  open_.reserve(count);
}

void SampleFibers::Part::open() {
  Sample* const sample = closed_.back();
  const auto is_before = [](const Sample* a, const Sample* b) { return a->index < b->index; };
  open_.insert(std::upper_bound(open_.begin(), open_.end(), sample, is_before), sample);
  closed_.pop_back();
  sample->has_ended = false;
}

void SampleFibers::Part::forget() {
  open_.clear();
  closed_.clear();
  samples_.clear();
  failed_ = nullptr;
}

void SampleFibers::Part::keep_stacks(std::size_t most) {
  if (spare_.size() <= most) return;
  spare_.resize(most);
  fibers_ = static_cast<unsigned>(most);
}

void SampleFibers::Part::resume(SampleOrder* order) {
  SampleGraphs& graphs = all_.samples_;
  TypeCache& cache = graphs.cache(thread_);
  TimelineScope scope(graphs.executor().common().track(), TimelineSpan::run_samples);
  scope.count(open_.size());
  std::optional<OneThread::Use> use;  // also between two operations of a sample
  for (Sample* sample : open_) {
    try {
      if (order != nullptr) {
        if (!use.has_value()) use.emplace(cache.user());
        cache.begin_sample(order, sample->index);
        graphs.tape(all_.job_->first + sample->index).record_with(cache);
      }
      if (sample->fiber == nullptr) give_fiber(*sample);
      resume(*sample);
    } catch (...) {
      sample->failure = std::current_exception();
    }
    if (order != nullptr) order->finish(sample->index, sample->failure);
    if (sample->failure == nullptr) continue;
    failed_ = sample;
    break;
  }
}

void SampleFibers::Part::end_samples() {
  for (Sample* sample : open_) {
    if (!sample->has_ended) continue;
    all_.end(sample->index);
    closed_.push_back(sample);
  }
  std::erase_if(open_, [](const Sample* sample) { return sample->has_ended; });
}

void SampleFibers::Part::give_fiber(Sample& sample) {
  if (spare_.empty()) {
    const std::size_t stack_bytes = all_.samples_.executor().options().stack_bytes;
    try {
      // Reserves room for all fibers, so that returning one allocates nothing.
      if (spare_.capacity() == fibers_) spare_.reserve(2 * spare_.capacity() + 8);
      spare_.push_back(std::make_unique<Fiber>(stack_bytes, fibers_));
    } catch (const std::bad_alloc&) {
      throw DeviceError("[for_each_sample] need a stack of " + counted(stack_bytes, "byte") +
                        " for each of " + counted(all_.job_->count, "sample") + "; got room for " +
                        std::to_string(fibers_) +
                        ": choose fewer samples, smaller stacks by GraphOptions::stack_bytes or, "
                        "for tens of thousands, more memory regions by sysctl vm.max_map_count");
    }
    ++fibers_;
  }
  sample.fiber = std::move(spare_.back());
  spare_.pop_back();
  sample.fiber->set_function(run_sample, &sample);
}

void SampleFibers::Part::resume(Sample& sample) {
  current_ = &sample;
  sample.fiber->resume();
  current_ = nullptr;
  if (sample.has_ended) spare_.push_back(std::move(sample.fiber));
}

void SampleFibers::Part::run_sample(void* argument) {
  Sample& sample = *static_cast<Sample*>(argument);
  try {
    const Job& job = *sample.part.all_.job_;
    ComputationGraph& graph = sample.part.all_.samples_.graph(job.first + sample.index);
    graph.run_.waiter = &sample;
    job.run(graph, sample.index);
  } catch (const Unwound&) {
  } catch (...) {
    sample.failure = std::current_exception();
  }
  sample.has_ended = true;
}

void SampleFibers::Sample::wait_for(std::span<const ValueRef> refs, std::span<Tensor> values) {
  if (!part.is_running(*this)) {
    throw UsageError(
        "[value] need a call by the sample of this graph; got one by another: in for_each_sample a "
        "sample may use only its own graph");
  }
  if (TracedFunction::is_being_recorded()) {
    throw UsageError(
        "[value] need a function that looks at no values; got one of a recursion or cell that asks "
        "for one of its sample");
  }
  if (part.all().unwinding_) throw_unwound();
  wanted = refs;
  places = values;
  fiber->yield();
  if (part.all().unwinding_) throw_unwound();
  if (refusal != nullptr) std::rethrow_exception(std::exchange(refusal, nullptr));
}

std::unique_lock<std::mutex> SampleFibers::Sample::lock() {
  return std::unique_lock(part.all().executor_);
}

// If a sample catches the exception, it is thrown again whenever the sample asks for a value.
void SampleFibers::Part::unwind() {
  for (Sample* sample : open_) {
    if (sample->fiber != nullptr && !sample->has_ended) resume(*sample);
  }
}

SampleFibers::SampleFibers(SampleGraphs& samples, MinibatchPasses& passes)
    : samples_(samples), passes_(passes) {}
SampleFibers::~SampleFibers() = default;

void SampleFibers::run(std::size_t count, const Run& run, const Take* take) {
  const std::size_t stack_bytes = samples_.executor().options().stack_bytes;
  if (stack_bytes < kLeastStack) {
    throw UsageError("[for_each_sample] need GraphOptions::stack_bytes of at least " +
                     std::to_string(kLeastStack) + "; got " + std::to_string(stack_bytes));
  }
  samples_.record_beside_others(count, [&](std::size_t first) {
    Job job{run, take, first, count, samples_.use_threads(count)};
    job.numbers.resize(take != nullptr ? count : 0);
    job_ = &job;
    std::optional<SampleFailure> failure = run_job();
    if (failure) {
      failure->sample = take != nullptr ? job.numbers[failure->sample] : first + failure->sample;
    }
    return failure;
  });
}

std::optional<SampleFailure> SampleFibers::run_job() {
  unwinding_ = false;
  while (parts_.size() < job_->threads) {
    parts_.push_back(std::make_unique<Part>(*this, static_cast<unsigned>(parts_.size())));
  }
  const auto finish = [&](bool failed) {
    unwind();
    for (const std::unique_ptr<Part>& part : parts_) part->forget();
    if (failed) keep_stacks(0);
  };
  try {
    for (unsigned p = 0; p < job_->threads; ++p) {
      const std::size_t first = job_->count * p / job_->threads;
      parts_[p]->begin(first, job_->count * (p + 1) / job_->threads - first);
      while (job_->take == nullptr && parts_[p]->room() > 0) parts_[p]->open();
    }
    std::optional<SampleFailure> failure;
    for (;;) {
      if (job_->take != nullptr) take_samples();
      if (is_idle()) break;
      resume_all();
      failure = first_failure();
      if (failure.has_value()) break;
      for (unsigned p = 0; p < job_->threads; ++p) parts_[p]->end_samples();
      collect_waiting();
      if (!waiting_.empty()) run_wave();
    }
    finish(failure.has_value());
    return failure;
  } catch (...) {
    finish(true);
    throw;
  }
}

void SampleFibers::keep_stacks(std::size_t most) {
  for (const std::unique_ptr<Part>& part : parts_) part->keep_stacks(most);
}

// The thread with the fewest samples gets the next one.
void SampleFibers::take_samples() {
  while (Part* const part = part_with_most_room()) {
    if (!take(part->next(), is_idle())) return;
    part->open();
  }
}

bool SampleFibers::take(std::size_t sample, bool idle) {
  Job& job = *job_;
  if (job.first == 0 && job.come >= job.looked + kSamplesWorthALook) {
    job.drains = samples_.has_much_to_forget();
    job.looked = job.come;
  }
  if (job.drains) {
    if (!idle) return false;
    forget_waves();
    samples_.forget_all();
    job.drains = false;
  }
  if (!(*job.take)(sample, idle)) return false;
  samples_.tape(job.first + sample).random.seed = samples_.seed_of(job.first + job.come);
  job.numbers[sample] = job.come++;
  return true;
}

// The next sample that arrives reuses its graph; otherwise its values may be freed.
void SampleFibers::end(std::size_t sample) {
  if (job_->take != nullptr) return samples_.forget(job_->first + sample);
  job_->ended.push_back(job_->first + sample);
  if (samples_.executor().lanes().value_bytes() < kBytesWorthGivingBack) return;
  for (const std::size_t one : job_->ended) {
    samples_.executor().liveness().end_sample(samples_.graph(one).record().index());
  }
  job_->ended.clear();
}

SampleFibers::Part* SampleFibers::part_with_most_room() {
  const auto most =
      std::max_element(parts_.begin(), parts_.begin() + job_->threads,
                       [](const auto& a, const auto& b) { return a->room() < b->room(); });
  return (*most)->room() > 0 ? most->get() : nullptr;
}

bool SampleFibers::is_idle() const {
  return std::all_of(parts_.begin(), parts_.begin() + job_->threads,
                     [](const auto& part) { return part->all_open().empty(); });
}

void SampleFibers::resume_all() {
  if (job_->threads == 1) return parts_[0]->resume(nullptr);
  std::vector<bool> has_ended(job_->count, true);
  for (unsigned p = 0; p < job_->threads; ++p) {
    for (const Sample* sample : parts_[p]->all_open()) has_ended[sample->index] = false;
  }
  SampleOrder order(std::move(has_ended));
  samples_.executor().lanes().threads().run_on_own_threads(
      job_->threads, [&](unsigned p) { parts_[p]->resume(&order); });
}

std::optional<SampleFailure> SampleFibers::first_failure() const {
  for (unsigned p = 0; p < job_->threads; ++p) {
    const Sample* const sample = parts_[p]->failed();
    if (sample != nullptr) return SampleFailure{sample->index, sample->failure};
  }
  return std::nullopt;
}

void SampleFibers::collect_waiting() {
  waiting_.clear();
  wanted_.clear();
  for (unsigned p = 0; p < job_->threads; ++p) {
    for (Sample* sample : parts_[p]->all_open()) {
      waiting_.push_back(sample);
      wanted_.insert(wanted_.end(), sample->wanted.begin(), sample->wanted.end());
    }
  }
}

void SampleFibers::run_wave() {
  try {
    compute(wanted_, waiting_.size());
  } catch (...) {
    // Computes the values of each sample alone, so that only the faulty samples fail.
    for (Sample* sample : waiting_) {
      try {
        compute(sample->wanted, 1);
      } catch (...) {
        sample->refusal = std::current_exception();
      }
    }
  }
  for (Sample* sample : waiting_) {
    if (sample->refusal != nullptr) continue;
    try {
      std::transform(sample->wanted.begin(), sample->wanted.end(), sample->places.begin(),
                     [&](ValueRef value) { return samples_.executor().value(value); });
    } catch (...) {
      sample->refusal = std::current_exception();
    }
  }
}

void SampleFibers::compute(std::span<const ValueRef> values, std::size_t samples) {
  Executor& executor = samples_.executor();
  TimelineScope scope(executor.common().track(), TimelineSpan::wave);
  executor.timeline().forget_recording();  // samples did the recording
  passes_.compute(values);
  executor.results().bring(values);
  const Executor::Size size = executor.last_forward();
  scope.count(samples, size.nodes, size.batches);
  ++wave_count_;
  if (waves_.size() == Report::kKeptWaves) return;
  waves_.push_back({samples, size.nodes, size.batches});
}

void SampleFibers::unwind() {
  unwinding_ = true;
  if (is_idle()) return;
  samples_.executor().lanes().threads().run_on_own_threads(
      job_->threads, [&](unsigned p) { parts_[p]->unwind(); });
}

void SampleFibers::tell(Report& report) const {
  report.waves = waves_;
  report.wave_count = wave_count_;
}

void SampleFibers::clear() {
  forget_waves();
  keep_stacks(kKeptStacks);
}

void SampleFibers::forget_waves() {
  waves_.clear();
  wave_count_ = 0;
}

}  // namespace dynet_like::detail
