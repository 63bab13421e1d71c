// Kernels that are wrong on purpose: running them on the CPU finds each fault.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/host/order.h"
#include "dynet_like/core/sanitizer.h"
#include "dynet_like/device/cuda/launch.h"
#include "tests/emulator/launch_errors.h"
#include "tests/support/message_of.h"

namespace dynet_like::detail::cuda {
namespace {

using host::Order;

constexpr unsigned kThreads = 64;
constexpr auto independent = Threads::independent, cooperating = Threads::cooperating;

// A runtime, with numbers on its device.
class EmulatorTest : public testing::Test {
 protected:
  ~EmulatorTest() override {
    for (void* memory : memory_) runtime_.free(memory);
    host::set_schedule({});
  }

  float* make(std::size_t size) {
    memory_.push_back(runtime_.allocate(size * sizeof(float)));
    return static_cast<float*>(memory_.back());
  }
  std::vector<float> read(const float* from, std::size_t size) {
    std::vector<float> numbers(size);
    runtime_.copy_to_host(numbers.data(), from, size * sizeof(float));
    runtime_.wait();
    return numbers;
  }
  template <class... Parameters>
  void launch(const Shape& shape, Threads threads, void (*kernel)(Parameters...),
              std::type_identity_t<Parameters>... arguments) {
    cuda::launch<Parameters...>(runtime_, shape, threads, kernel, arguments...);
  }
  // What a launch into `size` numbers, zeros before, gives in every order, one after the other.
  std::vector<std::vector<float>> in_all_orders(std::size_t size,
                                                const std::function<void(float*)>& run) {
    std::vector<std::vector<float>> results;
    for (const host::Schedule schedule : {host::Schedule{Order::ascending},
                                          {Order::descending},
                                          {Order::random, 1},
                                          {Order::random, 2}}) {
      host::set_schedule(schedule);
      float* const to = make(size);
      runtime_.zero(to, size * sizeof(float));
      run(to);
      results.push_back(read(to, size));
    }
    return results;
  }
  static bool all_same(const std::vector<std::vector<float>>& results) {
    for (const auto& result : results) {
      if (result != results[0]) return false;
    }
    return true;
  }
  // The message of the error that a launch ends with; others can follow it.
  template <class... Parameters>
  std::string error_of(const Shape& shape, Threads threads, void (*kernel)(Parameters...),
                       std::type_identity_t<Parameters>... arguments) {
    return message_of<DeviceError>([&] {
      launch(shape, threads, kernel, arguments...);
      runtime_.wait();
    });
  }

  Runtime runtime_{0};

 private:
  std::vector<void*> memory_;
};

// Reverses the numbers of a block through shared memory.
template <bool with_barrier>
__global__ void reverse(float* to) {
  SHARED_ARRAY(float, numbers, kThreads);
  numbers[threadIdx.x] = static_cast<float>(threadIdx.x);
  if constexpr (with_barrier) __syncthreads();
  to[blockIdx.x * blockDim.x + threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}

TEST_F(EmulatorTest, AMissingBarrierGivesOtherNumbers) {
  const Shape shape{3, 1, 1, kThreads};
  const auto good = in_all_orders(
      3 * kThreads, [&](float* to) { launch(shape, cooperating, reverse<true>, to); });
  EXPECT_TRUE(all_same(good));
  EXPECT_EQ(good[0][0], kThreads - 1.0f);
  const auto bad = in_all_orders(
      3 * kThreads, [&](float* to) { launch(shape, cooperating, reverse<false>, to); });
  EXPECT_FALSE(all_same(bad));
  EXPECT_TRUE(std::isnan(bad[0][0]));  // shared memory is fresh in every block
  EXPECT_TRUE(std::isnan(bad[0][kThreads]));
}

__global__ void add_to_one(float* to) { *to = *to * 0.5f + static_cast<float>(blockIdx.x); }
__global__ void write_own(float* to) {
  to[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y + threadIdx.y * blockDim.x +
     threadIdx.x] = static_cast<float>(1 + blockIdx.x + 10 * threadIdx.y);
}

TEST_F(EmulatorTest, ARaceBetweenBlocksGivesOtherNumbers) {
  EXPECT_FALSE(all_same(in_all_orders(1, [&](float* to) {
    launch({9, 1, 1, 1}, independent, add_to_one, to);
  })));
  for (const Threads threads : {independent, cooperating}) {
    const auto own = in_all_orders(5 * 3 * 8 * 2, [&](float* to) {
      launch({5, 3, 1, 8, 2}, threads, write_own, to);
    });
    EXPECT_TRUE(all_same(own));
    for (const float number : own[0]) EXPECT_GT(number, 0);  // each ran
  }
}

TEST_F(EmulatorTest, OrdersAreSaidByName) {
  ::setenv("DYNET_LIKE_CUDA_HOST_ORDER", "backwards", 1);
  expect_refused<UsageError>(
      "[DYNET_LIKE_CUDA_HOST_ORDER] need ascending, descending, random or random:SEED; got "
      "backwards",
      [] { host::read_schedule(); });
  std::mt19937_64 random;
  for (const Order order : {Order::ascending, Order::descending, Order::random}) {
    for (std::uint64_t count = 1; count < 40; ++count) {
      host::Sequence sequence(count, order, random);
      std::vector<int> seen(count);
      for (std::uint64_t i = 0; i < count; ++i) ++seen.at(sequence.next());
      EXPECT_EQ(seen, std::vector<int>(count, 1));
    }
  }
}

__global__ void some_wait(float* to) {
  if (threadIdx.x < 40) __syncthreads();
  to[threadIdx.x] = 1;
}
__global__ void wait_at_two_places(float* to) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  to[threadIdx.x] = 1;
}

TEST_F(EmulatorTest, ABarrierThatNotAllReachIsAnError) {
  float* const to = make(kThreads);
  const Shape shape{2, 1, 1, kThreads};
  std::string error = error_of(shape, cooperating, some_wait, to);
  EXPECT_HAS(error,
             "[cuda-host] need all threads of a block at one barrier; got thread (0, 0) of "
             "block (0, 0, 0) at the barrier ");
  EXPECT_HAS(error, "/emulator/emulator_test.cpp:");
  EXPECT_HAS(error, "thread (40, 0) of block (0, 0, 0) returned");
  error = error_of(shape, cooperating, wait_at_two_places, to);
  EXPECT_HAS(error, "thread (32, 0) of block (0, 0, 0) at the barrier ");
  launch(shape, cooperating, write_own, make(2 * kThreads));  // and it goes on
}

__global__ void barrier(float*) { __syncthreads(); }
__global__ void shuffle(float* to) { *to = __shfl_sync(0xffffffffu, 1.0f, 0); }
__global__ void share(float* to) {
  SHARED_ARRAY(float, number, 1);
  *to = *number;
}

TEST_F(EmulatorTest, IndependentThreadsCannotWait) {
  for (const auto kernel : {barrier, shuffle, share}) {
    const std::string error = error_of({1, 1, 1, 32}, independent, kernel, make(1));
    EXPECT_HAS(error, "[cuda-host] need launch_cooperating");
    EXPECT_HAS(error, "/emulator/emulator_test.cpp:");
  }
}

__global__ void sum_of_warp(float* to) {
  float sum = static_cast<float>(threadIdx.x);
  for (unsigned by = 16; by > 0; by /= 2) sum += __shfl_down_sync(kWholeWarp, sum, by);
  if (threadIdx.x % 32 == 0) to[threadIdx.x / 32] = sum;
}
__global__ void sums_of_halves(float* to) {
  float sum = static_cast<float>(threadIdx.x);
  const unsigned lane = threadIdx.x % 32;
  if (lane < 16) {  // halves of a warp go different ways, and meet again
    for (unsigned bit = 8; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffu, sum, bit);
  } else {
    for (unsigned bit = 8; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffff0000u, sum, bit);
  }
  __syncwarp();
  to[threadIdx.x] = __shfl_sync(kWholeWarp, sum, lane < 16 ? 31 : 0);
}

TEST_F(EmulatorTest, Shuffles) {
  const auto sums = in_all_orders(2, [&](float* to) {
    launch({1, 1, 1, 64}, cooperating, sum_of_warp, to);
  });
  EXPECT_TRUE(all_same(sums));
  EXPECT_EQ(sums[0], (std::vector<float>{31 * 16, 31 * 16 + 32 * 32}));
  const auto halves = in_all_orders(32, [&](float* to) {
    launch({1, 1, 1, 32}, cooperating, sums_of_halves, to);
  });
  EXPECT_TRUE(all_same(halves));
  EXPECT_EQ(halves[0][0], 16 * 16 + 15 * 8);
  EXPECT_EQ(halves[0][31], 15 * 8);
}

__global__ void shuffle_without_self(float* to) {
  if (threadIdx.x < 8) *to = __shfl_sync(0x7fu, *to, 0);
}
__global__ void shuffle_from_outside(float* to) {
  if (threadIdx.x < 8) *to = __shfl_sync(0xffu, *to, 8);
}
__global__ void shuffle_with_returned(float* to) {
  if (threadIdx.x < 31) *to = __shfl_sync(kWholeWarp, *to, 0);
}
__global__ void shuffle_with_others_at_barrier(float* to) {
  if (threadIdx.x < 16) *to = __shfl_sync(kWholeWarp, *to, 0);
  __syncthreads();
}
__global__ void sync_warp_elsewhere(float* to) {
  if (threadIdx.x < 16) {
    __syncwarp(kWholeWarp);
  } else {
    __syncwarp(0xffffff00u);
  }
  *to = 0;
}

TEST_F(EmulatorTest, WrongMasksAreErrors) {
  const Shape warp{1, 1, 1, 32};
  float* const to = make(1);
  EXPECT_HAS(error_of(warp, cooperating, shuffle_without_self, to),
             "[cuda-host] need a mask that names the thread itself; got mask 127");
  EXPECT_HAS(error_of(warp, cooperating, shuffle_from_outside, to),
             "need a mask that names lane 8, which is read; got mask 255");
  const std::string need = "[cuda-host] need all lanes of a mask in the same warp operation; got ";
  EXPECT_HAS(error_of(warp, cooperating, shuffle_with_returned, to), need);
  EXPECT_HAS(error_of(warp, cooperating, shuffle_with_returned, to),
             "thread (31, 0) of block (0, 0, 0) returned");
  EXPECT_HAS(error_of(warp, cooperating, shuffle_with_others_at_barrier, to),
             "thread (16, 0) of block (0, 0, 0) at the barrier ");
  EXPECT_HAS(error_of(warp, cooperating, sync_warp_elsewhere, to), need);
  EXPECT_HAS(error_of({1, 1, 1, 20}, cooperating, shuffle, to), "no such thread");
}

struct Guard {
  explicit Guard(int* count) : count(count) { ++*count; }
  ~Guard() { --*count; }
  int* count;
};
struct Count {
  int* of_guards;  // in this process
};
__global__ void guarded(Count count) {
  const Guard guard(count.of_guards);
  __syncthreads();
  if (threadIdx.x == 5) throw StateError("thrown by a thread");
  __syncthreads();
}

TEST_F(EmulatorTest, ErrorsUnwindAllThreads) {
  int guards = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_HAS(error_of({2, 1, 1, kThreads}, cooperating, guarded, Count{&guards}),
               "thrown by a thread");
    EXPECT_EQ(guards, 0);
  }
}

__global__ void share_much(float* to) {
  SHARED_ARRAY(float, first, 8 << 10);
  SHARED_ARRAY(float, second, 8 << 10);
  *to = first[0] + second[0];
}

TEST_F(EmulatorTest, WhatNoGpuHasIsAnError) {
  EXPECT_HAS(error_of({}, cooperating, share_much, make(1)),
             "need at most 49152 bytes of shared memory; got 65536");
  for (const Shape shape : {Shape{0}, {1, 65536}, {1, 1, 65536}, {1, 1, 1, 0}, {1, 1, 1, 64, 32}}) {
    EXPECT_HAS(error_of(shape, independent, write_own, nullptr), "[cuda-host] need at least one");
  }
}

__global__ void many_barriers(float* to) {
  SHARED_ARRAY(float, numbers, 256);
  for (int i = 0; i < 10; ++i) {
    numbers[threadIdx.x] = static_cast<float>(i);
    __syncthreads();
    to[threadIdx.x] = numbers[255 - threadIdx.x];
    __syncthreads();
  }
}

// Generous: it is to find what is slower by an order of magnitude.
TEST_F(EmulatorTest, BarriersAreCheap) {
  using Clock = std::chrono::steady_clock;
  float* const to = make(256);
  launch({1, 1, 1, 256}, cooperating, many_barriers, to);
  runtime_.wait();
  const auto begin = Clock::now();
  constexpr unsigned kBlocks = 100;
  launch({kBlocks, 1, 1, 256}, cooperating, many_barriers, to);
  runtime_.wait();
  const std::chrono::duration<double, std::milli> time = Clock::now() - begin;
  RecordProperty("milliseconds_per_block", std::to_string(time.count() / kBlocks));
  EXPECT_LT(time.count() / kBlocks, kSanitized ? 50 : 5);
}

}  // namespace
}  // namespace dynet_like::detail::cuda
