// Launches whose blocks wait for each other: what steps see, which launches they share, and faults
// planted on purpose.
#include "dynet_like/device/cuda/steps.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/host/faults.h"
#include "dynet_like/device/cuda/host/order.h"
#include "tests/emulator/launch_errors.h"
#include "tests/support/cuda_memory_fixture.h"
#include "tests/support/message_of.h"

namespace dynet_like::detail::cuda {
namespace {

using Floats = std::vector<float>;

constexpr unsigned kBlocks = 3, kThreads = 32, kNumbers = kBlocks * kThreads;

// to[i] = from[i] + the number of another block.
__device__ void add_neighbour(const float* from, float* to, unsigned blocks) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all = blocks * blockDim.x;
  to[i] = from[i] + from[(i + blockDim.x) % all];
}
Floats add_neighbours(const Floats& from, unsigned blocks) {
  Floats to = from;
  for (unsigned i = 0; i < blocks * kThreads; ++i) {
    to[i] = from[i] + from[(i + kThreads) % (blocks * kThreads)];
  }
  return to;
}

enum class Barriers { all, none };
template <Barriers barriers>
__global__ void add_neighbours_by_turns(float* a, float* b) {
  if constexpr (barriers == Barriers::all) {
    in_steps(4,
             [&](unsigned s) { add_neighbour(s % 2 == 0 ? a : b, s % 2 == 0 ? b : a, kBlocks); });
  } else {
    add_neighbour(a, b, kBlocks);
    __syncthreads();
    add_neighbour(b, a, kBlocks);
  }
}
__global__ void share_across_steps(float* to) {
  SHARED_ARRAY(float, number, 1);
  in_steps(2, [&](unsigned s) {
    if (threadIdx.x != 0) return;
    if (s == 0) {
      number[0] = 1;
    } else {
      to[blockIdx.x] = number[0];
    }
  });
}
__global__ void other_counts(float* to) {
  in_steps(2 + blockIdx.x / 2, [&](unsigned) { to[blockIdx.x * blockDim.x + threadIdx.x] = 1; });
}
__global__ void some_leave(float* to) {
  if (blockIdx.x == 1) return;
  in_steps(2, [&](unsigned) { to[blockIdx.x * blockDim.x + threadIdx.x] = 1; });
}

class StepsTest : public CudaMemoryTest<float> {
 protected:
  ~StepsTest() override { host::set_schedule({}); }

  // What is found of a launch, whatever the order is.
  template <class... Parameters>
  std::string error_of(Shape shape, void (*kernel)(Parameters...),
                       std::type_identity_t<Parameters>... arguments) {
    return error_of_launch(shared_->runtime, shape, Threads::cooperating, kernel, arguments...);
  }
  static Shape meeting(unsigned blocks = kBlocks) {
    Shape shape{blocks, 1, 1, kThreads};
    shape.meets = true;
    return shape;
  }
  float* zeros() { return make(Floats(kNumbers)); }
};

TEST_F(StepsTest, EachStepSeesWhatAllBlocksDid) {
  const Floats numbers = draw(kNumbers);
  Floats wanted = numbers;
  for (int i = 0; i < 4; ++i) wanted = add_neighbours(wanted, kBlocks);
  EXPECT_TRUE(same_in_all_orders([&] {
    float* const a = make(numbers);
    launch<float*, float*>(shared_->runtime, meeting(), Threads::independent,
                           add_neighbours_by_turns<Barriers::all>, a, zeros());
    const Floats result = read(a, kNumbers);
    EXPECT_EQ(result, wanted);
    return result;
  }));
}

TEST_F(StepsTest, AMissingBarrierIsARace) {
  EXPECT_EQ(
      error_of(meeting(), add_neighbours_by_turns<Barriers::all>, make(draw(kNumbers)), zeros()),
      "nothing was thrown");
  EXPECT_HAS(
      error_of(meeting(), add_neighbours_by_turns<Barriers::none>, make(draw(kNumbers)), zeros()),
      "[cuda-host] need a barrier between threads where one of them writes; got a ");
}

TEST_F(StepsTest, AllThreadsTakeAllSteps) {
  EXPECT_HAS(error_of(meeting(), other_counts, zeros()),
             "[cuda-host] need as many steps in all threads of a launch; got ");
  EXPECT_HAS(error_of(meeting(), some_leave, zeros()),
             "[cuda-host] need all 96 threads of a launch in each step; got 64");
}

TEST_F(StepsTest, BlocksMeetOnlyWhereTheyAllRunAtOnce) {
  float* const a = zeros();
  EXPECT_HAS(error_of({kBlocks, 1, 1, kThreads}, share_across_steps, a),
             "[cuda-host] need a launch whose blocks may wait for each other; got several steps");
  const unsigned most = most_blocks_at_once(shared_->runtime, share_across_steps, kThreads);
  EXPECT_EQ(error_of(meeting(most), share_across_steps, make(Floats(most))), "nothing was thrown");
  EXPECT_HAS(error_of(meeting(most + 1), share_across_steps, make(Floats(most + 1))),
             "[cudaLaunchKernelExC] need at most " + std::to_string(most) +
                 " blocks of this size that wait for each other; got " + std::to_string(most + 1));
}

TEST_F(StepsTest, SharedMemoryDoesNotLast) {
  float* const a = zeros();
  EXPECT_EQ(error_of(meeting(), share_across_steps, a), "nothing was thrown");
  for (const float number : read(a, kBlocks)) EXPECT_TRUE(std::isnan(number));
}

// ------------------------------------------------------------------------------- shared launches

// Two works: threads of the second one wait for each other.
struct AddNeighbour {
  static constexpr unsigned blocks_at_once = 1;
  static constexpr bool cooperates = false;
  const float* from;
  float* to;
  unsigned blocks;

  __device__ void run() const {
    if (threadIdx.y == 0) add_neighbour(from, to, blocks);
  }
};
struct AddFirst {
  static constexpr unsigned blocks_at_once = 1;
  static constexpr bool cooperates = true;
  const float* from;
  float* to;

  __device__ void run() const {
    SHARED_ARRAY(float, first, 1);
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0 && threadIdx.y == 0) first[0] = from[i];
    __syncthreads();
    if (threadIdx.y == 0) to[i] = from[i] + first[0];
  }
};
using Works = Together<AddNeighbour, AddFirst>;

class SharedLaunchTest : public StepsTest {
 protected:
  // Adds steps between a and b by turns, and does the same here.
  void add_steps(unsigned count, unsigned blocks = kBlocks) {
    Commands& commands = shared_->commands;
    for (unsigned s = 0; s < count; ++s) {
      const Floats before = numbers_;
      if (s % 3 == 1) {
        add_step(commands, Works(), {blocks, 1, 1, kThreads, 2}, AddFirst{a_, b_});
        for (unsigned i = 0; i < numbers_.size(); ++i) {
          numbers_[i] = before[i] + before[i / kThreads * kThreads];
        }
      } else {
        add_step(commands, Works(), {blocks, 1, 1, kThreads}, AddNeighbour{a_, b_, blocks});
        numbers_ = add_neighbours(before, blocks);
      }
      std::swap(a_, b_);
      commands.end_call();
    }
  }
  void make_numbers(unsigned blocks = kBlocks) {
    numbers_ = draw(blocks * kThreads);
    a_ = make(numbers_);
    b_ = make(Floats(numbers_.size()));
  }
  std::uint64_t launches_of(const std::function<void()>& calls) {
    const std::uint64_t before = launches();
    calls();
    return launches() - before;
  }
  void expect_numbers() { EXPECT_EQ(read(a_, numbers_.size()), numbers_); }

  Floats numbers_;
  float *a_ = nullptr, *b_ = nullptr;
};

TEST_F(SharedLaunchTest, StepsShareOne) {
  make_numbers();
  for (const unsigned count : {1u, 2u, 11u}) {
    const std::uint64_t before = shared_->commands.meetings();
    EXPECT_EQ(launches_of([&] { add_steps(count); }), 1u);
    EXPECT_EQ(shared_->commands.meetings() - before, count - 1);
    expect_numbers();
  }
  EXPECT_EQ(launches_of([&] { add_steps(20); }), 2u) << "12 calls are submitted at once";
  expect_numbers();
}

TEST_F(SharedLaunchTest, WhatComesBetweenSeparatesThem) {
  make_numbers();
  float* const sum = make(numbers_);
  const Floats before = numbers_;
  const auto calls = [&] {
    add_steps(3);
    shared_->commands.finish_sums();  // there are none
    add_steps(3);
    add(sum, numbers_.size(), {a_});  // sees six steps
    add(a_, numbers_.size(), {a_});   // and three more see this
    Floats sums = before;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += numbers_[i];
      numbers_[i] += numbers_[i];
    }
    add_steps(3);
    expect_numbers();
    EXPECT_EQ(read(sum, sums.size()), sums);
  };
  EXPECT_EQ(launches_of(calls), 4u);
}

TEST_F(SharedLaunchTest, ManyBlocksRunAlone) {
  const unsigned most =
      most_blocks_at_once(shared_->runtime, run_steps<AddNeighbour, AddFirst>, kStepThreads);
  make_numbers(most);
  EXPECT_EQ(launches_of([&] { add_steps(3, most); }), 1u);
  expect_numbers();
  make_numbers(most + 1);
  EXPECT_EQ(launches_of([&] { add_steps(3, most + 1); }), 3u);
  expect_numbers();
}

TEST_F(SharedLaunchTest, SomeDevicesCannot) {
  host::let_blocks_meet(false);
  shared_ = std::make_shared<Shared>(0);
  host::let_blocks_meet(true);
  make_numbers();
  EXPECT_EQ(launches_of([&] { add_steps(5); }), 5u);
  EXPECT_EQ(shared_->commands.meetings(), 0u);
  expect_numbers();
}

TEST_F(SharedLaunchTest, StepsOfACallThatFailsAreForgotten) {
  make_numbers();
  add_steps(2);
  const Floats wanted = numbers_;
  float* const a = a_;
  EXPECT_THROW(shared_->commands.together([&] {
    add_steps(3);
    throw DeviceError("no");
  }),
               DeviceError);
  EXPECT_EQ(read(a, wanted.size()), wanted);
}

}  // namespace
}  // namespace dynet_like::detail::cuda
