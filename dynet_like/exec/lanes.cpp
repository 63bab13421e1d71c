// Lanes: consecutive tapes run beside each other, each with a plan, batches and memory of its own.
//
// Samples are independent but for what all share, so lanes need no barrier until gradients of
// parameters are added up: lane by lane, in the order of the samples, as one lane would.
#include <algorithm>

#include "dynet_like/device/timed_queue.h"
#include "dynet_like/exec/executor.h"
#include "dynet_like/exec/make_report.h"

namespace dynet_like::detail {

namespace {

// Fewer steps are done before another thread has begun.
constexpr std::size_t kStepsWorthALane = 100;

}  // namespace

Executor::Executor(const GraphOptions& options)
    : common_(options),
      pool_(std::make_shared<ThreadPool>(std::max(1u, options.threads))),
      queue_(make_queue(pool_, clock_)),
      needed_(common_),
      shared_(common_),
      results_(common_.memory),
      reading_(common_.options.device->make_reading()) {
  use_lanes(1);
}

std::unique_ptr<Queue> Executor::make_queue(std::shared_ptr<ThreadPool> pool,
                                            KernelClock& clock) const {
  std::unique_ptr<Queue> queue = common_.options.device->make_queue(std::move(pool));
  if (!common_.options.measure_time) return queue;
  return std::make_unique<TimedQueue>(std::move(queue), clock, is_on_cpu());
}

void Executor::use_lanes(std::size_t count) {
  while (lanes_.size() < count) {
    auto lane = std::make_unique<Lane>(common_);
    lane->queue = make_queue(nullptr, lane->clock);
    if (common_.options.verify_batching) lane->run.values.spoil();
    lanes_.push_back(std::move(lane));
  }
  used_lanes_ = count;
  for (std::size_t l = 0; l < count; ++l) {
    Lane& lane = *lanes_[l];
    lane.run.queue = count == 1 ? queue_.get() : lane.queue.get();
    KernelClock* const clock = count == 1 ? &clock_ : &lane.clock;
    lane.run.clock = common_.options.measure_time ? clock : nullptr;
  }
  for (std::size_t l = count; l < lanes_.size(); ++l) {
    lanes_[l]->run.first_tape = lanes_[l]->run.end_tape = 0;
  }
}

void Executor::spread(std::uint32_t begin, std::uint32_t end) {
  if (pool_->size() == 1 || !is_on_cpu()) return;
  for (std::size_t l = 0; l < used_lanes_; ++l) {
    const std::vector<Batch>& batches = lanes_[l]->run.batches;
    const auto is_shared = [](const Batch& batch) { return batch.shared; };
    if (!std::all_of(batches.begin(), batches.end(), is_shared)) return;
  }
  std::vector<std::size_t> steps_before(end - begin + 1, 0);
  for (std::uint32_t t = begin; t < end; ++t) {
    steps_before[t - begin + 1] = steps_before[t - begin] + common_.tapes[t].tape->steps();
  }
  const std::size_t steps = steps_before.back();
  const std::size_t count = std::clamp<std::size_t>(
      std::min<std::size_t>(steps / kStepsWorthALane, end - begin), 1, pool_->size());
  use_lanes(count);
  for (std::size_t l = 0; l < count; ++l) {
    // The boundary that is nearest to an equal share of the steps.
    const std::size_t share = steps * (l + 1) / count;
    const auto above = std::lower_bound(steps_before.begin(), steps_before.end(), share);
    const bool below_is_nearer =
        above != steps_before.begin() && share - *(above - 1) < *above - share;
    const auto boundary =
        static_cast<std::uint32_t>(above - steps_before.begin()) - (below_is_nearer ? 1 : 0);
    lanes_[l]->run.first_tape = l == 0 ? 0 : lanes_[l - 1]->run.end_tape;
    lanes_[l]->run.end_tape =
        l + 1 == count ? static_cast<std::uint32_t>(common_.tapes.size()) : begin + boundary;
  }
}

std::size_t Executor::lane_index(std::uint32_t tape) const {
  std::size_t lane = 0;
  while (lane + 1 < used_lanes_ && tape >= lanes_[lane]->run.end_tape) ++lane;
  return lane;
}

template <class Work>
void Executor::for_lanes(const Work& work) {
  if (used_lanes_ == 1) return work(*lanes_[0]);
  pool_->run(static_cast<unsigned>(used_lanes_), [&](unsigned l) {
    Lane& lane = *lanes_[l];
    lane.clock.track = track();
    TimelineScope scope(lane.clock.track, TimelineSpan::lane);
    scope.count(l);
    work(lane);
    if (scope.is_empty()) scope.leave_out();
  });
}

void Executor::forward(std::span<const ValueRef> targets, bool free_unread,
                       std::span<const ValueRef> read_soon) {
  const Running::Use use(common_.running());
  ++common_.runs;
  const std::size_t batches_before = count_batches();
  TimelineTrack* const track = use_track();
  TimelineScope scope(track, TimelineSpan::forward);
  try {
    needed_.collect(targets);
    for (const ReadParameter& read : common_.read_parameters) read.parameter->values.take_writes();
    common_.recomputed += needed_.recomputed();
    reads_freed_ |= needed_.recomputed() > 0 && common_.options.memory_limit == 0;
    const bool frees = free_unread && !reads_freed_;
    lanes_[0]->forward.run(needed_.shared(), true, {});
    needed_.resolve_aliases();
    const std::span<const NodeRef> pending =
        needed_.of_tapes(0, static_cast<std::uint32_t>(common_.tapes.size()));
    note_recording(track, scope.begin(), pending.size());
    for_lanes([&](Lane& lane) {
      lane.forward.run(needed_.of_tapes(lane.run.first_tape, lane.run.end_tape), false,
                       frees ? targets : std::span<const ValueRef>());
    });
    last_forward_ = {needed_.shared().size() + pending.size(), count_batches() - batches_before};
    scope.count(last_forward_.nodes, last_forward_.batches);
    if (last_forward_.nodes == 0) scope.leave_out();
  } catch (...) {
    needed_.forget();
    throw;
  }
  if (!read_soon.empty()) gather(read_soon);  // else what is on its way stays
  queue_->submit();
  note_peak();
  note_recording_begins();
}

std::size_t Executor::count_batches() const {
  std::size_t batches = 0;
  for (std::size_t l = 0; l < used_lanes_; ++l) batches += lanes_[l]->run.batches.size();
  return batches;
}

void Executor::begin_backward() {
  shared_.begin();
  gradient_copies_.clear();
  roots_.clear();
}

void Executor::run_backward(std::span<const ValueRef> roots, Gradients& gradients, bool full) {
  const Running::Use use(common_.running());
  ++common_.runs;
  roots_.insert(roots_.end(), roots.begin(), roots.end());
  TimelineTrack* const track = use_track();
  const TimelineScope scope(track, TimelineSpan::backward);
  for_lanes([&](Lane& lane) { lane.backward.run(roots, full); });
  const TimelineScope sums(track, TimelineSpan::sum_parameters);
  for (std::size_t l = 0; l < used_lanes_; ++l) {
    shared_.add(lanes_[l]->backward.contributions(), *queue_, gradients);
  }
  note_peak();
}

void Executor::run_backward_by_parts(std::span<const ValueRef> roots,
                                     std::span<const std::uint32_t> ends,
                                     std::span<Gradients> gradients, const OnComplete& complete) {
  begin_backward();
  const Running::Use use(common_.running());
  ++common_.runs;
  roots_.assign(roots.begin(), roots.end());
  {
    const TimelineScope scope(use_track(), TimelineSpan::backward);
    for_lanes([&](Lane& lane) { lane.backward.run(roots, false, ends); });
  }
  const TimelineScope scope(use_track(), TimelineSpan::sum_parameters);
  std::vector<const SharedContributions*> contributions;
  for (std::size_t l = 0; l < used_lanes_; ++l) {
    contributions.push_back(&lanes_[l]->backward.contributions());
  }
  shared_.add_parts(contributions, lanes_[0]->run, *queue_, gradients, complete);
  queue_->submit();
  for (std::size_t l = 0; l < used_lanes_; ++l) lanes_[l]->backward.contributions().clear();
  note_peak();
}

std::size_t Executor::value_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t l = 0; l < used_lanes_; ++l) bytes += lanes_[l]->run.values.arena().used();
  return bytes;
}

// Values and gradients are given back to their arenas only between passes. In inference, lists are
// those of one batch at a time.
void Executor::note_peak() {
  std::size_t bytes =
      common_.inputs.used() + common_.shared_values.used() + common_.shared_lists.used();
  for (std::size_t l = 0; l < used_lanes_; ++l) {
    const RunState& run = lanes_[l]->run;
    bytes += run.values.arena().used() + lanes_[l]->backward.bytes();
    bytes += common_.options.inference ? run.lists.peak() : run.lists.used();
  }
  peak_ = std::max(peak_, bytes);
  note_held();
}

void Executor::finish_backward(Gradients& gradients) {
  const Running::Use use(common_.running());
  const TimelineScope scope(use_track(), TimelineSpan::sum_parameters);
  shared_.finish(lanes_[0]->run, *queue_, gradients);
  queue_->submit();
}

// Lanes that are not in use any more have counted what ran in parts before, and keep their memory.
Report Executor::report() const {
  std::vector<const RunState*> runs;
  double longest = 0, all = clock_.seconds;
  for (const auto& lane : lanes_) {
    runs.push_back(&lane->run);
    longest = std::max(longest, lane->clock.seconds);
    all += lane->clock.seconds;
  }
  Report report = make_report(runs);
  report.kernel_seconds = clock_.seconds + longest;
  for (const Report::Type& type : report.types) all -= type.seconds;
  report.other_seconds = std::max(all, 0.0);
  for (const auto& lane : lanes_) report.gradient_bytes += lane->backward.bytes();
  report.peak_bytes = peak_;
  return report;
}

}  // namespace dynet_like::detail
