// Kernels that are wrong on purpose: the emulator finds each fault, and none in kernels that are
// right.
#include <cmath>
#include <functional>
#include <ostream>
#include <vector>

#include "dynet_like/device/cuda/steps.h"
#include "tests/emulator/emulator_fixture.h"

namespace dynet_like::detail::cuda {
namespace {

using Floats = std::vector<float>;

constexpr unsigned kThreads = 64, kBlocks = 2, kNumbers = kThreads * kBlocks;
constexpr auto independent = Threads::independent, cooperating = Threads::cooperating;

Shape meeting(unsigned blocks = kBlocks) {
  Shape shape{blocks, 1, 1, kThreads};
  shape.meets = true;
  return shape;
}

__device__ unsigned own() {
  return (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y +
         threadIdx.y * blockDim.x + threadIdx.x;
}

// ------------------------------------------------------------------------------------------ races

__global__ void add_to_sum(float* sum) { *sum = *sum + 1; }
__global__ void add_to_own(float* sums) { sums[own()] = sums[own()] + sums[1000] + 1; }
// Threads of a block by turns: every one of them sees the sum of those before.
__global__ void add_by_turns(float* sums) {
  for (unsigned turn = 0; turn < blockDim.x; ++turn) {
    if (turn == threadIdx.x) sums[blockIdx.x] = sums[blockIdx.x] + 1;
    __syncthreads();
  }
}
__global__ void add_across_blocks(float* sums) {
  if (threadIdx.x == 0) *sums = *sums + 1;
  __syncthreads();
}
__global__ void read_a_neighbour(float* numbers) {
  const unsigned other = (threadIdx.x + 1) % blockDim.x;
  numbers[own()] = numbers[blockIdx.x * blockDim.x + other];
}
// Reverses the numbers of a block through shared memory.
template <bool with_barrier>
__global__ void reverse(float* to) {
  SHARED_ARRAY(float, numbers, kThreads);
  numbers[threadIdx.x] = static_cast<float>(threadIdx.x);
  if constexpr (with_barrier) __syncthreads();
  to[own()] = numbers[blockDim.x - 1 - threadIdx.x];
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
  numbers[threadIdx.x] = static_cast<float>(lane);
  wait_here();
  const float other = numbers[warp + (lane + 1) % kWarp];
  wait_here();
  numbers[threadIdx.x] = other;
  to[own()] = other;
}

// ----------------------------------------------------------------------- barriers, masks, limits

__global__ void some_reach_a_barrier(float* to) {
  if (threadIdx.x < 40) __syncthreads();
  to[own()] = 1;
}
__global__ void wait_at_two_places(float* to) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  to[own()] = 1;
}
__global__ void barrier(float*) { __syncthreads(); }
__global__ void shuffle(float* to) { to[own()] = __shfl_sync(kWholeWarp, 1.0f, 0); }
__global__ void share(float* to) {
  SHARED_ARRAY(float, number, 1);
  to[own()] = *number;
}
__global__ void sum_of_warp(float* to) {
  float sum = static_cast<float>(threadIdx.x);
  for (unsigned bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, bit);
  to[own()] = sum;
}
__global__ void shuffle_of_a_half(float* to) { to[own()] = __shfl_sync(0xffffu, 1.0f, 0); }
__global__ void shuffle_with_returned(float* to) {
  if (threadIdx.x < 31) to[own()] = __shfl_sync(kWholeWarp, 1.0f, 0);
}
__global__ void shuffle_with_others_at_barrier(float* to) {
  if (threadIdx.x < 16) to[own()] = __shfl_sync(kWholeWarp, 1.0f, 0);
  __syncthreads();
}
__global__ void sync_warp_elsewhere(float*) {
  if (threadIdx.x < 16) {
    __syncwarp();
  } else {
    __syncwarp();
  }
}
__global__ void share_much(float* to) {
  SHARED_ARRAY(float, first, 8 << 10);
  SHARED_ARRAY(float, second, 8 << 10);
  to[own()] = first[0] + second[0];
}
template <unsigned at>
__global__ void read_vector(float* numbers) {
  const auto* const vector = reinterpret_cast<const float4*>(numbers + 1000 + at);
  numbers[own()] = vector->x + vector->w;
}

// ---------------------------------------------------------------------- early kernels, and steps

__global__ void wait_first(float* sums) {
  wait_for_earlier();
  sums[own()] += 1;
}
__global__ void wait_after_read(float* sums) {
  const float before = sums[1000];
  wait_for_earlier();
  sums[own()] = before;
}
__global__ void some_wait_first(float* sums) {
  if (threadIdx.x != 5) wait_for_earlier();
  sums[own()] = 1;
}

// Adds the number of another block, from one half of the numbers to the other and back.
__device__ void add_neighbour(float* numbers, bool back) {
  float *const from = numbers + (back ? 512 : 0), *const to = numbers + (back ? 0 : 512);
  to[own()] = from[own()] + from[(own() + blockDim.x) % (gridDim.x * blockDim.x)] + 1;
}
__global__ void add_in_steps(float* numbers) {
  in_steps(4, [&](unsigned s) { add_neighbour(numbers, s % 2 != 0); });
}
__global__ void add_without_steps(float* numbers) {
  add_neighbour(numbers, false);
  __syncthreads();
  add_neighbour(numbers, true);
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
  in_steps(2 + blockIdx.x, [&](unsigned) { to[own()] = 1; });
}
__global__ void some_leave(float* to) {
  if (blockIdx.x == 1) return;
  in_steps(2, [&](unsigned) { to[own()] = 1; });
}

// ----------------------------------------------------------------------------------------- tables

struct PlantedFault {
  const char* name;
  void (*kernel)(float*);
  std::vector<std::string> found;  // parts of the message
  Threads threads = cooperating;
  Shape shape = {kBlocks, 1, 1, kThreads};
};
void PrintTo(const PlantedFault& fault, std::ostream* out) { *out << fault.name; }

const std::string kRace = "need a barrier between threads where one of them writes; got a ";
const std::string kPlace = "/emulator/faults_test.cpp:";
const std::string kBarrier = "[cuda-host] need all threads of a block at one barrier; got ";
const std::string kLanes = "[cuda-host] need all lanes of a warp in the same operation; got ";
const std::string kPlain = "[cuda-host] need launch_cooperating";
const std::string kEarly = "need wait_for_earlier before the memory of the device is touched; got";

const std::vector<PlantedFault> kFaults = {
    {"ALostUpdate", add_to_sum, {kRace}, independent},
    {"ALostUpdateOfCooperatingThreads", add_to_sum, {kRace}},
    {"BlocksUpdateOneNumber", add_across_blocks, {kRace, " of block 1 beside a "}},
    {"AMissingBarrier", reverse<false>, {kRace}},
    {"ANeighbourIsRead", read_a_neighbour, {kRace}},
    {"NoWaitInAWarp", share_in_a_warp<Wait::none>, {kRace}},
    {"AShuffleInPlaceOfABarrier", share_in_a_warp<Wait::shuffle>, {kRace}},
    {"SomeReachABarrier",
     some_reach_a_barrier,
     {kBarrier + "thread (0, 0) of block (0, 0, 0) at the barrier ", kPlace,
      "thread (40, 0) of block (0, 0, 0) returned"}},
    {"BarriersAtTwoPlaces", wait_at_two_places, {kBarrier, "thread (32, 0) of block (0, 0, 0) at"}},
    {"ABarrierOfIndependentThreads", barrier, {kPlain, kPlace}, independent},
    {"AShuffleOfIndependentThreads", shuffle, {kPlain, kPlace}, independent},
    {"SharedMemoryOfIndependentThreads", share, {kPlain, kPlace}, independent},
    {"AMaskOfHalfAWarp", shuffle_of_a_half, {"need the mask of a whole warp; got 65535", kPlace}},
    {"ALaneHasReturned",
     shuffle_with_returned,
     {kLanes, "thread (31, 0) of block (0, 0, 0) returned"}},
    {"ALaneWaitsAtABarrier",
     shuffle_with_others_at_barrier,
     {kLanes, "thread (16, 0) of block (0, 0, 0) at the barrier "}},
    {"LanesWaitAtTwoPlaces", sync_warp_elsewhere, {kLanes}},
    {"TooFewLanes", shuffle, {kLanes, "no 32 threads"}, cooperating, {1, 1, 1, 20}},
    {"TooMuchSharedMemory", share_much, {"need at most 49152 bytes of shared memory; got 65536"}},
    {"AMisalignedVector",
     read_vector<3>,
     {"need an address that is a multiple of 16; got one that is 12 beyond at ",
      "faults_test.cpp:"},
     independent},
    {"AnEarlyKernelReadsFirst",
     wait_after_read,
     {kEarly},
     independent,
     early({kBlocks, 1, 1, kThreads})},
    {"SomeThreadsDoNotWait",
     some_wait_first,
     {kEarly},
     independent,
     early({kBlocks, 1, 1, kThreads})},
    {"AMissingStep", add_without_steps, {kRace}, cooperating, meeting()},
    {"BlocksTakeOtherSteps",
     other_counts,
     {"need as many steps in all threads of a launch; got "},
     cooperating,
     meeting()},
    {"ABlockLeavesBeforeAStep",
     some_leave,
     {"need all 128 threads of a launch in each step; got 64"},
     cooperating,
     meeting()},
    {"StepsOfAnOrdinaryLaunch",
     share_across_steps,
     {"need a launch whose blocks may wait for each other; got several steps"}},
    {"MoreBlocksThanRunAtOnce",
     share_across_steps,
     {"[cudaLaunchKernelExC] need at most 792 blocks of this size that wait for each other; got "
      "793"},
     cooperating,
     meeting(793)}};

class Faults : public EmulatorTest, public ::testing::WithParamInterface<PlantedFault> {};
INSTANTIATE_TEST_SUITE_P(, Faults, ::testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Faults, AreFoundAndLeaveTheDeviceUsable) {
  float* const there = make(Floats(1024));
  const std::string error =
      error_of([&] { launch(GetParam().shape, GetParam().threads, GetParam().kernel, there); });
  for (const std::string& part : GetParam().found) EXPECT_HAS(error, part);
  EXPECT_EQ(error_of([&] { launch({}, independent, add_to_own, there); }), kNothing);
}

// Kernels that are right, and the number that they give at each place.
struct RightKernel {
  void (*kernel)(float*);
  std::function<float(unsigned thread)> number;
  Threads threads = cooperating;
  Shape shape = {kBlocks, 1, 1, kThreads};
  unsigned count = kNumbers;
};

class RightKernelsTest : public EmulatorTest {};

TEST_F(RightKernelsTest, AreNotAccused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto one = [](unsigned) { return 1.0f; };
  const auto lane = [](unsigned thread) { return static_cast<float>(thread % 32); };
  const RightKernel all[] = {
      {add_to_own, one, independent},
      {add_to_own, one, cooperating},
      {add_to_own, one, independent, {2, 1, 1, 8, 8}},
      {add_to_own, one, cooperating, {2, 2, 1, 8, 4}},
      {add_by_turns, [](unsigned) { return 64.0f; }, cooperating, {2, 1, 1, kThreads}, 2},
      {reverse<true>, [](unsigned thread) { return 63 - static_cast<float>(thread % kThreads); }},
      {share_in_a_warp<Wait::barrier>, [&](unsigned thread) { return lane(thread + 1); }},
      {sum_of_warp,
       [](unsigned thread) { return thread / 32 % 2 == 0 ? 31 * 16.0f : 31 * 16 + 32 * 32.0f; }},
      {read_vector<4>, [](unsigned) { return 0.0f; }, independent},
      {wait_first, one, independent, early({kBlocks, 1, 1, kThreads})},
      {wait_after_read, [](unsigned) { return 0.0f; }, independent},
      {add_in_steps, [](unsigned) { return 15.0f; }, cooperating, meeting()},
      // Shared memory is fresh in every block and step.
      {share, [=](unsigned) { return nan; }},
      {share_across_steps, [=](unsigned) { return nan; }, cooperating, meeting(792), 792}};
  for (const RightKernel& right : all) {
    float* const there = make(Floats(1024));
    EXPECT_EQ(error_of([&] { launch(right.shape, right.threads, right.kernel, there); }), kNothing);
    const Floats got = read(there, right.count);
    for (unsigned i = 0; i < right.count; ++i) {
      const float wanted = right.number(i);
      ASSERT_TRUE(got[i] == wanted || (std::isnan(wanted) && std::isnan(got[i])))
          << &right - all << ", thread " << i << ": " << got[i] << " for " << wanted;
    }
  }
  EXPECT_EQ(most_blocks_at_once(runtime_, share_across_steps, kThreads), 792u);
}

TEST_F(RightKernelsTest, NoGpuHasSuchShapes) {
  for (const Shape shape : {Shape{0}, {1, 65536}, {1, 1, 65536}, {1, 1, 1, 0}, {1, 1, 1, 64, 32}}) {
    EXPECT_HAS(error_of([&] { launch(shape, independent, add_to_sum, nullptr); }),
               "[cuda-host] need at least one");
  }
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

TEST_F(RightKernelsTest, ErrorsUnwindAllThreads) {
  int guards = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_HAS(error_of([&] {
                 launch({2, 1, 1, kThreads}, cooperating, guarded, Count{&guards});
               }),
               "thrown by a thread");
    EXPECT_EQ(guards, 0);
  }
}

__global__ void exponentials(float* to) { to[own()] = std::exp(static_cast<float>(own()) / 16); }

// Functions are as far from the CPU's as a GPU's may be, and the same every time.
TEST_F(RightKernelsTest, FunctionsRoundAsAGpus) {
  float* const there = make(Floats(kNumbers));
  Floats results[2];
  for (Floats& result : results) {
    launch({kBlocks, 1, 1, kThreads}, independent, exponentials, there);
    result = read(there, kNumbers);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0][0], 1);
  int others = 0;
  for (int i = 0; i < static_cast<int>(kNumbers); ++i) {
    const auto exact = static_cast<float>(std::exp(i / 16.0));
    EXPECT_NEAR(results[0][i], exact, 3e-7 * exact);
    others += results[0][i] != exact;
  }
  EXPECT_GT(others, 50);
}

}  // namespace
}  // namespace dynet_like::detail::cuda
