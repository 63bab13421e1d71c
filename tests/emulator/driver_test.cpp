// The stand-in for CUDA's driver finds what a program does wrong, and the library, which runs on
// it, does none of that: objects, devices, processes, waits, and calls that fail.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>
#include <thread>

#include "tests/emulator/emulator_fixture.h"
#include "tests/support/precompiled.h"

namespace dynet_like::detail::cuda {
namespace {

using Floats = std::vector<float>;

__global__ void add_one(float* to) { to[threadIdx.x] = to[threadIdx.x] + 1; }
__global__ void throws_an_error(float*) { throw DeviceError("a kernel failed"); }

// A device, and what a program that calls CUDA itself has.
class DriverTest : public EmulatorTest {
 protected:
  ~DriverTest() override {
    host::set_device_count(1);
    host::hide_cublas(false);
    host::stop_failing();
    cudaSetDevice(0);
  }
  template <class... Parameters>
  void launch(unsigned threads, void (*kernel)(Parameters...),
              std::type_identity_t<Parameters>... arguments) {
    EmulatorTest::launch({1, 1, 1, threads}, Threads::independent, kernel, arguments...);
  }

  float* const there_ = make(Floats(4));
};

TEST_F(DriverTest, WorkRunsWhenSomebodyWaits) {
  Floats numbers = {1, 2, 3, 4};
  runtime_.copy_to_device(there_, numbers.data(), 16);
  launch(4, add_one, there_);
  EXPECT_EQ(host::queued_work(), 2u);
  Floats got(4);
  runtime_.copy_to_host(got.data(), there_, 16);
  EXPECT_TRUE(std::isnan(got[0]));  // a missing wait
  runtime_.wait();
  EXPECT_EQ(got, (Floats{2, 3, 4, 5}));
  host::work_at_random(true);
  for (int i = 0; i < 20; ++i) launch(4, add_one, there_);
  EXPECT_LT(host::queued_work(), 20u);
  runtime_.wait();
}

TEST_F(DriverTest, WhatIsCopiedMustStayAsItIs) {
  auto* const pinned = static_cast<float*>(runtime_.allocate_pinned(16));
  for (int i = 0; i < 4; ++i) pinned[i] = 1;
  runtime_.copy_to_device(there_, pinned, 16);
  pinned[3] = 2;
  EXPECT_HAS(error_of_wait(), "need 16 bytes of this process as they were until they were copied");
  runtime_.copy_to_host(pinned, there_, 16);
  pinned[0] = 2;
  EXPECT_HAS(error_of_wait(), "need 16 bytes of this process as they were");
  runtime_.copy_to_device(there_, pinned, 16);
  runtime_.wait();
  pinned[3] = 2;
  EXPECT_EQ(error_of_wait(), kNothing);
  runtime_.free_pinned(pinned);
}

// Of two copies to the same memory the later one stays, as the stream's order says.
TEST_F(DriverTest, CopiesToTheSameMemoryFollowOneAnother) {
  const Floats ones = {1, 1, 1, 1};
  runtime_.copy_to_device(there_, ones.data(), 16);
  runtime_.wait();
  auto* const pinned = static_cast<float*>(runtime_.allocate_pinned(16));
  runtime_.copy_to_host(pinned, there_, 8);
  launch(4, add_one, there_);
  runtime_.copy_to_host(pinned, there_, 16);
  runtime_.wait();
  EXPECT_EQ(Floats(pinned, pinned + 4), (Floats{2, 2, 2, 2}));
  runtime_.copy_to_host(pinned, there_, 8);
  runtime_.copy_to_host(pinned, there_, 16);
  pinned[3] = 5;
  EXPECT_HAS(error_of_wait(), "need 16 bytes of this process as they were");
  runtime_.free_pinned(pinned);
}

TEST_F(DriverTest, PinnedMemoryIsFreedAfterAWait) {
  auto* const pinned = static_cast<float*>(runtime_.allocate_pinned(16));
  runtime_.copy_to_host(pinned, there_, 16);
  EXPECT_EQ(cudaFreeHost(pinned + 1), cudaErrorUnknown);
  EXPECT_HAS(host::take_fault(), "[cudaFreeHost] need pinned memory; got another address");
  EXPECT_EQ(cudaFreeHost(pinned), cudaErrorUnknown);  // nobody may look at that,
  EXPECT_HAS(error_of_wait(), "[cudaFreeHost] need a wait for the work that uses it; got none");
  runtime_.copy_to_host(pinned, there_, 16);
  runtime_.free_pinned(pinned);
  EXPECT_EQ(host::take_fault(), "");
}

TEST_F(DriverTest, ObjectsLiveAsLongAsTheyAreUsed) {
  const std::uint64_t before = host::live_objects();
  {
    Runtime other(0);
    const Mark mark = other.make_mark();
    other.open_products();
    void* const pinned = other.allocate_pinned(8);
    EXPECT_GE(host::live_objects(), before + 4);
    void* const memory = other.allocate(4);
    other.zero(memory, 4);
    other.mark(mark);
    other.free_pinned(pinned);
    other.free(memory);
  }
  EXPECT_EQ(host::live_objects(), before + 1) << "but for cuBLAS's handle";
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(there_, 0, 4, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorUnknown);
  EXPECT_HAS(host::take_fault(), "[cudaStreamDestroy] need a wait for the work that uses it");
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaErrorUnknown);
  EXPECT_HAS(std::string(cudaGetErrorString(cudaErrorUnknown)), "need a stream that lives");
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorUnknown);
  EXPECT_HAS(std::string(cudaGetErrorString(cudaErrorUnknown)), "need an event that lives");
}

TEST_F(DriverTest, TimedMarksTellWhatTheDeviceTook) {
  const Mark first = runtime_.make_mark(MarkKind::timed);
  const Mark last = runtime_.make_mark(MarkKind::timed);
  const Mark plain = runtime_.make_mark();
  const auto error_between = [&](Mark a, Mark b) {
    return message_of<DeviceError>([&] { runtime_.seconds_between(a, b); });
  };
  EXPECT_HAS(error_between(first, last), "need timed events that have passed");
  runtime_.mark(first);
  launch(4, add_one, there_);
  runtime_.mark(last);
  runtime_.mark(plain);
  EXPECT_HAS(error_between(first, last), "need timed events that have passed");
  runtime_.wait();
  const double seconds = runtime_.seconds_between(first, last);
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(runtime_.seconds_between(first, first), 0);
  EXPECT_HAS(error_between(first, plain), "need timed events that have passed");
  // What comes later does not change it, and marks that are free are used again by their kind.
  launch(4, add_one, there_);
  runtime_.wait();
  EXPECT_EQ(runtime_.seconds_between(first, last), seconds);
  runtime_.free_mark(plain);
  runtime_.free_mark(last);
  EXPECT_EQ(runtime_.make_mark(MarkKind::timed), last);
  EXPECT_EQ(runtime_.make_mark(), plain);
}

TEST_F(DriverTest, TheLastErrorIsThatOfTheThread) {
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(there_, 0, 4, nullptr), cudaErrorUnknown);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaGetLastError(), cudaErrorUnknown);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, std::size_t{1} << 50), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
}

// The errors of the library's own calls are exceptions, or of no account: the program does not find
// them after calls of its own.
TEST_F(DriverTest, TheLibraryLeavesNoLastError) {
  const Mark mark = runtime_.make_mark();
  launch(4, add_one, there_);
  runtime_.mark(mark);
  EXPECT_FALSE(runtime_.has_passed(mark));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_THROW(runtime_.allocate(std::size_t{1} << 50), DeviceError);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_THROW(launch(0, add_one, there_), DeviceError);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  launch(1, throws_an_error, there_);
  EXPECT_HAS(error_of_wait(), "a kernel failed");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(DriverTest, TheDeviceOfTheThreadIsLeftAsItIs) {
  host::set_device_count(2);
  EXPECT_EQ(Runtime::names(), (std::vector<std::string>{"cuda-host", "cuda-host:1"}));
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(there_, 0, 4, stream), cudaErrorUnknown);  // of the other device
  EXPECT_HAS(std::string(cudaGetErrorString(cudaErrorUnknown)),
             "need the current device, 1; got a stream of device 0");
  const auto expect_kept = [](const char* what) {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 1) << what;
  };
  Floats numbers(4);
  {
    Runtime other(0);
    expect_kept("Runtime");
    void* const memory = other.allocate(16);
    expect_kept("allocate");
    void* const pinned = other.allocate_pinned(16);
    other.zero(memory, 16);
    other.copy_to_host(numbers.data(), memory, 16);
    const Mark mark = other.make_mark();
    other.mark(mark);
    other.open_products();
    other.wait_for(mark);
    expect_kept("wait_for");
    other.wait();
    EXPECT_THROW(cuda::launch<float*>(other, {0}, Threads::independent, add_one, there_),
                 DeviceError);
    expect_kept("launch");
    other.free_pinned(pinned);
    other.free(memory);
    expect_kept("free");
  }
  expect_kept("~Runtime");
  EXPECT_EQ(numbers, Floats(4, 0));
  EXPECT_THROW(Runtime(7), DeviceError);
  expect_kept("an error");
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(host::take_fault(), "");
}

TEST_F(DriverTest, AForkCannotUseIt) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    const std::string error =
        message_of<DeviceError>([&] { runtime_.zero(there_, sizeof(float)); });
    ::_exit(error.find("got a fork of it") == std::string::npos ? 1 : 42);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

TEST_F(DriverTest, TheLibraryIsLoadedWhenItIsAskedFor) {
  host::hide_cublas(true);
  expect_refused<DeviceError>("[cuda] need libcublas.so.13; got: no such file",
                              [&] { runtime_.open_products(); });
  LibraryProduct product;
  product.rows = product.columns = product.inner = 1;
  product.a_stride = product.b_stride = product.c_stride = 1;
  product.a = product.b = product.c = there_;
  expect_refused<DeviceError>("[multiply] need open_products() before; got none",
                              [&] { runtime_.multiply(product); });
  const auto device = open_device("cuda-host");
  EXPECT_THROW(device->set_large_products(LargeProducts::library), DeviceError);
  EXPECT_FALSE(has_cublas());
  device->set_large_products(LargeProducts::exact);  // needs nothing
  host::hide_cublas(false);
  EXPECT_TRUE(has_cublas());
  const float number = 3;
  runtime_.copy_to_device(there_, &number, sizeof(number));
  runtime_.open_products();
  runtime_.multiply(product);
  float got = 0;
  runtime_.copy_to_host(&got, there_, sizeof(got));
  runtime_.wait();
  EXPECT_EQ(got, 9);
}

TEST_F(DriverTest, AFaultyKernelIsNamedWhereLaunchesWait) {
  launch(1, throws_an_error, there_);
  const std::string late = error_of_wait();
  EXPECT_HAS(late, "a kernel failed (with CUDA_LAUNCH_BLOCKING=1 the kernel is named)");
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  const std::string error = message_of<DeviceError>([&] { launch(1, throws_an_error, there_); });
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
  EXPECT_HAS(error, "[cuda] need a launch of ");
  EXPECT_HAS(error, "Parameters = {float*}");
  EXPECT_HAS(error, "a kernel failed");
}

// Two steps of training; the numbers that they end with.
Floats train(const std::shared_ptr<Device>& device) {
  ParameterCollection model(1, DType::f32, device);
  const Parameter w = model.add_parameters({2, 3}, ParameterInitConst(0.25f));
  const LookupParameter table = model.add_lookup_parameters(4, {3}, ParameterInitConst(0.5f));
  AdamTrainer trainer(model, 0.1f);
  trainer.enable_clipping(0.5f);
  GraphOptions options;
  options.device = device;
  Minibatch batch(options);
  Floats result;
  for (int step = 0; step < 2; ++step, batch.clear()) {
    for (unsigned i = 0; i < 3; ++i) {
      ComputationGraph& graph = batch.new_graph();
      batch.add_loss(sum_elems(square(tanh(parameter(graph, w) * lookup(graph, table, i)))));
    }
    result.push_back(batch.forward());
    trainer.update(batch.backward());
  }
  for (const float number : as_vector(w.values())) result.push_back(number);
  return result;
}

TEST_F(DriverTest, TrainingDoesNotDependOnWhenWorkRuns) {
  const auto device = open_device("cuda-host");
  const Floats late = train(device);
  host::work_at_random(true);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(train(device), late);
}

// Every call fails once: that is a DeviceError or of no account, and afterwards all is as before.
TEST_F(DriverTest, WhateverFailsCanBeTriedAgain) {
  const auto device = open_device("cuda-host");
  const Floats expected = train(device);
  std::uint64_t calls = 0;
  for (;; ++calls) {
    host::fail_call(calls);
    try {
      EXPECT_EQ(train(device), expected) << calls;
    } catch (const DeviceError& error) {
      const std::string text = error.what();
      if (text.find("pinned memory; got none") != std::string::npos) continue;
      EXPECT_HAS(text, "this call was to fail") << calls;
    }
    if (!host::stop_failing()) break;
    static_cast<void>(host::take_fault());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess)
        << calls << ": the program has seen no error of CUDA";
    ASSERT_EQ(train(device), expected) << calls;
  }
  EXPECT_GT(calls, 50u);
}

TEST_F(DriverTest, AFaultyKernelLeavesCommandsUsable) {
  float *const a = make({1, 2}), *const b = make({10, 20});
  for (int i = 0; i < 3; ++i) {
    EXPECT_HAS(error_of([&] {
                 add(a, 2, {b});
                 commands_.launch({1, 1, 1, 1}, throws_an_error, a);
                 commands_.zero(a, 2 * sizeof(float));  // comes after it, so it does not happen
               }),
               "a kernel failed");
    const std::uint64_t before = runtime_.counts().launches;
    EXPECT_EQ(launches(), before);
  }
  EXPECT_EQ(read(a, 2), (Floats{31, 62}));
  add(a, 2, {b});
  EXPECT_EQ(read(a, 2), (Floats{41, 82}));
}

TEST_F(DriverTest, ErrorsOfArgumentsComeBeforeTheDevice) {
  float* const a = make({1});
  const float here = 1;
  add(a, 1, {a});
  commands_.copy(a, &here, sizeof(float));
  EXPECT_THROW(commands_.submit(), DeviceError);
  EXPECT_EQ(read(a, 1), Floats{2});
}

}  // namespace
}  // namespace dynet_like::detail::cuda
