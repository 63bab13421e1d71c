// Commands: sums that wait for others, and submission.
#include "dynet_like/device/cuda/commands.h"

#include <algorithm>

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

void Commands::add_all(DType dtype, void* sum, std::size_t size, const Addends& addends,
                       SumStart start) {
  if (size == 0 || (addends.n == 0 && start == SumStart::there)) return;
  if (steps_.count > 0 || !sums_.take(dtype, sum, size, addends, start)) finish();
  sums_.add(dtype, sum, size, addends, start);
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

void Commands::add_step(const WaitingSteps::Kind& kind, const Shape& shape, bool cooperates,
                        std::span<const std::byte> step) {
  if (!sums_.is_empty()) finish();
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
  if (steps_.count > 0 || !sums_.is_empty()) {
    loans.begin_late_calls();
    try {
      steps_.count > 0 ? launch_steps() : launch_waiting_sums();
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

// The same for sums.
void Commands::launch_waiting_sums() {
  std::vector<const void*> addends;
  const std::vector<SumSegment> segments = sums_.list(addends);
  WaitingSums waiting;
  std::swap(waiting, sums_);
  try {
    launch_sums(*this, waiting.dtype(), segments, addends);
  } catch (...) {
    std::swap(waiting, sums_);
    throw;
  }
  waiting.clear();
  std::swap(waiting, sums_);
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
