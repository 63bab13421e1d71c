// Commands of a device: what runs together, what must not, what travels, and library products.
#include "dynet_like/device/cuda/commands.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "tests/support/message_of.h"

namespace dynet_like::detail::cuda {
namespace {

using Floats = std::vector<float>;

class RuntimeMemory final : public MemorySource {
 public:
  explicit RuntimeMemory(Runtime& runtime) : runtime_(runtime) {}
  std::byte* allocate(std::size_t size) override {
    return static_cast<std::byte*>(runtime_.allocate(size));
  }
  void free(std::byte* memory, std::size_t) noexcept override { runtime_.free(memory); }

 private:
  Runtime& runtime_;
};

class CommandsTest : public testing::Test {
 protected:
  ~CommandsTest() override {
    for (void* memory : memory_) runtime_.free(memory);
  }
  float* make(const Floats& numbers) {
    memory_.push_back(runtime_.allocate(numbers.size() * sizeof(float)));
    auto* const there = static_cast<float*>(memory_.back());
    runtime_.copy_to_device(there, numbers.data(), numbers.size() * sizeof(float));
    runtime_.wait();
    return there;
  }
  Floats read(const void* from, std::size_t size) {
    commands_.submit();
    Floats numbers(size);
    runtime_.copy_to_host(numbers.data(), from, size * sizeof(float));
    runtime_.wait();
    return numbers;
  }
  void add(float* sum, std::size_t size, const std::vector<const void*>& addends,
           SumStart start = SumStart::there) {
    commands_.add_all(DType::f32, sum, size, {addends.data(), nullptr, addends.size()}, start);
  }
  // Launches of a submission.
  std::uint64_t launches() {
    const std::uint64_t before = runtime_.counts().launches;
    commands_.submit();
    return runtime_.counts().launches - before;
  }

  Runtime runtime_{0};
  Commands commands_{runtime_, std::make_shared<RuntimeMemory>(runtime_)};

 private:
  std::vector<void*> memory_;
};

TEST_F(CommandsTest, SumsRunTogether) {
  float *const a = make({1, 2}), *const b = make({10, 20}), *const c = make({5, 5, 5}),
               *const d = make({1, 1, 1}), *const e = make(Floats(300, 7));
  add(a, 2, {b, b});
  add(c, 3, {d}, SumStart::zero);
  add(a, 2, {b});  // the same place again
  add(e, 300, {}, SumStart::zero);
  const float number = 3;
  commands_.write(d + 2, &number, 0);  // nothing
  EXPECT_EQ(launches(), 1u);
  EXPECT_EQ(read(a, 2), (Floats{31, 62}));
  EXPECT_EQ(read(c, 3), (Floats{1, 1, 1}));
  EXPECT_EQ(read(e, 300), Floats(300, 0));
}

TEST_F(CommandsTest, OneChainPerElement) {
  // 1 is lost beside 2^24, two of them are not.
  float *const sum = make({16777216}), *const one = make({1}), *const two = make({2});
  add(sum, 1, {one, one});
  add(sum, 1, {two});
  EXPECT_EQ(launches(), 1u);
  EXPECT_EQ(read(sum, 1), Floats{16777218});
}

TEST_F(CommandsTest, ASumThatAnotherReadsRunsBefore) {
  float *const a = make({1, 2}), *const b = make({10, 20}), *const c = make({0, 0});
  add(a, 2, {b});
  add(c, 2, {a});
  EXPECT_EQ(launches(), 2u);
  EXPECT_EQ(read(c, 2), (Floats{11, 22}));
  add(a, 2, {b});
  add(c, 1, {a + 1}, SumStart::first);  // a part of it
  EXPECT_EQ(launches(), 2u);
  EXPECT_EQ(read(c, 2), (Floats{42, 22}));
  add(a, 2, {b});
  commands_.finish_sums();
  add(b, 2, {c}, SumStart::zero);
  EXPECT_EQ(read(a, 2), (Floats{31, 62}));
  EXPECT_EQ(read(b, 2), (Floats{42, 22}));
  // A sum must not write what another reads. Nothing checks that, but the emulator finds the race.
  add(a, 2, {b});
  add(b, 2, {c}, SumStart::zero);
  const std::string error = message_of<DeviceError>([&] { read(a, 2); });
  EXPECT_NE(error.find("need a barrier between threads"), std::string::npos) << error;
}

TEST_F(CommandsTest, OverlappingPlacesRunOneAfterTheOther) {
  float *const a = make({1, 2, 3}), *const b = make({10, 20, 30});
  add(a, 3, {b});
  add(a + 1, 2, {b});
  add(a, 2, {b});
  EXPECT_EQ(launches(), 3u);
  EXPECT_EQ(read(a, 3), (Floats{21, 52, 53}));
  add(a, 3, {b});
  add(a, 3, {b}, SumStart::first);  // forgets what was there
  EXPECT_EQ(read(a, 3), (Floats{10, 20, 30}));
}

TEST_F(CommandsTest, OtherCommandsSeeSums) {
  float *const a = make({1, 2}), *const b = make({10, 20}), *const c = make({0, 0});
  add(a, 2, {b});
  commands_.copy(c, a, 2 * sizeof(float));
  commands_.zero(a, 2 * sizeof(float));
  add(a, 2, {b});
  EXPECT_EQ(read(c, 2), (Floats{11, 22}));
  EXPECT_EQ(read(a, 2), (Floats{10, 20}));
}

TEST_F(CommandsTest, WritesTakeWhatIsThereNow) {
  float* const a = make({1, 2, 3});
  Floats numbers = {7, 8};
  commands_.write(a + 1, numbers.data(), 2 * sizeof(float));
  numbers = {0, 0};
  const std::uint8_t byte = 0;
  commands_.write(a, &byte, 1);  // no whole number
  EXPECT_EQ(read(a, 3), (Floats{1, 7, 8}));
  const Floats many(1 << 19, 2.5f);
  float* const large = make(Floats(many.size()));
  commands_.write(large, many.data(), many.size() * sizeof(float));
  EXPECT_EQ(read(large, many.size()), many);
}

TEST_F(CommandsTest, OneCopyAndNoAllocationPerSubmission) {
  float *const a = make(Floats(16)), *const b = make(Floats(16, 1));
  const std::vector<const void*> addends(40000, b);  // more than the first chunks hold
  const auto submit = [&] {
    add(a, 16, addends);
    commands_.finish_sums();
    add(a, 16, {b});
    static_cast<void>(commands_.bytes(5000));
    commands_.submit();
    runtime_.wait();
  };
  for (int i = 0; i < 4; ++i) submit();
  const DeviceCounts before = runtime_.counts();
  for (int i = 0; i < 5; ++i) submit();
  const DeviceCounts& after = runtime_.counts();
  EXPECT_EQ(after.copies_to_device - before.copies_to_device, 5u);
  EXPECT_EQ(after.launches - before.launches, 15u);  // so many addends take two
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(after.synchronisations - before.synchronisations, 5u);
  EXPECT_EQ(read(a, 1)[0], 9 * 40001);
}

__global__ void fail(const float*) { throw DeviceError("a kernel failed"); }

__global__ void nothing(const float*) {}

TEST_F(CommandsTest, TheDeviceBeginsWhileItIsAskedForMore) {
  float* const a = make({1});
  const auto launched_after = [&](unsigned calls) {
    for (unsigned i = 0; i < calls; ++i) {
      commands_.launch({1, 1, 1, 1}, nothing, a);
      commands_.end_call();
    }
    return runtime_.counts().launches;
  };
  EXPECT_EQ(launched_after(11), 0u);
  EXPECT_EQ(launched_after(1), 12u);
  EXPECT_EQ(launched_after(23), 12u);
  EXPECT_EQ(launched_after(1), 36u);
  EXPECT_EQ(launched_after(47), 36u);
  EXPECT_EQ(launched_after(1 + 48), 36u + 96u);
  commands_.submit();  // a pass ends
  EXPECT_EQ(launched_after(12), 132u + 12u);
  EXPECT_EQ(runtime_.counts().synchronisations, 1u);  // that of `make`
  commands_.submit();
  runtime_.wait();
}

TEST_F(CommandsTest, BusyTimeIsThatOfSubmissions) {
  float* const sum = make({1, 2});
  const auto submit = [&] {
    add(sum, 2, {sum + 0}, SumStart::zero);
    commands_.submit();
  };
  submit();
  runtime_.wait();
  EXPECT_EQ(commands_.busy_seconds(), 0) << "nobody asked for it";
  commands_.measure_busy_time(true);
  submit();
  EXPECT_EQ(commands_.busy_seconds(), 0) << "the device has not come to it";
  runtime_.wait();
  const double once = commands_.busy_seconds();
  EXPECT_GT(once, 0);
  runtime_.zero(sum, 8);  // is no submission
  runtime_.wait();
  EXPECT_EQ(commands_.busy_seconds(), once);
  // More than may be under way without a look at them.
  const std::uint64_t waits = runtime_.counts().synchronisations;
  for (int i = 0; i < 60; ++i) submit();
  EXPECT_EQ(runtime_.counts().synchronisations, waits);
  for (int i = 0; i < 600; ++i) submit();
  runtime_.wait();
  EXPECT_GT(commands_.busy_seconds(), once);
  commands_.measure_busy_time(false);
  submit();
  EXPECT_EQ(commands_.busy_seconds(), 0);
}

TEST_F(CommandsTest, AnErrorLeavesItUsable) {
  float *const a = make({1, 2}), *const b = make({10, 20});
  for (int i = 0; i < 3; ++i) {
    add(a, 2, {b});
    commands_.launch({1, 1, 1, 1}, fail, a);
    commands_.zero(a, 2 * sizeof(float));  // comes after it, so it does not happen
    const std::string error = message_of<DeviceError>([&] {
      commands_.submit();
      runtime_.wait();
    });
    EXPECT_NE(error.find("a kernel failed"), std::string::npos) << error;
    EXPECT_EQ(launches(), 0u);
  }
  EXPECT_EQ(read(a, 2), (Floats{31, 62}));
  add(a, 2, {b});
  EXPECT_EQ(read(a, 2), (Floats{41, 82}));
}

// A submission larger than any before: memory for lists is there after one more round.
TEST_F(CommandsTest, MemoryForListsGrowsAtOnce) {
  const Floats numbers(40000, 1);
  float* const there = make(numbers);
  const auto submit_all = [&](const std::vector<std::size_t>& sizes) {
    for (const std::size_t size : sizes) {
      commands_.write(there, numbers.data(), size * sizeof(float));
      commands_.submit();
    }
    runtime_.wait();
  };
  submit_all(std::vector<std::size_t>(20, 10));
  const std::vector<std::size_t> round = {10, 20, 40000, 10, 10};
  submit_all(round);
  submit_all(round);
  const std::uint64_t allocations = runtime_.counts().allocations;
  for (int i = 0; i < 10; ++i) submit_all(round);
  EXPECT_EQ(runtime_.counts().allocations, allocations);
}

TEST_F(CommandsTest, ErrorsOfArgumentsComeBeforeTheDevice) {
  float* const a = make({1});
  const float here = 1;
  add(a, 1, {a});
  commands_.copy(a, &here, sizeof(float));
  EXPECT_THROW(commands_.submit(), DeviceError);
  EXPECT_EQ(read(a, 1), Floats{2});
}

// c = a b + beta c of matrices in larger ones, against sums in long double.
template <class T>
void check_products(Runtime& runtime, DType dtype) {
  runtime.open_products();
  Random random(3);
  const auto make = [&](std::vector<T>& numbers) {
    for (T& number : numbers) number = static_cast<T>(random.normal());
    void* const there = runtime.allocate(numbers.size() * sizeof(T));
    runtime.copy_to_device(there, numbers.data(), numbers.size() * sizeof(T));
    runtime.wait();
    return there;
  };
  for (const auto& [rows, columns, inner] :
       std::vector<std::array<std::size_t, 3>>{{1, 1, 1}, {5, 3, 7}, {16, 1, 33}, {2, 9, 0}}) {
    for (int flags = 0; flags < 8; ++flags) {
      LibraryProduct p{dtype, rows, columns, inner};
      p.a_transposed = (flags & 1) != 0;
      p.b_transposed = (flags & 2) != 0;
      p.beta = (flags & 4) != 0 ? 0.5 : 0;
      p.a_stride = (p.a_transposed ? inner : rows) + 2;
      p.b_stride = (p.b_transposed ? columns : inner) + 1;
      p.c_stride = rows + 3;
      std::vector<T> a(p.a_stride * (p.a_transposed ? rows : inner) + 1);
      std::vector<T> b(p.b_stride * (p.b_transposed ? inner : columns) + 1);
      std::vector<T> c(p.c_stride * columns);
      void* const there = make(c);
      p.a = make(a);
      p.b = make(b);
      p.c = there;
      runtime.multiply(p);
      std::vector<T> got(c.size());
      runtime.copy_to_host(got.data(), there, got.size() * sizeof(T));
      runtime.wait();
      for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t i = 0; i < p.c_stride; ++i) {
          const std::size_t at = j * p.c_stride + i;
          if (i >= rows) {
            EXPECT_EQ(got[at], c[at]);  // between the columns
            continue;
          }
          long double sum = p.beta * c[at];
          for (std::size_t k = 0; k < inner; ++k) {
            sum += static_cast<long double>(
                       a[p.a_transposed ? i * p.a_stride + k : k * p.a_stride + i]) *
                   b[p.b_transposed ? k * p.b_stride + j : j * p.b_stride + k];
          }
          EXPECT_NEAR(got[at], static_cast<double>(sum), dtype == DType::f32 ? 1e-5 : 1e-14);
        }
      }
      for (const void* memory : {p.a, p.b, static_cast<const void*>(there)}) {
        runtime.free(const_cast<void*>(memory));
      }
    }
  }
}

TEST_F(CommandsTest, LibraryProductsAreProducts) {
  check_products<float>(runtime_, DType::f32);
  check_products<double>(runtime_, DType::f64);
}

TEST_F(CommandsTest, ProductsRunInTheirPlace) {
  float *const a = make({1, 2, 3, 4}), *const x = make({1, 1}), *const y = make({0, 0});
  add(x, 2, {x + 0});
  runtime_.open_products();
  LibraryProduct product{DType::f32, 2, 1, 2, a, 2, false, x, 2, false, y, 2, 0};
  commands_.multiply(product);
  add(y, 2, {x});
  EXPECT_EQ(read(y, 2), (Floats{10, 14}));
}

}  // namespace
}  // namespace dynet_like::detail::cuda
