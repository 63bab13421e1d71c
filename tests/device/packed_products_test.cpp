// Products and sums of outer products against plain chains, bit for bit, on every instruction set.
#include "tests/ops/cases.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::op_cases {
namespace {

template <class E>
std::vector<E> draw(Random& random, std::size_t n) {
  std::vector<E> numbers(n);
  for (E& number : numbers) number = static_cast<E>(2 * random.uniform() - 1);
  return numbers;
}

// Others have no fused multiply-add: their chains are rounded twice per step.
const std::vector<KernelSet>& fusing_sets() {
  static const std::vector<KernelSet> sets = [] {
    std::vector<KernelSet> all = kernel_sets();
    std::erase_if(all, [](const KernelSet& set) {
      return !set.target.starts_with("AVX") && !set.target.starts_with("NEON");
    });
    return all;
  }();
  return sets;
}

struct Sizes {
  unsigned rows, columns;
};

// Around half a vector, one vector, one panel and several panels of every instruction set, and more
// than stays in the second-level cache.
constexpr Sizes kSizes[] = {{1, 1},   {3, 18},   {5, 3},     {8, 67},    {16, 7},
                            {17, 13}, {33, 6},   {64, 12},   {70, 9},    {67, 129},
                            {100, 8}, {131, 35}, {200, 178}, {70, 1000}, {140, 1000}};

template <class E>
class PackedProductsTest : public ::testing::Test {
 public:
  static constexpr DType kDType = sizeof(E) == 4 ? DType::f32 : DType::f64;

  std::vector<E> packed(const KernelSet& set, const std::vector<E>& matrix, const Sizes& size,
                        bool transposed) {
    const int type = static_cast<int>(kDType);
    std::vector<E> result(set.matrices->packed_size[type](size.rows, size.columns, transposed));
    set.matrices->pack[type](matrix.data(), size.rows, size.columns, transposed, result.data());
    return result;
  }

  Signature product_type(const Sizes& size) const {
    Signature type;
    type.op = &ops::matrix_product;
    type.dtype = kDType;
    type.inputs = {Dim({size.rows, size.columns}), Dim({size.columns})};
    type.shared = {1, 0};
    type.output = Dim({size.rows});
    type.output_size = size.rows;
    return type;
  }

  // n vectors of `size` elements that do not follow one another in memory.
  std::vector<const void*> places(const std::vector<E>& numbers, std::size_t size, std::size_t n) {
    std::vector<const void*> result(n);
    for (std::size_t i = 0; i < n; ++i) result[i] = numbers.data() + (n - 1 - i) * size;
    return result;
  }
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PackedProductsTest, Types);

// W x, or b + W1 x1 + W2 x2, of which any may be packed: one chain over all columns, and a bias.
TYPED_TEST(PackedProductsTest, ForwardIsOneChainPerElement) {
  using E = TypeParam;
  Random random(1);
  for (const Sizes& size : kSizes) {
    const auto left = draw<E>(random, size.rows * size.columns);
    const auto right = draw<E>(random, size.rows * size.columns), bias = draw<E>(random, size.rows);
    for (const std::size_t n : {1, 2, 3, 4, 5, 6, 7, 12, 17, 30}) {
      const std::size_t pairs = n == 30 ? 2 : 1;
      const auto x = draw<E>(random, n * size.columns);
      const auto xs = this->places(x, size.columns, n);
      const std::vector<const void*> ys(xs.rbegin(), xs.rend());
      Signature type = this->product_type(size);
      if (pairs == 2) {
        type.op = &ops::affine_transform;
        type.inputs = {Dim({size.rows}), type.inputs[0], type.inputs[1], type.inputs[0],
                       type.inputs[1]};
        type.shared = {1, 1, 0, 1, 0};
      }
      std::vector<E> expected;
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t m = 0; m < size.rows; ++m) {
          E chain = 0;
          for (std::size_t p = 0; p < pairs; ++p) {
            const auto* const vector = static_cast<const E*>((p == 0 ? xs : ys)[i]);
            for (std::size_t k = 0; k < size.columns; ++k) {
              chain = std::fma((p == 0 ? left : right)[k * size.rows + m], vector[k], chain);
            }
          }
          expected.push_back(pairs == 2 ? chain + bias[m] : chain);
        }
      }
      for (const KernelSet& set : fusing_sets()) {
        const auto left_copy = this->packed(set, left, size, false);
        const auto right_copy = this->packed(set, right, size, false);
        for (unsigned packed = 0; packed < 2 * pairs; ++packed) {
          const Operand in[] = {
              {nullptr, bias.data()},
              {nullptr, left.data(), packed % 2 == 1 ? left_copy.data() : nullptr},
              {xs.data()},
              {nullptr, right.data(), packed / 2 == 1 ? right_copy.data() : nullptr},
              {ys.data()}};
          std::vector<E> out(n * size.rows);
          HeapWorkspace workspace;
          ForwardCall call;
          call.type = &type;
          call.n = n;
          call.in = pairs == 2 ? in : in + 1;
          call.out = {out.data(), size.rows};
          call.workspace = &workspace;
          set.kernels.at(type.op->name).forward[static_cast<int>(this->kDType)](call);
          EXPECT_EQ(out, expected) << set.target << ' ' << size.rows << 'x' << size.columns << ", "
                                   << n << ", packed: " << packed;
        }
      }
    }
  }
}

TYPED_TEST(PackedProductsTest, RightGradientIsOneChainPerElement) {
  Random random(2);
  for (const Sizes& size : kSizes) {
    const auto matrix = draw<TypeParam>(random, size.rows * size.columns);
    const Signature type = this->product_type(size);
    for (std::size_t n : {1, 2, 5, 6, 7, 17}) {
      const auto dy = draw<TypeParam>(random, n * size.rows);
      const auto dys = this->places(dy, size.rows, n);
      const auto before = draw<TypeParam>(random, n * size.columns);
      std::vector<std::uint8_t> add(n);
      for (std::size_t i = 0; i < n; ++i) add[i] = i % 3 == 1;
      auto expected = before;
      for (std::size_t i = 0; i < n; ++i) {
        if (i == 4) continue;  // not wanted
        for (std::size_t k = 0; k < size.columns; ++k) {
          TypeParam chain = 0;
          for (std::size_t m = 0; m < size.rows; ++m) {
            chain = std::fma(matrix[k * size.rows + m], static_cast<const TypeParam*>(dys[i])[m],
                             chain);
          }
          TypeParam& to = expected[i * size.columns + k];
          to = add[i] != 0 ? to + chain : chain;
        }
      }
      for (const KernelSet& set : fusing_sets()) {
        const auto copy = this->packed(set, matrix, size, true);
        for (const void* packed :
             {static_cast<const void*>(copy.data()), static_cast<const void*>(nullptr)}) {
          auto dx = before;
          std::vector<void*> items(n);
          for (std::size_t i = 0; i < n; ++i) items[i] = dx.data() + i * size.columns;
          if (n > 4) items[4] = nullptr;
          const Operand in[] = {{nullptr, matrix.data(), packed}, {}};
          const Destination to[] = {{}, {items.data(), add.data()}};
          HeapWorkspace workspace;
          BackwardCall call;
          call.type = &type;
          call.n = n;
          call.in = in;
          call.dy = {dys.data()};
          call.dx = to;
          call.workspace = &workspace;
          set.kernels.at("matrix_product").backward[static_cast<int>(this->kDType)](call);
          EXPECT_EQ(dx, expected) << set.target << ' ' << size.rows << 'x' << size.columns << ", "
                                  << n << (packed != nullptr ? " packed" : " as it is");
        }
      }
    }
  }
}

TYPED_TEST(PackedProductsTest, OuterProductsAreOneChainPerElement) {
  Random random(3);
  std::vector<Sizes> sizes(std::begin(kSizes), std::end(kSizes));
  sizes.push_back({20, 200});  // so many columns, or rows, that addends are copied together
  sizes.push_back({2100, 8});
  for (const Sizes& size : sizes) {
    for (std::size_t n : {1, 2, 17, 255, 256, 600}) {
      if (kSlowBuild && n > 17 && n != 256) continue;
      const auto dy = draw<TypeParam>(random, n * size.rows);
      const auto x = draw<TypeParam>(random, n * size.columns);
      const auto dys = this->places(dy, size.rows, n), xs = this->places(x, size.columns, n);
      const auto before = draw<TypeParam>(random, size.rows * size.columns);
      for (const bool fresh : {false, true}) {
        auto expected = fresh ? std::vector<TypeParam>(before.size()) : before;
        for (std::size_t i = 0; i < n; ++i) {
          const auto* left = static_cast<const TypeParam*>(dys[i]);
          const auto* right = static_cast<const TypeParam*>(xs[i]);
          for (std::size_t e = 0; e < expected.size(); ++e) {
            expected[e] = std::fma(left[e % size.rows], right[e / size.rows], expected[e]);
          }
        }
        for (const KernelSet& set : fusing_sets()) {
          const int type = static_cast<int>(this->kDType);
          const std::size_t panel = set.matrices->panel_rows[type];
          for (const std::size_t step : {panel, 40 * panel}) {  // as threads split it
            auto sum = before;
            const OuterProducts call{
                sum.data(), size.rows, size.columns, {dys.data(), xs.data(), n}, fresh};
            HeapWorkspace workspace;
            for (std::size_t row = 0; row < size.rows; row += step) {
              set.matrices->add_outer_products[type](
                  call, row, std::min<std::size_t>(size.rows, row + step), workspace);
            }
            EXPECT_EQ(sum, expected) << set.target << ' ' << size.rows << 'x' << size.columns
                                     << ", " << n << (fresh ? " from zero" : "") << ", " << step;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dynet_like::op_cases
