// Forward and backward passes over tapes.
#include "dynet_like/exec/executor.h"

#include <algorithm>

#include "dynet_like/core/make_room.h"
#include "dynet_like/exec/bounds.h"

namespace dynet_like::detail {

Executor::Executor(const GraphOptions& options)
    : common_(options),
      lanes_(common_),
      needed_(common_),
      shared_(common_),
      results_(common_, lanes_),
      liveness_(common_, lanes_, results_),
      timeline_(common_, lanes_) {}

std::uint32_t Executor::add_tape(Tape& tape) {
  const Running::Use use(tape.types().running);
  make_room(common_.tapes);
  spare_.reserve(common_.tapes.capacity());  // `clear` must not fail
  common_.tapes.push_back({&tape, {}, {}});
  if (!spare_.empty()) {
    common_.tapes.back().nodes = std::move(spare_.back());
    spare_.pop_back();
  }
  timeline_.begin_recording();
  lanes_.add_tape();
  return static_cast<std::uint32_t>(common_.tapes.size() - 1);
}

void Executor::clear() {
  liveness_.forget_all();
  for (TapeState& tape : common_.tapes) spare_.push_back(std::move(tape.nodes));
  common_.tapes.clear();
  common_.released_bounds.clear();
  common_.recomputed = 0;
  roots_.clear();
  lanes_.start_anew();
  timeline_.note_held();
  timeline_.forget_recording();
}

void Executor::forget_types() {
  for (const std::unique_ptr<Lane>& lane : lanes_.all()) lane->run.kernels_of_type.clear();
  common_.shared.clear();
}

void Executor::forward(std::span<const ValueRef> targets, bool free_unread,
                       std::span<const ValueRef> read_soon) {
  const Running::Use use(common_.running());
  ++common_.passes;
  const std::uint64_t batches_before = lanes_.batches();
  TimelineTrack* const track = timeline_.use_track();
  TimelineScope scope(track, TimelineSpan::forward);
  try {
    needed_.collect(targets);
    common_.parameters.take_writes();
    common_.recomputed += needed_.recomputed();
    reads_freed_ |= needed_.recomputed() > 0 && common_.options.memory_limit == 0;
    const bool frees = free_unread && !reads_freed_;
    lanes_.first().forward.run_shared(needed_.shared());
    needed_.resolve_aliases();
    const std::span<const NodeRef> pending =
        needed_.of_tapes(0, static_cast<std::uint32_t>(common_.tapes.size()));
    timeline_.end_recording(track, scope.begin(), pending.size());
    lanes_.for_each([&](Lane& lane) {
      lane.forward.run(needed_.of_tapes(lane.run.first_tape, lane.run.end_tape), targets, frees);
    });
    last_forward_ = {needed_.shared().size() + pending.size(), lanes_.batches() - batches_before};
    scope.count(last_forward_.nodes, last_forward_.batches);
    if (last_forward_.nodes == 0) scope.leave_out();
  } catch (...) {
    needed_.forget();
    throw;
  }
  if (!read_soon.empty()) results_.gather(read_soon);  // otherwise keep earlier reads under way
  lanes_.queue().submit();
  note_peak();
  timeline_.begin_recording();
}

Tensor Executor::value(ValueRef ref) {
  if (!results_.has(ref)) forward(std::span(&ref, 1));
  return results_.value(ref);
}

void Executor::sum_values(std::span<const ValueRef> values, std::span<double> sums) {
  results_.sum(values, sums, [&](ValueRef ref) { return value(ref); });
}

void Executor::begin_backward() {
  shared_.begin();
  results_.forget_gradients();
  roots_.clear();
}

void Executor::run_backward(std::span<const ValueRef> roots, Gradients& gradients, bool full) {
  const Running::Use use(common_.running());
  ++common_.passes;
  roots_.insert(roots_.end(), roots.begin(), roots.end());
  TimelineTrack* const track = timeline_.use_track();
  const TimelineScope scope(track, TimelineSpan::backward);
  lanes_.for_each([&](Lane& lane) { lane.backward.run(roots, full); });
  const TimelineScope sums(track, TimelineSpan::sum_parameters);
  for (const std::unique_ptr<Lane>& lane : lanes_.in_use()) {
    shared_.add(lane->backward.contributions(), lanes_.queue(), gradients);
  }
  note_peak();
}

void Executor::run_backward_by_shards(std::span<const ValueRef> roots,
                                      std::span<const std::uint32_t> ends,
                                      std::span<Gradients> gradients, const OnComplete& complete) {
  begin_backward();
  const Running::Use use(common_.running());
  ++common_.passes;
  roots_.assign(roots.begin(), roots.end());
  {
    const TimelineScope scope(timeline_.use_track(), TimelineSpan::backward);
    lanes_.for_each([&](Lane& lane) { lane.backward.run(roots, false, ends); });
  }
  const TimelineScope scope(timeline_.use_track(), TimelineSpan::sum_parameters);
  std::vector<const SharedContributions*> contributions;
  for (const std::unique_ptr<Lane>& lane : lanes_.in_use()) {
    contributions.push_back(&lane->backward.contributions());
  }
  shared_.add_shards(contributions, lanes_.first().run, lanes_.queue(), gradients, complete);
  lanes_.queue().submit();
  for (const std::unique_ptr<Lane>& lane : lanes_.in_use()) lane->backward.contributions().clear();
  note_peak();
}

void Executor::finish_backward(Gradients& gradients) {
  const Running::Use use(common_.running());
  const TimelineScope scope(timeline_.use_track(), TimelineSpan::sum_parameters);
  shared_.finish(lanes_.first().run, lanes_.queue(), gradients);
  lanes_.queue().submit();
}

Tensor Executor::gradient(ValueRef ref, const Gradients& gradients) {
  return results_.gradient(ref, gradients, roots_);
}

void Executor::release(std::span<const ValueRef> copied) {
  Results::Copies copies = results_.take_copies(copied, [&](ValueRef ref) { return value(ref); });
  count_bounds();
  liveness_.release();
  roots_.clear();
  results_.keep_copies(std::move(copies));
  timeline_.note_held();
}

void Executor::invalidate() {
  if (common_.parameters.may_have_changed(true)) ++parameter_changes_;
  count_bounds();
  liveness_.forget_all();
  roots_.clear();
  timeline_.note_held();
}

void Executor::count_bounds() {
  for (const std::unique_ptr<Lane>& lane : lanes_.in_use()) {
    count_released_bounds(lane->run, released_types_);
  }
}

// Memory of values and gradients is given back to their arenas only between passes. In inference,
// lists exist for one batch at a time.
void Executor::note_peak() {
  std::size_t bytes =
      common_.inputs.used() + common_.shared_values.used() + common_.shared_lists.used();
  for (const std::unique_ptr<Lane>& lane : lanes_.in_use()) {
    const RunState& run = lane->run;
    bytes += run.values.arena().used() + lane->backward.bytes();
    bytes += common_.options.inference ? run.lists.peak() : run.lists.used();
  }
  peak_ = std::max(peak_, bytes);
  timeline_.note_held();
}

// Lanes that are no longer in use keep the counts of earlier parts, and their memory.
Executor::Totals Executor::totals() const {
  Totals totals;
  totals.all_seconds = lanes_.clock().seconds;
  for (const std::unique_ptr<Lane>& lane : lanes_.all()) {
    totals.runs.push_back(&lane->run);
    totals.longest_seconds = std::max(totals.longest_seconds, lane->clock.seconds);
    totals.all_seconds += lane->clock.seconds;
    totals.gradient_bytes += lane->backward.bytes();
  }
  totals.longest_seconds += lanes_.clock().seconds;
  totals.peak_bytes = peak_;
  return totals;
}

}  // namespace dynet_like::detail
