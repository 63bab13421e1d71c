// Kernels that touch what lies beyond a value but in the same chunk of its arena, on purpose: it is
// found for what holds when a kernel is asked for, not when it runs.
#include <string>
#include <vector>

#include "dynet_like/core/block_pool.h"
#include "dynet_like/dynet_like.h"
#include "tests/emulator/emulator_fixture.h"

namespace dynet_like::detail::cuda {
namespace {

const std::string kNeed = "[cuda-host] need accesses within values; got a ";

__global__ void write_at(float* to, unsigned at) { to[at] = 1; }
__global__ void read_at(const float* from, unsigned at, float* to) { *to = from[at]; }

class LoansTest : public EmulatorTest {
 protected:
  void ask_to_write(float* to, unsigned at) { commands_.launch({}, write_at, to, at); }
  std::string error_of_write(float* to, unsigned at) {
    return error_of([&] { ask_to_write(to, at); });
  }

  const std::shared_ptr<MemorySource> memory_ = own_memory(runtime_);
  Arena arena_{memory_};
};

TEST_F(LoansTest, AnIndexBeyondAValue) {
  auto* const first = arena_.allocate_array<float>(5);
  auto* const second = arena_.allocate_array<float>(16);
  for (const bool at_random : {false, true}) {
    host::work_at_random(at_random);
    EXPECT_EQ(error_of_write(first, 4), kNothing);
    const std::string error = error_of_write(first, 5);
    EXPECT_HAS(error, kNeed +
                          "write of 4 bytes by thread 0 of block 0, 0 bytes behind a value of "
                          "20 bytes (0x");
    EXPECT_HAS(error, "Parameters = {float*, unsigned int}");  // the kernel's
    EXPECT_EQ(error_of_write(second, 15), kNothing);
    EXPECT_HAS(error_of_write(second, 18), "8 bytes behind a value of 64 bytes");
    EXPECT_HAS(error_of_write(second - 1, 0), kNeed);
    EXPECT_HAS(error_of([&] { commands_.launch({}, read_at, first, 5u, second); }),
               kNeed + "read of 4 bytes");
    EXPECT_EQ(error_of([&] { commands_.launch({}, read_at, first, 4u, second); }), kNothing);
  }
}

TEST_F(LoansTest, AnIndexBeyondAnAllocation) {
  auto* const numbers = static_cast<float*>(runtime_.allocate(12));
  EXPECT_EQ(error_of_write(numbers, 2), kNothing);
  EXPECT_HAS(error_of([&] { commands_.launch({}, read_at, numbers, 4u, numbers); }),
             kNeed + "read of 4 bytes by thread 0 of block 0, 4 bytes behind a value of 12 bytes");
  runtime_.free(numbers);
}

struct Place {
  float* at;
};
__global__ void write_to(Place place) { *place.at = 1; }

// The launch itself sees no addresses in structs.
TEST_F(LoansTest, WhatWasFreed) {
  auto* const numbers = static_cast<float*>(runtime_.allocate(12));
  const auto write = [&] { commands_.launch({}, write_to, Place{numbers}); };
  EXPECT_EQ(error_of(write), kNothing);
  runtime_.free(numbers);
  EXPECT_HAS(error_of(write), kNeed + "write of 4 bytes");
}

TEST_F(LoansTest, BytesOfAnySize) {
  auto* const numbers = static_cast<float*>(arena_.allocate(10));  // of the third a half
  EXPECT_EQ(error_of_write(numbers, 1), kNothing);
  EXPECT_HAS(error_of_write(numbers, 2), "0 bytes behind a value of 10 bytes");
}

TEST_F(LoansTest, WhatWasTakenBack) {
  auto* const first = arena_.allocate_array<float>(5);
  const Arena::Mark mark = arena_.mark();
  auto* const second = arena_.allocate_array<float>(5);
  EXPECT_EQ(error_of_write(second, 0), kNothing);
  arena_.rewind(mark);
  EXPECT_HAS(error_of_write(second, 0), kNeed);
  EXPECT_EQ(error_of_write(first, 0), kNothing);
  arena_.reset();
  EXPECT_HAS(error_of_write(first, 0), kNeed);
}

// What is asked for before memory has another owner runs after that.
TEST_F(LoansTest, WorkSeesWhatHeldWhenItWasAskedFor) {
  auto* const large = arena_.allocate_array<float>(500);
  ask_to_write(large, 499);
  arena_.reset();
  auto* const small = arena_.allocate_array<float>(5);
  EXPECT_EQ(large, small);
  ask_to_write(small, 4);
  EXPECT_EQ(error_of_wait(), kNothing);
  ask_to_write(small, 4);
  arena_.reset();
  arena_.allocate(2000);
  ask_to_write(small, 499);
  EXPECT_EQ(error_of_wait(), kNothing);
  arena_.reset();
  arena_.allocate(20);
  ask_to_write(small, 5);
  arena_.reset();
  arena_.allocate(2000);  // too late
  EXPECT_HAS(error_of_wait(), "0 bytes behind a value of 20 bytes");
}

// Sums wait for others, and for whoever asks for something else.
TEST_F(LoansTest, SumsSeeWhatHeldWhenTheyWereAskedFor) {
  auto* const sum = static_cast<float*>(runtime_.allocate(2000));
  runtime_.zero(sum, 2000);
  BlockPool pool(memory_);
  std::byte* const large = pool.allocate(2000);
  commands_.zero(large, 2000);
  const void* addend = large;
  commands_.add_all(DType::f32, sum, 500, {&addend, nullptr, 1}, SumStart::there);
  pool.give_back(large, 2000);
  auto* const small = reinterpret_cast<float*>(pool.allocate(20));
  EXPECT_EQ(static_cast<void*>(small), large);
  addend = small;
  commands_.add_all(DType::f32, sum, 5, {&addend, nullptr, 1}, SumStart::there);
  ask_to_write(small, 4);
  EXPECT_EQ(error_of_wait(), kNothing);
  std::string error =
      kNothing;  // other tests may have launched it often: then not all are looked at
  for (int i = 0; i < 8 && error == kNothing; ++i) {
    commands_.add_all(DType::f32, sum, 6, {&addend, nullptr, 1}, SumStart::there);
    error = error_of_wait();
  }
  EXPECT_HAS(error, kNeed + "read of 4 bytes");
  runtime_.free(sum);
}

TEST_F(LoansTest, BlocksOfAPool) {
  BlockPool pool(memory_);
  std::byte* const block = pool.allocate(500);
  auto* const numbers = reinterpret_cast<float*>(block);
  EXPECT_EQ(error_of_write(numbers, 124), kNothing);
  pool.keep(block, 8, 500);
  EXPECT_EQ(error_of_write(numbers, 1), kNothing);
  EXPECT_HAS(error_of_write(numbers, 2), "0 bytes behind a value of 8 bytes");
  auto* const again = reinterpret_cast<float*>(pool.allocate(12));
  EXPECT_GT(again, numbers);
  EXPECT_LT(again, numbers + 125);  // a piece of it
  EXPECT_EQ(error_of_write(again, 2), kNothing);
  EXPECT_HAS(error_of_write(again, 3), "0 bytes behind a value of 12 bytes");
}

// Memory of another use has nothing of its old one, even if nobody has run what was noted of that.
TEST_F(LoansTest, FreedMemoryHasNoNotes) {
  {
    Arena other(memory_);
    other.allocate(100);
  }
  auto* const numbers = static_cast<float*>(runtime_.allocate(64 << 10));
  EXPECT_EQ(error_of_write(numbers, (16 << 10) - 1), kNothing);
  runtime_.free(numbers);
}

__global__ void copy_one_more(Operand x, Output out, std::size_t n, std::size_t size) {
  const std::size_t i = threadIdx.x;
  if (i > n * size) return;
  out.at<float>(0)[i] = i < n * size ? x.at<float>(i / size)[i % size] : 0;
}
void launch_copy(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  commands_of(call).launch({1, 1, 1, 64}, copy_one_more, call.in[0], call.out, call.n, size);
}

// The whole way: the output of a batch of an op lies among others in an arena.
TEST_F(LoansTest, AnOpThatWritesBeyondItsOutput) {
  static const Kernels kernels{{launch_copy, nullptr}, {nullptr, nullptr}};
  Op op;
  op.name = "copy";
  op.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
  op.cuda_kernels = &kernels;
  GraphOptions options;
  options.device = dynet_like::open_device("cuda-host");
  Minibatch batch(options);
  const Expression x = input(batch.new_graph(), {3}, {1, 2, 3});
  batch.add_loss(sum_elems(apply_op(op, std::span(&x, 1))));
  const std::string error = message_of<DeviceError>([&] { batch.forward(); });
  EXPECT_HAS(error, kNeed +
                        "write of 4 bytes by thread 3 of block 0, 0 bytes behind a value of "
                        "12 bytes");
}

}  // namespace
}  // namespace dynet_like::detail::cuda
