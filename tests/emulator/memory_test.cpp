// The memory of the emulated device: who may touch it, what lies in it, and what is counted.
#include <thread>

#include "dynet_like/device/cuda/host/memory.h"
#include "tests/emulator/emulator_fixture.h"
#include "tests/support/precompiled.h"

namespace dynet_like::detail::cuda {
namespace {

class DeviceMemoryTest : public ::testing::Test {
 protected:
  float* make(std::size_t size) {
    return static_cast<float*>(runtime_.allocate(size * sizeof(float)));
  }
  float read(const float* from) {
    float number = 0;
    runtime_.copy_to_host(&number, from, sizeof(number));
    runtime_.wait();
    return number;
  }

  Runtime runtime_{0};
};
using DeviceMemoryDeathTest = DeviceMemoryTest;

__global__ void write_at(float* to, unsigned at) { to[at] = 1; }

TEST_F(DeviceMemoryDeathTest, TheHostCannotTouchIt) {
  float* const numbers = make(4);
  volatile float* const seen = numbers;
  EXPECT_DEATH(*seen = 1, "");
  EXPECT_DEATH(static_cast<void>(*seen), "");
  // Nor after a launch or a copy, whether it worked or not.
  launch(runtime_, {}, Threads::independent, write_at, numbers, 0u);
  EXPECT_EQ(read(numbers), 1);
  EXPECT_DEATH(static_cast<void>(*seen), "");
  EXPECT_THROW(launch(runtime_, {0}, Threads::independent, write_at, numbers, 0u), DeviceError);
  EXPECT_DEATH(static_cast<void>(*seen), "");
  runtime_.free(numbers);
  EXPECT_DEATH(static_cast<void>(*seen), "");
}

TEST(HostMemoryDeathTest, WhatIsAddedWhileItIsOpenIsOpen) {
  host::Memory memory(std::size_t{4} << 20);
  volatile char* const seen = static_cast<char*>(memory.allocate(100));
  EXPECT_DEATH(*seen = 1, "");
  memory.open();
  *seen = 1;
  *static_cast<volatile char*>(memory.allocate(3 << 20)) = 1;
  memory.close();
  EXPECT_DEATH(static_cast<void>(*seen), "");
}

TEST_F(DeviceMemoryTest, AForgottenCopyIsAnError) {
  float here = 1;
  float* const there = make(1);
  const std::string error = message_of<DeviceError>(
      [&] { launch(runtime_, {}, Threads::independent, write_at, &here, 0u); });
  EXPECT_HAS(error, "need a launch of ");
  EXPECT_HAS(error, "Parameters = {float*, unsigned int}");  // the kernel's
  EXPECT_HAS(error, "need arguments that are null or addresses of the device; got another");
  EXPECT_THROW(runtime_.copy(there, &here, sizeof(float)), DeviceError);
  EXPECT_THROW(runtime_.copy(&here, there, sizeof(float)), DeviceError);
  EXPECT_THROW(runtime_.zero(&here, sizeof(float)), DeviceError);
  EXPECT_THROW(runtime_.copy_to_device(there, there, sizeof(float)), DeviceError);
  EXPECT_THROW(runtime_.copy_to_device(&here, &here, sizeof(float)), DeviceError);
  EXPECT_THROW(runtime_.copy_to_host(there, there, sizeof(float)), DeviceError);
  EXPECT_THROW(runtime_.copy_to_host(&here, &here, sizeof(float)), DeviceError);
  EXPECT_THROW(runtime_.zero(there, 2 * sizeof(float)), DeviceError);
  LibraryProduct product;
  product.rows = product.columns = product.inner = 2;
  product.a_stride = product.b_stride = product.c_stride = 2;
  runtime_.open_products();
  product.a = product.b = product.c = there;  // one number is no matrix of four
  EXPECT_THROW(runtime_.multiply(product), DeviceError);
  runtime_.free(there);
  EXPECT_THROW(launch(runtime_, {}, Threads::independent, write_at, there, 0u), DeviceError);
}

TEST_F(DeviceMemoryTest, FreshMemoryIsNans) {
  float* const first = make(1000);
  runtime_.zero(first, 1000 * sizeof(float));
  runtime_.free(first);
  float* const second = make(1000);
  EXPECT_EQ(first, second);
  for (const unsigned at : {0, 1, 999}) EXPECT_TRUE(std::isnan(read(second + at)));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(make(3)) % 256, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(make(3)) % 256, 0u);
}

TEST(HostMemoryTest, AFullRangeSaysSo) {
  host::Memory memory(std::size_t{4} << 20);
  void* const large = memory.allocate(3 << 20);
  expect_refused<DeviceError>(
      "[cuda-host] need 2097152 bytes of device memory; got a range of 4194304 bytes, of which "
      "3145728 are in use",
      [&] { memory.allocate(2 << 20); });
  EXPECT_THROW(memory.allocate(~std::size_t{0}), DeviceError);
  memory.free(large);
  EXPECT_EQ(memory.bytes_in_use(), 0u);
  EXPECT_EQ(memory.allocate(4 << 20 >> 1), large);
}

TEST(HostMemoryTest, FreeingTwiceIsFound) {
  host::Memory memory(std::size_t{2} << 20);
  void* const there = memory.allocate(4);
  memory.free(there);
  expect_refused<DeviceError>("[cuda-host] need memory of the device to free; got another address",
                              [&] { memory.free(there); });
}

// Places that were freed become one again.
TEST(HostMemoryTest, FreedPlacesJoin) {
  host::Memory memory(std::size_t{2} << 20);
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> places;
    for (int i = 0; i < 8; ++i) places.push_back(memory.allocate((200 + round) << 10));
    for (const int i : {3, 1, 2, 7, 0, 6, 4, 5}) memory.free(places[i]);
    memory.free(memory.allocate(2000 << 10));
  }
}

TEST_F(DeviceMemoryTest, IsOpenForTheThreadThatUsesIt) {
  float* const numbers = make(1);
  std::thread([&] {
    launch(runtime_, {}, Threads::independent, write_at, numbers, 0u);
    EXPECT_EQ(read(numbers), 1);
  }).join();
  EXPECT_EQ(read(numbers), 1);
}

TEST_F(DeviceMemoryTest, Counts) {
  float numbers[3] = {1, 2, 3};
  float* const there = make(3);
  runtime_.copy_to_device(there, numbers, sizeof(numbers));
  launch(runtime_, {}, Threads::independent, write_at, there, 0u);
  runtime_.wait();
  runtime_.wait();  // for nothing
  runtime_.copy_to_host(numbers, there, 2 * sizeof(float));
  const Mark mark = runtime_.make_mark();
  EXPECT_TRUE(runtime_.has_passed(mark));
  runtime_.mark(mark);
  EXPECT_FALSE(runtime_.has_passed(mark));
  runtime_.wait_for(mark);
  runtime_.wait_for(mark);  // for nothing
  float* const more = make(5);
  runtime_.free(there);
  const DeviceCounts& counts = runtime_.counts();
  EXPECT_EQ(counts.launches, 1u);
  EXPECT_EQ(counts.copies_to_device, 1u);
  EXPECT_EQ(counts.bytes_to_device, sizeof(numbers));
  EXPECT_EQ(counts.copies_to_host, 1u);
  EXPECT_EQ(counts.bytes_to_host, 2 * sizeof(float));
  EXPECT_EQ(counts.synchronisations, 2u);
  EXPECT_EQ(counts.allocations, 2u);
  EXPECT_EQ(counts.bytes_in_use, 5 * sizeof(float));
  EXPECT_EQ(counts.peak_bytes, 8 * sizeof(float));
  runtime_.free(more);
}

}  // namespace
}  // namespace dynet_like::detail::cuda
