// Sums of outer products of the back end for GPUs, against references in double: shapes that fill
// no tile, places that no vector may be read from, few addends and many.
#include <gtest/gtest.h>

#include "tests/support/cuda_memory_fixture.h"

namespace dynet_like::detail::cuda {
namespace {

template <class T>
class CudaOuterProductsTest : public CudaMemoryTest<T> {
 protected:
  using Numbers = std::vector<T>;

  double roundings_ = 1;

  // Addends repeat from the 41st on, and so do the numbers of every call with the same sizes.
  Numbers check(std::size_t rows, std::size_t columns, std::size_t n, bool fresh) {
    constexpr std::size_t kDifferent = 41;
    std::vector<Numbers> dy, x;
    std::vector<const void*> dy_there, x_there;
    this->random_ = Random(7);
    for (std::size_t i = 0; i < n; ++i) {
      if (i < kDifferent) {
        dy.push_back(this->draw(rows));
        x.push_back(this->draw(columns));
      }
      dy_there.push_back(i < kDifferent ? this->make(dy[i], i % 5) : dy_there[i % kDifferent]);
      x_there.push_back(i < kDifferent ? this->make(x[i], i % 3) : x_there[i % kDifferent]);
    }
    // What is there must not be read if the sum begins anew.
    const T there = fresh ? std::numeric_limits<T>::quiet_NaN() : T(0.25);
    OuterProducts call;
    call.rows = rows;
    call.columns = columns;
    call.addends = {dy_there.data(), x_there.data(), n};
    call.fresh = fresh;
    Numbers results[2];
    for (Numbers& result : results) {
      T* const sum = this->make(Numbers(rows * columns, there), rows % 2);
      call.sum = sum;
      this->queue_->add_outer_products(this->kType, call);
      result = this->read(sum, rows * columns);
    }
    EXPECT_TRUE(same_bytes(results[0], results[1]));
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t r = 0; r < rows; ++r) {
        double sum = fresh ? 0 : 0.25;
        for (std::size_t i = 0; i < n; ++i) {
          sum += double{dy[i % kDifferent][r]} * x[i % kDifferent][c];
        }
        EXPECT_NEAR(results[0][c * rows + r], sum, roundings_ * this->tolerance(n) * (1 + n / 40.0))
            << rows << " x " << columns << ", " << n << " addends, row " << r << ", column " << c;
      }
    }
    return results[0];
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaOuterProductsTest, Types);

TYPED_TEST(CudaOuterProductsTest, FewAddends) {
  for (std::size_t n = 0; n <= 17; ++n) {
    this->check(33, 7, n, n % 2 == 0);
    this->check(5, 66, n, n % 2 == 1);
  }
}

TYPED_TEST(CudaOuterProductsTest, ChunksOfManyAddends) {
  for (const std::size_t n : {63, 64, 65, 129, 300, 1000}) {
    for (const bool fresh : {true, false}) {
      this->check(1, 1, n, fresh);
      this->check(64, 64, n, fresh);
      this->check(67, 129, n, fresh);
    }
  }
}

// A small batch has the bits of its items one after the other.
TYPED_TEST(CudaOuterProductsTest, FewAddendsAreOneChain) {
  constexpr std::size_t kRows = 66, kColumns = 5, kAddends = 256;
  std::vector<const void*> dy, x;
  for (std::size_t i = 0; i < kAddends; ++i) {
    dy.push_back(this->make(this->draw(kRows)));
    x.push_back(this->make(this->draw(kColumns)));
  }
  const auto start = this->draw(kRows * kColumns);
  TypeParam *const together = this->make(start), *const one_by_one = this->make(start);
  this->queue_->add_outer_products(
      this->kType, {together, kRows, kColumns, {dy.data(), x.data(), kAddends}, false});
  for (std::size_t i = 0; i < kAddends; ++i) {
    this->queue_->add_outer_products(this->kType,
                                     {one_by_one, kRows, kColumns, {&dy[i], &x[i], 1}, false});
  }
  EXPECT_TRUE(
      same_bytes(this->read(together, kRows * kColumns), this->read(one_by_one, kRows * kColumns)));
}

TYPED_TEST(CudaOuterProductsTest, ByCublasOnlyWhereAskedForAndLarge) {
  if (!has_cublas()) GTEST_SKIP() << "there is no cuBLAS";
  const auto launches_of = [&](std::size_t n) {
    const std::uint64_t before = this->launches();
    this->check(160, 150, n, true);
    this->check(160, 150, n, false);
    return this->launches() - before;
  };
  static_assert(160 * 150 * 720 >= kLargeOuterProducts && 160 * 150 * 300 < kLargeOuterProducts);
  const std::uint64_t large = launches_of(720), small = launches_of(300);
  this->shared_->runtime.open_products();
  this->shared_->commands.set_large_products(LargeProducts::library);
  EXPECT_EQ(2 * launches_of(720), 3 * large) << "both sides are gathered and multiplied";
  EXPECT_EQ(launches_of(300), small);
}

TYPED_TEST(CudaOuterProductsTest, ByTensorCoresOnlyWhereAskedForAndLarge) {
  const auto sum = [&](std::size_t n) { return this->check(160, 150, n, true); };
  static_assert(160 * 150 * 720 >= kLargeOuterProducts && 160 * 150 * 300 < kLargeOuterProducts);
  const auto large = sum(720), small = sum(300);
  this->shared_->commands.set_large_products(LargeProducts::tf32);
  EXPECT_TRUE(same_bytes(sum(300), small));
  this->roundings_ = 1 << 13;
  EXPECT_EQ(same_bytes(sum(720), large), sizeof(TypeParam) == 8) << "doubles have none";
  this->check(161, 149, 720, false);
}

}  // namespace
}  // namespace dynet_like::detail::cuda
