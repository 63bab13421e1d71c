// Products and sums of outer products of the back end for GPUs, against references in
// double: shapes that fill no tile, places that no vector may be read from, results that are added,
// written or not wanted. An item has the bits that it has alone.
#include <gtest/gtest.h>

#include "dynet_like/ops/structured.h"
#include "tests/support/cuda_memory_fixture.h"

namespace dynet_like::detail::cuda {
namespace {

using Types = testing::Types<float, double>;

// b + W1 x1 + W2 x2 of some items, with columns of their own; W is shared, or every item has one.
template <class T>
struct AffineBatch {
  unsigned rows, inner[2], columns;
  std::size_t n;
  bool shared;
  bool matrices_wanted;  // their gradients, of every item
  std::vector<std::vector<T>> w[2], x[2], dy;
  std::vector<T> bias;
  std::vector<const void*> w_there[2], x_there[2], dy_there;
  const void* bias_there;
};

template <class T>
class CudaAffineTest : public CudaMemoryTest<T> {
 protected:
  using Numbers = std::vector<T>;

  AffineBatch<T> make_batch(unsigned rows, unsigned inner, unsigned columns, std::size_t n,
                            bool shared, bool aligned) {
    AffineBatch<T> batch{
        rows,   {inner, inner / 2 + 1}, columns, n, shared, n < 500, {}, {}, {}, {}, {}, {}, {},
        nullptr};
    const auto shift = [&](std::size_t i) { return aligned ? 0 : i % 4 + 1; };
    for (int p = 0; p < 2; ++p) {
      for (std::size_t i = 0; i < (shared ? 1 : n); ++i) {
        batch.w[p].push_back(this->draw(rows * batch.inner[p]));
        batch.w_there[p].push_back(this->make(batch.w[p].back(), shift(p)));
      }
      for (std::size_t i = 0; i < n; ++i) {
        batch.x[p].push_back(this->draw(batch.inner[p] * columns));
        batch.x_there[p].push_back(this->make(batch.x[p].back(), shift(i)));
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      batch.dy.push_back(this->draw(rows * columns));
      batch.dy_there.push_back(this->make(batch.dy.back(), shift(i)));
    }
    batch.bias = this->draw(rows);
    batch.bias_there = this->make(batch.bias, shift(0));
    return batch;
  }

  static Signature type_of(const AffineBatch<T>& b) {
    Signature type;
    type.op = &ops::affine_transform;
    type.dtype = CudaMemoryTest<T>::kType;
    type.inputs = {Dim({b.rows}), Dim({b.rows, b.inner[0]}), Dim({b.inner[0], b.columns}),
                   Dim({b.rows, b.inner[1]}), Dim({b.inner[1], b.columns})};
    type.shared = {1, b.shared, 0, b.shared, 0};
    type.output = Dim({b.rows, b.columns});
    type.output_size = type.output.size();
    return type;
  }
  static std::vector<Operand> inputs_of(const AffineBatch<T>& b, std::size_t first) {
    std::vector<Operand> in(5);
    in[0].shared = b.bias_there;
    for (int p = 0; p < 2; ++p) {
      if (b.shared) {
        in[1 + 2 * p].shared = b.w_there[p][0];
      } else {
        in[1 + 2 * p].items = b.w_there[p].data() + first;
      }
      in[2 + 2 * p].items = b.x_there[p].data() + first;
    }
    return in;
  }

  // Of items first, ..., first + n - 1.
  Numbers forward(const AffineBatch<T>& b, std::size_t first, std::size_t n) {
    const Signature type = type_of(b);
    const std::vector<Operand> in = inputs_of(b, first);
    T* const out = this->make(Numbers(n * type.output_size, T(7)));
    ForwardCall call;
    call.type = &type;
    call.n = n;
    call.in = in.data();
    call.out = {out, type.output_size};
    this->queue_->forward(this->queue_->kernels(*type.op).forward[static_cast<int>(type.dtype)],
                          call);
    return this->read(out, n * type.output_size);
  }

  // The gradients of all inputs but the bias, input after input: what was there is `there`, and
  // items are added, written, or not wanted in turn.
  std::vector<std::vector<Numbers>> backward(const AffineBatch<T>& b, std::size_t first,
                                             std::size_t n, T there) {
    const Signature type = type_of(b);
    const std::vector<Operand> in = inputs_of(b, first);
    std::vector<std::vector<void*>> places(5);
    std::vector<std::uint8_t> add;
    for (std::size_t i = first; i < first + n; ++i) add.push_back(i % 3 == 0);
    std::vector<Destination> dx(5);
    for (std::size_t j = 1; j < 5; ++j) {
      if (j % 2 == 1 && !b.matrices_wanted) continue;
      const std::size_t size = type.inputs[j].size();
      for (std::size_t i = first; i < first + n; ++i) {
        places[j].push_back(i % 3 == 2 ? nullptr : this->make(Numbers(size, there), i % 2));
      }
      dx[j] = {places[j].data(), add.data()};
    }
    BackwardCall call;
    call.type = &type;
    call.n = n;
    call.in = in.data();
    call.dy.items = b.dy_there.data() + first;
    call.dx = dx.data();
    this->queue_->backward(this->queue_->kernels(*type.op).backward[static_cast<int>(type.dtype)],
                           call);
    std::vector<std::vector<Numbers>> results(5);
    for (std::size_t j = 1; j < 5; ++j) {
      for (void* place : places[j]) {
        results[j].push_back(place == nullptr
                                 ? Numbers()
                                 : this->read(static_cast<const T*>(place), type.inputs[j].size()));
      }
    }
    return results;
  }

  void check_forward(const AffineBatch<T>& b, const Numbers& y) {
    const double allowed = roundings_ * this->tolerance(b.inner[0] + b.inner[1]);
    for (std::size_t i = 0; i < b.n; ++i) {
      for (unsigned c = 0; c < b.columns; ++c) {
        for (unsigned r = 0; r < b.rows; ++r) {
          double sum = b.bias[r];
          for (int p = 0; p < 2; ++p) {
            const Numbers& w = b.w[p][b.shared ? 0 : i];
            for (unsigned k = 0; k < b.inner[p]; ++k) {
              sum += double{w[k * b.rows + r]} * b.x[p][i][c * b.inner[p] + k];
            }
          }
          ASSERT_NEAR(y[(i * b.columns + c) * b.rows + r], sum, allowed)
              << "item " << i << ", row " << r << ", column " << c;
        }
      }
    }
  }
  void check_backward(const AffineBatch<T>& b, const std::vector<std::vector<Numbers>>& dx,
                      double there) {
    for (std::size_t i = 0; i < b.n; ++i) {
      if (i % 3 == 2) continue;
      const double start = i % 3 == 0 ? there : 0;
      for (int p = 0; p < 2; ++p) {
        const Numbers& w = b.w[p][b.shared ? 0 : i];
        const unsigned inner = b.inner[p];
        for (unsigned k = 0; k < inner; ++k) {
          for (unsigned c = 0; c < b.columns; ++c) {
            double sum = start;
            for (unsigned r = 0; r < b.rows; ++r) {
              sum += double{w[k * b.rows + r]} * b.dy[i][c * b.rows + r];
            }
            ASSERT_NEAR(dx[2 + 2 * p][i][c * inner + k], sum, roundings_ * this->tolerance(b.rows));
          }
          for (unsigned r = 0; r < (b.matrices_wanted ? b.rows : 0); ++r) {
            double sum = start;
            for (unsigned c = 0; c < b.columns; ++c) {
              sum += double{b.dy[i][c * b.rows + r]} * b.x[p][i][c * inner + k];
            }
            ASSERT_NEAR(dx[1 + 2 * p][i][k * b.rows + r], sum, this->tolerance(b.columns));
          }
        }
      }
    }
  }

  // All together against the reference, and some items against themselves alone.
  void check_forward(const AffineBatch<T>& b) {
    const std::size_t size = std::size_t{b.rows} * b.columns;
    const Numbers y = forward(b, 0, b.n);
    check_forward(b, y);
    for (const std::size_t i : {std::size_t{0}, b.n / 2, b.n - 1}) {
      EXPECT_TRUE(this->same_bits(forward(b, i, 1),
                                  Numbers(y.begin() + i * size, y.begin() + (i + 1) * size)));
    }
  }
  void check_backward(const AffineBatch<T>& b) {
    const auto dx = backward(b, 0, b.n, T(0.5));
    check_backward(b, dx, 0.5);
    for (const std::size_t i : {std::size_t{0}, b.n / 2, b.n - 1}) {
      const auto alone = backward(b, i, 1, T(0.5));
      for (std::size_t j = b.matrices_wanted ? 1 : 2; j < 5; j += b.matrices_wanted ? 1 : 2) {
        EXPECT_TRUE(this->same_bits(alone[j][0], dx[j][i]));
      }
    }
  }
  void check(const AffineBatch<T>& b) {
    check_forward(b);
    check_backward(b);
  }

  double roundings_ = 1;  // how much larger than those of exact products they may be
};
TYPED_TEST_SUITE(CudaAffineTest, Types);

TYPED_TEST(CudaAffineTest, FewColumns) {
  for (std::size_t n = 1; n <= 17; ++n) {
    SCOPED_TRACE(n);
    this->check(this->make_batch(n % 2 == 0 ? 33 : 20, n % 2 == 0 ? 35 : 12, 1, n, true, false));
  }
}

TYPED_TEST(CudaAffineTest, ShapesThatFillNoTile) {
  const std::pair<unsigned, unsigned> shapes[] = {{1, 1}, {5, 3}, {67, 129}, {130, 70}, {64, 64}};
  for (const auto& [rows, inner] : shapes) {
    for (const bool aligned : {true, false}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << inner << ", aligned: " << aligned);
      this->check(this->make_batch(rows, inner, 1, 40, true, aligned));
    }
  }
}

TYPED_TEST(CudaAffineTest, ItemsOfSeveralColumns) {
  this->check(this->make_batch(35, 20, 7, 13, true, false));
  this->check(this->make_batch(64, 32, 16, 4, true, true));
}

TYPED_TEST(CudaAffineTest, MatricesOfTheirOwn) {
  this->check(this->make_batch(37, 20, 1, 13, false, false));
  this->check(this->make_batch(70, 36, 5, 4, false, true));
}

TYPED_TEST(CudaAffineTest, AnyOrderOfBlocksAndThreads) {
  const auto batch = this->make_batch(67, 70, 1, 40, true, false);
  EXPECT_TRUE(this->same_in_all_orders([&] { return this->forward(batch, 0, batch.n); }));
  EXPECT_TRUE(this->same_in_all_orders(
      [&] { return this->backward(batch, 0, batch.n, TypeParam(0.5))[2][0]; }));
}

// As many columns as the medium and the large tiles need.
TYPED_TEST(CudaAffineTest, ManyColumns) {
  this->check(this->make_batch(270, 9, 1, 830, true, true));
  this->check(this->make_batch(1030, 6, 1, 980, true, true));
}

// Terms are cut into chunks by their number alone: here the forward product has 451 or 151 of them,
// the backward one 300 or 140; tiles are tiny, or medium.
TYPED_TEST(CudaAffineTest, ChunksOfManyTerms) {
  this->check(this->make_batch(33, 300, 1, 20, true, false));
  this->check(this->make_batch(300, 20, 1, 20, true, true));
  this->check(this->make_batch(140, 130, 2, 3, false, true));
  this->check_forward(this->make_batch(270, 100, 1, 830, true, true));
  this->check_backward(this->make_batch(140, 270, 1, 830, true, false));
}

// Large products by tensor cores: as exact as their numbers, and other products.
using CudaTensorProductsTest = CudaAffineTest<float>;

TEST_F(CudaTensorProductsTest, AreAsExactAsTheirNumbers) {
  const auto columns = make_batch(1030, 9, 1, 980, true, false);  // large if not transposed
  const auto rows = make_batch(13, 1030, 1, 980, true, true);     // if transposed
  const Numbers exact = forward(columns, 0, columns.n);
  const auto exact_gradients = backward(rows, 0, rows.n, 0.5f);
  shared_->commands.set_large_products(LargeProducts::tf32);
  roundings_ = 1 << 13;
  const Numbers y = forward(columns, 0, columns.n);
  check_forward(columns, y);
  const auto dx = backward(rows, 0, rows.n, 0.5f);
  check_backward(rows, dx, 0.5);
  double error = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    error = std::max(error, std::abs(double{y[i]} - exact[i]));
  }
  EXPECT_GT(error, tolerance(14)) << "of products of rounded numbers";
  EXPECT_FALSE(same_bits(dx[2][0], exact_gradients[2][0]));
}

// ------------------------------------------------------------------------------- outer products

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
    EXPECT_TRUE(this->same_bits(results[0], results[1]));
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
  EXPECT_TRUE(this->same_bits(this->read(together, kRows * kColumns),
                              this->read(one_by_one, kRows * kColumns)));
}

TYPED_TEST(CudaOuterProductsTest, ByTensorCoresOnlyWhereAskedForAndLarge) {
  const auto sum = [&](std::size_t n) { return this->check(160, 150, n, true); };
  static_assert(160 * 150 * 720 >= kLargeOuterProducts && 160 * 150 * 300 < kLargeOuterProducts);
  const auto large = sum(720), small = sum(300);
  this->shared_->commands.set_large_products(LargeProducts::tf32);
  EXPECT_TRUE(this->same_bits(sum(300), small));
  this->roundings_ = 1 << 13;
  EXPECT_EQ(this->same_bits(sum(720), large), sizeof(TypeParam) == 8) << "doubles have none";
  this->check(161, 149, 720, false);
}

TYPED_TEST(CudaOuterProductsTest, AnyOrderOfBlocksAndThreads) {
  const auto dy = this->draw(70), x = this->draw(67);
  const std::vector<const void*> lists[2] = {std::vector<const void*>(200, this->make(dy)),
                                             std::vector<const void*>(200, this->make(x))};
  EXPECT_TRUE(this->same_in_all_orders([&] {
    TypeParam* const sum = this->make(std::vector<TypeParam>(70 * 67));
    this->queue_->add_outer_products(this->kType,
                                     {sum, 70, 67, {lists[0].data(), lists[1].data(), 200}, true});
    return this->read(sum, 70 * 67);
  }));
}

}  // namespace
}  // namespace dynet_like::detail::cuda
