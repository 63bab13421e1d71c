// Commands of a device: what runs together, what must not, what travels, and library products.
#include "dynet_like/device/cuda/commands.h"

#include <array>
#include <vector>

#include "tests/support/cuda_memory_fixture.h"
#include "tests/support/precompiled.h"

namespace dynet_like::detail::cuda {
namespace {

using Floats = std::vector<float>;

class CommandsTest : public CudaMemoryTest<float> {
 protected:
  // Launches of a submission.
  std::uint64_t launches() {
    const std::uint64_t before = runtime_.counts().launches;
    return CudaMemoryTest::launches() - before;
  }

  Runtime& runtime_ = shared_->runtime;
  Commands& commands_ = shared_->commands;
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
}

TEST_F(CommandsTest, ASumWaitsForThoseThatReadItsPlace) {
  float *const a = make({1, 2}), *const b = make({10, 20}), *const c = make({5, 6});
  add(a, 2, {b});
  add(b, 2, {c}, SumStart::first);
  EXPECT_EQ(launches(), 2u);
  EXPECT_EQ(read(a, 2), (Floats{11, 22}));
  EXPECT_EQ(read(b, 2), (Floats{5, 6}));
  add(a, 2, {c, b});
  add(b + 1, 1, {c});  // a part of it
  EXPECT_EQ(launches(), 2u);
  EXPECT_EQ(read(a, 2), (Floats{21, 34}));
  EXPECT_EQ(read(b, 2), (Floats{5, 11}));
  add(a, 2, {b});
  add(c, 2, {b});  // reads the same
  EXPECT_EQ(launches(), 1u);
}

// Sums of anything in the same memory, against the same sums one by one.
TEST_F(CommandsTest, AnySumsAreAsIfOneByOne) {
  constexpr std::size_t kSize = 24, kSums = 8;
  for (int round = 0; round < 50; ++round) {
    Floats here(kSize);
    for (float& number : here) number = static_cast<float>(random_.below(8));
    float* const there = make(here);
    for (std::size_t s = 0; s < kSums; ++s) {
      const std::size_t size = 1 + random_.below(4), at = random_.below(kSize - size);
      const auto start = static_cast<SumStart>(random_.below(3));
      std::vector<const void*> addends;
      Floats sum(here.data() + at, here.data() + at + size);
      if (start != SumStart::there) sum.assign(size, 0);
      while (addends.size() < 1 + s % 3) {
        const std::size_t from = random_.below(kSize - size);
        if (from + size > at && at + size > from) continue;  // a sum must not read its own place
        addends.push_back(there + from);
        for (std::size_t e = 0; e < size; ++e) sum[e] += here[from + e];
      }
      std::copy(sum.begin(), sum.end(), here.data() + at);
      add(there + at, size, addends, start);
    }
    EXPECT_EQ(read(there, kSize), here) << round;
  }
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

TEST_F(CommandsTest, TheDeviceBeginsWhileItIsAskedForMore) {
  float *const a = make({1}), *const b = make({1});
  const std::uint64_t waits = runtime_.counts().synchronisations;
  const auto launched_after = [&](unsigned calls) {
    for (unsigned i = 0; i < calls; ++i) {
      add(a, 1, {b});
      commands_.finish_sums();
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
  EXPECT_EQ(runtime_.counts().synchronisations, waits);
  EXPECT_EQ(read(a, 1), Floats{1 + 144});
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
  if (kEmulated) {
    EXPECT_EQ(commands_.busy_seconds(), 0) << "the device has not come to it";
  }
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
  if (kEmulated) {
    EXPECT_EQ(runtime_.counts().allocations, allocations);
  } else {  // a slow round has more lists under way, at most those of all its submissions
    EXPECT_LE(runtime_.counts().allocations, allocations + round.size());
  }
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
  if (!has_cublas()) GTEST_SKIP() << "there is no cuBLAS";
  check_products<float>(runtime_, DType::f32);
  check_products<double>(runtime_, DType::f64);
}

TEST_F(CommandsTest, ProductsRunInTheirPlace) {
  if (!has_cublas()) GTEST_SKIP() << "there is no cuBLAS";
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
