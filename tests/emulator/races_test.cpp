// Kernels that lose updates, read misaligned vectors or index beyond their arrays, on purpose: what
// the compiler tells of their accesses shows it, in whatever order threads run.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/host/order.h"
#include "dynet_like/device/cuda/launch.h"
#include "tests/emulator/launch_errors.h"
#include "tests/support/message_of.h"

namespace dynet_like::detail::cuda {
namespace {

constexpr unsigned kThreads = 64;

class RacesTest : public testing::Test {
 protected:
  void SetUp() override { runtime_.zero(there_, kBytes); }
  ~RacesTest() override {
    runtime_.free(there_);
    host::set_schedule({});
  }
  // What is found of a kernel of two blocks, whatever the order is.
  template <class... Parameters>
  std::string error_of(Threads threads, void (*kernel)(Parameters...),
                       std::type_identity_t<Parameters>... arguments) {
    return error_of_launch(runtime_, {2, 1, 1, kThreads}, threads, kernel, arguments...);
  }

  static constexpr std::size_t kBytes = 4096;
  Runtime runtime_{0};
  float* const there_ = static_cast<float*>(runtime_.allocate(kBytes));
};

const std::string kRace =
    "[cuda-host] need a barrier between threads where one of them writes; got a ";

__global__ void add_to_sum(float* sum) { *sum = *sum + 1; }
__global__ void add_to_own(float* sums) {
  float& sum = sums[blockIdx.x * blockDim.x + threadIdx.x];
  sum = sum + sums[1023];
}
// Threads of a block by turns: every one of them sees the sum of those before.
__global__ void add_by_turns(float* sums) {
  for (unsigned turn = 0; turn < blockDim.x; ++turn) {
    if (turn == threadIdx.x) sums[blockIdx.x] = sums[blockIdx.x] + 1;
    __syncthreads();
  }
}

TEST_F(RacesTest, ALostUpdate) {
  EXPECT_HAS(error_of(Threads::independent, add_to_sum, there_), kRace);
  EXPECT_HAS(error_of(Threads::cooperating, add_to_sum, there_), kRace);
  EXPECT_EQ(error_of(Threads::independent, add_to_own, there_), "nothing was thrown");
  EXPECT_EQ(error_of(Threads::cooperating, add_by_turns, there_), "nothing was thrown");
}

__global__ void add_across_blocks(float* sums) {
  if (threadIdx.x == 0) *sums = *sums + 1;
  __syncthreads();
}
__global__ void read_a_neighbour(float* numbers) {
  const unsigned i = threadIdx.x, other = (i + 1) % blockDim.x;
  float* const own = numbers + blockIdx.x * blockDim.x;
  own[i] = own[other];
}

TEST_F(RacesTest, BarriersOrderOneBlock) {
  EXPECT_HAS(error_of(Threads::cooperating, add_across_blocks, there_), " of block 1 beside a ");
  EXPECT_HAS(error_of(Threads::cooperating, read_a_neighbour, there_), kRace);
}

template <bool with_barrier>
__global__ void share_a_number(float* to) {
  SHARED_ARRAY(float, numbers, kThreads);
  numbers[threadIdx.x] = 1;
  if constexpr (with_barrier) __syncthreads();
  to[blockIdx.x * blockDim.x + threadIdx.x] = numbers[(threadIdx.x + 1) % blockDim.x];
}
// A warp writes, waits for itself, and reads what its lanes wrote. A shuffle waits, too, but orders
// no memory.
enum class Wait { none, shuffle, barrier };
template <Wait wait>
__global__ void share_in_a_warp(float* to) {
  SHARED_ARRAY(float, numbers, kThreads);
  const unsigned warp = threadIdx.x / kWarp * kWarp, lane = threadIdx.x % kWarp;
  const auto wait_here = [] {
    if constexpr (wait == Wait::shuffle) static_cast<void>(__shfl_sync(kWholeWarp, 1, 0));
    if constexpr (wait == Wait::barrier) __syncwarp();
  };
  numbers[threadIdx.x] = 1;
  wait_here();
  const float other = numbers[warp + (lane + 1) % kWarp];
  wait_here();
  numbers[threadIdx.x] = other;
  to[blockIdx.x * blockDim.x + threadIdx.x] = other;
}

TEST_F(RacesTest, SharedMemoryNeedsThem) {
  EXPECT_EQ(error_of(Threads::cooperating, share_a_number<true>, there_), "nothing was thrown");
  EXPECT_HAS(error_of(Threads::cooperating, share_a_number<false>, there_), kRace);
  EXPECT_EQ(error_of(Threads::cooperating, share_in_a_warp<Wait::barrier>, there_),
            "nothing was thrown");
  EXPECT_HAS(error_of(Threads::cooperating, share_in_a_warp<Wait::none>, there_), kRace);
  EXPECT_HAS(error_of(Threads::cooperating, share_in_a_warp<Wait::shuffle>, there_), kRace);
}

__global__ void read_vector(float* numbers, unsigned at) {
  const auto* const vectors = reinterpret_cast<const float4*>(numbers + at);
  numbers[128 + blockIdx.x * blockDim.x + threadIdx.x] = vectors->x + vectors->w;
}

TEST_F(RacesTest, AMisalignedVector) {
  EXPECT_EQ(error_of(Threads::independent, read_vector, there_, 4), "nothing was thrown");
  const std::string error = error_of(Threads::independent, read_vector, there_, 3);
  EXPECT_HAS(error, "need an address that is a multiple of 16; got one that is 12 beyond at ");
  EXPECT_HAS(error, "races_test.cpp:");
}

__global__ void exponentials(float* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = std::exp(static_cast<float>(i) / 16);
}

// Functions are as far from the CPU's as a GPU's may be, and the same every time.
TEST_F(RacesTest, FunctionsRoundAsAGpus) {
  EXPECT_EQ(error_of(Threads::independent, exponentials, there_), "nothing was thrown");
  std::vector<float> first(128), second(128);
  runtime_.copy_to_host(first.data(), there_, 512);
  EXPECT_EQ(error_of(Threads::independent, exponentials, there_), "nothing was thrown");
  runtime_.copy_to_host(second.data(), there_, 512);
  runtime_.wait();
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[0], 1);
  int others = 0;
  for (int i = 0; i < 128; ++i) {
    const auto exact = static_cast<float>(std::exp(i / 16.0));
    EXPECT_NEAR(first[i], exact, 3e-7 * exact);
    others += first[i] != exact;
  }
  EXPECT_GT(others, 50);
}

// What may begin before the kernel before it has ended waits before it reads.
__global__ void add_after_wait(float* sums) {
  wait_for_earlier();
  sums[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
__global__ void wait_after_read(float* sums) {
  const float before = sums[1000];
  wait_for_earlier();
  sums[blockIdx.x * blockDim.x + threadIdx.x] = before;
}
__global__ void some_wait(float* sums) {
  if (threadIdx.x != 5) wait_for_earlier();
  sums[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

TEST_F(RacesTest, EarlyKernelsWaitFirst) {
  const auto error_of_early = [&](void (*kernel)(float*)) {
    return message_of<DeviceError>([&] {
      cuda::launch<float*>(runtime_, early({2, 1, 1, kThreads}), Threads::independent, kernel,
                           there_);
      runtime_.wait();
    });
  };
  const std::string fault = "[cuda-host] need wait_for_earlier before the memory of the device";
  EXPECT_EQ(error_of_early(add_after_wait), "nothing was thrown");
  EXPECT_HAS(error_of_early(wait_after_read), fault);
  EXPECT_HAS(error_of_early(some_wait), fault);
  EXPECT_EQ(error_of(Threads::independent, wait_after_read, there_), "nothing was thrown");
}

}  // namespace
}  // namespace dynet_like::detail::cuda
