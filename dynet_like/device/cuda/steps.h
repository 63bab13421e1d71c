// Kernels that may share a launch, in which all blocks wait for each other between two of them.
//
// A work is a struct of a kernel's arguments with `__device__ void run() const`. One kernel runs
// works of several types, one after the other: each is a step. Where a device cannot do that, or
// where blocks are too many to run at once, every step is a launch of its own.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "dynet_like/device/cuda/threads.h"
#if defined(__CUDACC__)
#include <cooperative_groups.h>
#endif

namespace dynet_like::detail::cuda {

/// The most threads of a block of a step.
constexpr unsigned kStepThreads = 128;

/// Calls step(0), step(1), ..., step(count - 1). Every block sees what all blocks did in the steps
/// before. Each thread of the launch must call this, once, with the same count. Nothing else is
/// kept from one step to the next: no variable and no shared memory.
template <class F>
__device__ void in_steps(unsigned count, const F& step) {
#if defined(__CUDACC__)
  for (unsigned s = 0; s < count; ++s) {
    if (s > 0) cooperative_groups::this_grid().sync();
    step(s);
  }
#else
  step(host::begin_step(count));
#endif
}

/// The types of works that may share a launch.
template <class... Works>
struct Together {};

/// A work, and the blocks that it needs. `which` is the index of its type.
template <class... Works>
struct Step {
  unsigned which, blocks;
  alignas(16) std::byte work[std::max({sizeof(Works)...})];
};

template <class... Works>
__global__ void __launch_bounds__(kStepThreads, std::min({Works::blocks_at_once...}))
    run_steps(const Step<Works...>* steps, unsigned count) {
  wait_for_earlier();
  in_steps(count, [&](unsigned s) {
    const Step<Works...>& step = steps[s];
    if (blockIdx.x >= step.blocks) return;
    unsigned which = 0;
    const auto run = [&](const auto* work) {
      if (step.which == which++) work->run();
    };
    (run(reinterpret_cast<const Works*>(step.work)), ...);
  });
}

template <class... Works>
void launch_steps(Commands& commands, const WaitingSteps& steps) {
  const std::byte* const list = commands.stage(steps.bytes.data(), steps.bytes.size());
  Shape shape = early(steps.shape);
  shape.meets = steps.count > 1;
  const auto* const all = reinterpret_cast<const Step<Works...>*>(list);
  if (steps.cooperate) {
    commands.launch_cooperating(shape, run_steps<Works...>, all, steps.count);
  } else {
    commands.launch(shape, run_steps<Works...>, all, steps.count);
  }
}

template <class... Works>
unsigned most_step_blocks(Runtime& runtime) {
  return most_blocks_at_once(runtime, run_steps<Works...>, kStepThreads);
}

/// There is one for each family of works; its address says whether steps can share a launch.
template <class... Works>
inline constexpr WaitingSteps::Kind kStepKind = {launch_steps<Works...>,
                                                 most_step_blocks<Works...>};

/// Adds a work that needs shape.blocks_x blocks of shape.threads_y warps.
template <class... Works, class Work>
void add_step(Commands& commands, Together<Works...>, const Shape& shape, const Work& work) {
  static_assert(std::is_trivially_copyable_v<Work>);
  Step<Works...> step{0, shape.blocks_x, {}};
  for (const bool is_same : {std::is_same_v<Work, Works>...}) {
    if (is_same) break;
    ++step.which;
  }
  std::memcpy(step.work, &work, sizeof(work));
  commands.add_step(kStepKind<Works...>, shape, Work::cooperates,
                    std::as_bytes(std::span(&step, 1)));
}

/// Adds works for the `size` elements of n items, a thread for each: make(part).
template <class... Works, class Make>
void add_element_steps(Commands& commands, Together<Works...> works, std::size_t n,
                       std::size_t size, const Make& make) {
  for_parts(n, size, 1, [&](const Part& part) {
    const unsigned blocks = (part.count + kStepThreads - 1) / kStepThreads;
    add_step(commands, works, {blocks, 1, 1, kWarp, kStepThreads / kWarp}, make(part));
  });
}
/// Finds the element of a thread in such a work; false if it has none.
__device__ inline bool find_step_element(const Part& part, Place& place) {
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  const std::uint32_t index = row * blockDim.x + threadIdx.x;
  place = place_in(part, index);
  return index < part.count;
}

}  // namespace dynet_like::detail::cuda
