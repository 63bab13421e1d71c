// Works that share launches, in which blocks wait for each other: what separates them, and what
// steps see.
#include "dynet_like/device/cuda/steps.h"

#include <functional>
#include <vector>

#include "tests/emulator/emulator_fixture.h"

namespace dynet_like::detail::cuda {
namespace {

using Floats = std::vector<float>;

constexpr unsigned kBlocks = 3, kThreads = 32;

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

class SharedLaunchTest : public EmulatorTest {
 protected:
  // Adds steps between a and b by turns, and does the same here.
  void add_steps(unsigned count, unsigned blocks = kBlocks) {
    Commands& commands = shared_->commands;  // of the device that is used now
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
