// Commands: sums that wait for others, and submission.
#include "dynet_like/device/cuda/commands.h"

#include <algorithm>

#include "dynet_like/core/make_room.h"

namespace dynet_like::detail::cuda {

namespace {

// Larger lists are copied separately.
constexpr std::size_t kLargestList = std::size_t{1} << 20;

}  // namespace

Commands::Commands(Runtime& runtime, std::shared_ptr<MemorySource> memory)
    : runtime_(runtime), stagings_(runtime), scratch_(std::move(memory)) {}

void Commands::multiply(const LibraryProduct& product) {
  append([product](Runtime& runtime) { runtime.multiply(product); });
}

void Commands::copy(void* to, const void* from, std::size_t size) {
  if (size == 0) return;
  append([=](Runtime& runtime) { runtime.copy(to, from, size); });
}

void Commands::zero(void* to, std::size_t size) {
  if (size == 0) return;
  append([=](Runtime& runtime) { runtime.zero(to, size); });
}

void Commands::read(void* to, const void* from, std::size_t size, Mark arrived) {
  append([=](Runtime& runtime) {
    runtime.copy_to_host(to, from, size);
    runtime.mark(arrived);
  });
}

// Whether a sum may run together with those that wait. It must neither read what they write nor
// write what they read, and its place must be equal to one of theirs or overlap none.
bool Commands::joins_sums(DType dtype, const std::byte* sum, std::size_t size,
                          const Addends& addends) const {
  if (segments_.empty()) return true;
  if (dtype != sums_dtype_) return false;
  const std::size_t bytes = size * size_of(dtype);
  for (std::size_t i = 0; i < addends.n; ++i) {
    const auto* from = static_cast<const std::byte*>(addends.dy[i]);
    if (written_.overlaps(from, from + bytes)) return false;
  }
  const auto same = segment_at_.find(sum);
  if (same != segment_at_.end() && segments_[same->second].size == size) return true;
  return !written_.overlaps(sum, sum + bytes) && !read_.overlaps(sum, sum + bytes);
}

void Commands::add_all(DType dtype, void* sum, std::size_t size, const Addends& addends,
                       SumStart start) {
  if (size == 0 || (addends.n == 0 && start == SumStart::there)) return;
  if (steps_.count > 0) finish();
  const auto* place = static_cast<const std::byte*>(sum);
  if (!joins_sums(dtype, place, size, addends)) finish();
  const bool starts_anew = start != SumStart::there && segment_at_.contains(place);
  if (starts_anew) finish();  // the earlier addends are not wanted
  // Reserve memory first, so that a failure leaves no half of a sum.
  make_room(segments_);
  if (addends_.capacity() < addends_.size() + addends.n) {
    addends_.reserve(2 * (addends_.size() + addends.n));
  }
  const std::size_t bytes = size * size_of(dtype);
  written_.add(place, place + bytes);
  for (std::size_t i = 0; i < addends.n; ++i) {
    const auto* from = static_cast<const std::byte*>(addends.dy[i]);
    read_.add(from, from + bytes);
  }
  const auto [at, is_new] =
      segment_at_.emplace(place, static_cast<std::uint32_t>(segments_.size()));
  sums_dtype_ = dtype;
  const std::uint32_t segment = at->second;
  if (is_new) segments_.push_back({sum, size, 0, 0, start});
  segments_[segment].count += addends.n;
  for (std::size_t i = 0; i < addends.n; ++i) addends_.emplace_back(segment, addends.dy[i]);
}

void Commands::write(void* to, const void* from, std::size_t size) {
  if (size == 0) return;
  if (size > kLargestList) {
    submit();
    runtime_.copy_to_device(to, from, size);
    runtime_.wait();
    return;
  }
  const std::size_t element = size_of(DType::f32);
  const void* const staged = stagings_.current().add(from, size);
  if (size % element != 0) return copy(to, staged, size);
  add_all(DType::f32, to, size / element, {&staged, nullptr, 1}, SumStart::first);
}

void Commands::forget_sums() {
  segments_.clear();
  addends_.clear();
  segment_at_.clear();
  read_.clear();
  written_.clear();
}

void Commands::add_step(const WaitingSteps::Kind& kind, const Shape& shape, bool cooperates,
                        std::span<const std::byte> step) {
  if (!segments_.empty()) finish();
  const unsigned blocks = std::max(steps_.shape.blocks_x, shape.blocks_x);
  if (steps_.count > 0 && (steps_.kind != &kind || blocks > kind.most_blocks(runtime_))) finish();
  if (steps_.count == 0) {
    steps_.kind = &kind;
    steps_.shape = shape;
    steps_.cooperate = cooperates;
    steps_.bytes.clear();
  }
  steps_.bytes.insert(steps_.bytes.end(), step.begin(), step.end());
  steps_.shape.blocks_x = std::max(steps_.shape.blocks_x, shape.blocks_x);
  steps_.shape.threads_y = std::max(steps_.shape.threads_y, shape.threads_y);
  steps_.cooperate |= cooperates;
  ++steps_.count;
}

// Must be called before every other call is added.
void Commands::finish() {
  Loans& loans = runtime_.loans();
  if (steps_.count > 0 || !segments_.empty()) {
    loans.begin_late_calls();
    try {
      steps_.count > 0 ? launch_steps() : launch_segments();
    } catch (...) {
      loans.end_late_calls();
      throw;
    }
    loans.end_late_calls();
  }
  loans.expect_call(calls_.size());
}

// The launch calls finish. If there is no memory, the steps keep waiting.
void Commands::launch_steps() {
  WaitingSteps waiting;
  std::swap(waiting, steps_);
  try {
    waiting.kind->launch(*this, waiting);
  } catch (...) {
    std::swap(waiting, steps_);
    throw;
  }
  meetings_ += waiting.count - 1;
  waiting.count = 0;
  std::swap(waiting, steps_);  // keeps the memory
}

void Commands::launch_segments() {
  // Groups the addends by segment, in the order in which they came.
  std::vector<const void*> sorted(addends_.size());
  std::vector<SumSegment> segments = segments_;
  std::size_t first = 0;
  for (SumSegment& segment : segments) {
    segment.first = first;
    first += segment.count;
    segment.count = 0;
  }
  for (const auto& [index, addend] : addends_) {
    SumSegment& segment = segments[index];
    sorted[segment.first + segment.count++] = addend;
  }
  // Launching a sum calls finish. If there is no memory, the sums keep waiting.
  std::vector<SumSegment> waiting;
  waiting.swap(segments_);
  try {
    launch_sums(*this, sums_dtype_, segments, sorted);
  } catch (...) {
    waiting.swap(segments_);
    throw;
  }
  forget_sums();
}

void Commands::submit() {
  finish();
  calls_asked_ = 0;
  calls_wanted_ = kFirstCalls;
  if (calls_.empty()) return;
  const RuntimeUse use(runtime_);
  try {
    stagings_.find_free();
    if (busy_time_) busy_time_->begin_submission();
    stagings_.current().upload();
    runtime_.loans().begin_calls();
    calls_.run(runtime_);
    runtime_.loans().end_calls();
    stagings_.current().end_reading();
    if (busy_time_) busy_time_->end_submission();
  } catch (...) {
    runtime_.loans().end_calls();
    calls_.clear();
    throw;
  }
  calls_.clear();
  reset_scratch();
  stagings_.advance();
}

}  // namespace dynet_like::detail::cuda
