// Divides tapes among lanes.
#include "dynet_like/exec/lanes.h"

#include <algorithm>

#include "dynet_like/device/timed_queue.h"

namespace dynet_like::detail {

namespace {

// With fewer work, the work is done before another thread has started.
constexpr std::size_t kWorkWorthALane = 100;

}  // namespace

Lanes::Lanes(CommonState& common)
    : common_(common),
      pool_(std::make_shared<ThreadPool>(common.options.threads)),
      queue_(make_queue(pool_, clock_)) {
  use(1);
}

std::unique_ptr<Queue> Lanes::make_queue(std::shared_ptr<ThreadPool> pool,
                                         KernelClock& clock) const {
  std::unique_ptr<Queue> queue = common_.options.device->make_queue(std::move(pool));
  if (!common_.options.measure_time) return queue;
  return std::make_unique<TimedQueue>(std::move(queue), clock, common_.is_on_cpu());
}

void Lanes::use(std::size_t count) {
  while (lanes_.size() < count) {
    auto lane = std::make_unique<Lane>(common_);
    lane->queue = make_queue(nullptr, lane->clock);
    if (common_.options.verify_batching) lane->run.values.spoil();
    lanes_.push_back(std::move(lane));
  }
  used_ = count;
  for (const std::unique_ptr<Lane>& lane : in_use()) {
    lane->run.queue = count == 1 ? queue_.get() : lane->queue.get();
    KernelClock* const clock = count == 1 ? &clock_ : &lane->clock;
    lane->run.clock = common_.options.measure_time ? clock : nullptr;
  }
  for (const std::unique_ptr<Lane>& lane : all().subspan(count)) {
    lane->run.first_tape = lane->run.end_tape = 0;
  }
}

void Lanes::start_anew() {
  for (const std::unique_ptr<Lane>& lane : all()) {
    lane->run.first_tape = lane->run.end_tape = 0;
    lane->run.counts.clear();
    lane->clock.seconds = 0;
  }
  clock_.seconds = 0;
  use(1);
}

// The last lane gets new tapes, so that the order of lanes is recording order.
void Lanes::add_tape() {
  lanes_[used_ - 1]->run.end_tape = static_cast<std::uint32_t>(common_.tapes.size());
}

// Shared nodes do not count: they run before lanes are divided.
bool Lanes::has_run() const {
  return std::ranges::any_of(in_use(), [](const std::unique_ptr<Lane>& lane) {
    return !std::ranges::all_of(lane->run.batches, &Batch::shared);
  });
}

void Lanes::spread(std::uint32_t begin, std::uint32_t end) {
  if (pool_->size() == 1 || !common_.is_on_cpu() || has_run()) return;
  std::vector<std::size_t> work_before(end - begin + 1, 0);
  for (std::uint32_t t = begin; t < end; ++t) {
    work_before[t - begin + 1] = work_before[t - begin] + common_.tapes[t].tape->work();
  }
  const std::size_t work = work_before.back();
  const std::size_t count = std::clamp<std::size_t>(
      std::min<std::size_t>(work / kWorkWorthALane, end - begin), 1, pool_->size());
  std::vector<std::uint32_t> ends(count);
  for (std::size_t l = 0; l < count; ++l) {
    // The boundary that is nearest to an equal share of the work.
    const std::size_t share = work * (l + 1) / count;
    const auto above = std::ranges::lower_bound(work_before, share);
    const bool below_is_nearer =
        above != work_before.begin() && share - *(above - 1) < *above - share;
    ends[l] =
        begin + static_cast<std::uint32_t>(above - work_before.begin()) - (below_is_nearer ? 1 : 0);
  }
  split(ends);
}

void Lanes::split(std::span<const std::uint32_t> ends) {
  if (has_run()) return;
  use(ends.size());
  for (std::size_t l = 0; l < ends.size(); ++l) {
    lanes_[l]->run.first_tape = l == 0 ? 0 : ends[l - 1];
    lanes_[l]->run.end_tape =
        l + 1 == ends.size() ? static_cast<std::uint32_t>(common_.tapes.size()) : ends[l];
  }
}

bool Lanes::are_split(std::span<const std::uint32_t> ends) const {
  return std::ranges::equal(in_use(), ends, {},
                            [](const std::unique_ptr<Lane>& lane) { return lane->run.end_tape; });
}

std::size_t Lanes::index_of(std::uint32_t tape) const {
  std::size_t lane = 0;
  while (lane + 1 < used_ && tape >= lanes_[lane]->run.end_tape) ++lane;
  return lane;
}

std::uint64_t Lanes::batches() const {
  std::uint64_t batches = 0;
  for (const std::unique_ptr<Lane>& lane : in_use()) batches += lane->run.counts.batches;
  return batches;
}

std::size_t Lanes::value_bytes() const {
  std::size_t bytes = 0;
  for (const std::unique_ptr<Lane>& lane : in_use()) bytes += lane->run.values.arena().used();
  return bytes;
}

}  // namespace dynet_like::detail
