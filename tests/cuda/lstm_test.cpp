// LSTM cells of the back end for GPUs: one launch for few columns, two for many, the same bits.
#include <gtest/gtest.h>

#include "dynet_like/ops/structured.h"
#include "tests/support/cuda_memory_fixture.h"

namespace dynet_like::detail::cuda {
namespace {

// b + W h1 + ... + W x, and the cells of the children.
template <class T>
class CudaLstmTest : public CudaMemoryTest<T> {
 protected:
  using Numbers = std::vector<T>;

  void make_cells(unsigned children, unsigned hidden, unsigned inputs, std::size_t n) {
    children_ = children;
    const unsigned rows = (children + 3) * hidden;
    type_ = {};
    type_.op = &ops::lstm_cell;
    type_.dtype = this->kType;
    type_.attributes = {children, 0};
    type_.inputs = {Dim({rows})};
    for (unsigned k = 0; k < children; ++k) type_.inputs.push_back(Dim({hidden}));
    for (const unsigned inner : {hidden, inputs}) {
      type_.inputs.push_back(Dim({rows, inner}));
      type_.inputs.push_back(Dim({inner}));
    }
    type_.output = Dim({2 * hidden});
    type_.output_size = 2 * hidden;
    items_.assign(type_.inputs.size(), {});
    type_.shared.assign(type_.inputs.size(), 0);
    for (std::size_t j = 0; j < items_.size(); ++j) {
      type_.shared[j] = j == 0 || (j > children && (j - children) % 2 == 1);
      for (std::size_t i = 0; i < (type_.shared[j] ? 1 : n); ++i) {
        items_[j].push_back(this->make(this->draw(type_.inputs[j].size()), i % 2));
      }
    }
  }

  // What items first, ..., first + n - 1 give and keep, and by how many launches.
  Numbers forward(std::size_t first, std::size_t n, std::uint64_t launches) {
    std::vector<Operand> in(items_.size());
    for (std::size_t j = 0; j < in.size(); ++j) {
      if (type_.shared[j]) {
        in[j].shared = items_[j][0];
      } else {
        in[j].items = items_[j].data() + first;
      }
    }
    const std::size_t hidden = type_.output_size / 2, size = 2 * hidden,
                      kept = (children_ + 4) * hidden;
    T *const out = this->make(Numbers(n * size, T(7))), *const saved =
                                                            this->make(Numbers(n * kept));
    ForwardCall call;
    call.type = &type_;
    call.n = n;
    call.in = in.data();
    call.out = out;
    call.saved = saved;
    const std::uint64_t before = this->launches();
    this->queue_->forward(this->queue_->kernels(*type_.op).forward[static_cast<int>(type_.dtype)],
                          call);
    EXPECT_EQ(this->launches() - before, launches) << n << " items";
    Numbers results;
    const Numbers outs = this->read(out, n * size), all_kept = this->read(saved, n * kept);
    for (std::size_t i = 0; i < n; ++i) {
      results.insert(results.end(), outs.begin() + i * size, outs.begin() + (i + 1) * size);
      results.insert(results.end(), all_kept.begin() + i * kept, all_kept.begin() + (i + 1) * kept);
    }
    return results;
  }

  // Items of a batch against the same items in smaller ones.
  void check(std::size_t n, std::uint64_t launches) {
    const Numbers all = forward(0, n, launches);
    const std::size_t size = all.size() / n;
    for (const std::size_t few : {std::size_t{1}, std::size_t{40}, std::size_t{400}}) {
      if (few > n) continue;
      const std::size_t first = n - few;
      EXPECT_TRUE(
          this->same_bits(forward(first, few, 1), Numbers(all.begin() + first * size, all.end())))
          << few << " of " << n << " items";
    }
  }

  unsigned children_ = 0;
  Signature type_;
  std::vector<std::vector<const void*>> items_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaLstmTest, Types);

TYPED_TEST(CudaLstmTest, SameBitsInOneLaunchAndInTwo) {
  this->make_cells(1, 50, 90, 1100);  // 140 terms: two chunks
  this->check(1100, 2);
  this->make_cells(2, 37, 20, 41);
  this->check(41, 1);
}

// A tile has no room for a vector of each of 19 gates.
TYPED_TEST(CudaLstmTest, ManyChildrenAreTwoLaunches) {
  this->make_cells(16, 5, 3, 4);
  const auto together = this->forward(0, 4, 2);
  const auto alone = this->forward(3, 1, 2);
  EXPECT_TRUE(this->same_bits(alone, {together.end() - alone.size(), together.end()}));
}

TYPED_TEST(CudaLstmTest, AnyOrderOfBlocksAndThreads) {
  this->make_cells(1, 21, 130, 20);
  EXPECT_TRUE(this->same_in_all_orders([&] { return this->forward(0, 20, 1); }));
}

}  // namespace
}  // namespace dynet_like::detail::cuda
