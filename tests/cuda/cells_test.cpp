// Cells of the back end for GPUs: one launch for few columns, two for many, the same bits.
#include <gtest/gtest.h>

#include <array>

#include "dynet_like/ops/structured.h"
#include "tests/support/cuda_memory_fixture.h"

namespace dynet_like::detail::cuda {
namespace {

template <class T>
class CudaCellsTest : public CudaMemoryTest<T> {
 protected:
  using Numbers = std::vector<T>;

  // b, c1, ..., then W h and W x.
  void make_lstm(unsigned children, unsigned hidden, unsigned inputs, std::size_t n) {
    const unsigned rows = (children + 3) * hidden;
    type_ = {};
    type_.op = &ops::lstm_cell;
    type_.attributes = {children, 0};
    type_.inputs.assign(1, Dim({rows}));
    type_.inputs.insert(type_.inputs.end(), children, Dim({hidden}));
    type_.shared.assign(1 + children, 0);
    type_.shared[0] = 1;
    for (const unsigned inner : {hidden, inputs}) add_pair(rows, inner);
    type_.output = Dim({2 * hidden});
    kept_ = (children + 4) * hidden;
    make_items(n);
  }
  // b, W h, b, W x.
  void make_gru(unsigned hidden, unsigned inputs, std::size_t n) {
    type_ = {};
    type_.op = &ops::gru_cell;
    for (const unsigned inner : {hidden, inputs}) {
      type_.inputs.push_back(Dim({3 * hidden}));
      type_.shared.push_back(1);
      add_pair(3 * hidden, inner);
    }
    type_.output = Dim({hidden});
    kept_ = 4 * hidden;
    make_items(n);
  }
  void add_pair(unsigned rows, unsigned inner) {
    type_.inputs.insert(type_.inputs.end(), {Dim({rows, inner}), Dim({inner})});
    type_.shared.insert(type_.shared.end(), {1, 0});
  }
  void make_items(std::size_t n) {
    type_.dtype = this->kType;
    type_.output_size = type_.output.size();
    items_.assign(type_.inputs.size(), {});
    for (std::size_t j = 0; j < items_.size(); ++j) {
      for (std::size_t i = 0; i < (type_.shared[j] != 0 ? 1 : n); ++i) {
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
    const std::size_t size = type_.output_size, kept = kept_;
    T* const out = this->make(Numbers(n * size, T(7)));
    T* const saved = this->make(Numbers(n * kept));
    ForwardCall call;
    call.type = &type_;
    call.n = n;
    call.in = in.data();
    call.out = {out, part_size(type_)};
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

  // The states of several levels of n items, each of which reads the level before it: as input `to`
  // part `part`, for all pairs in `reads`. `submits`: level by level.
  Numbers levels(std::size_t n, unsigned count, const std::vector<std::array<unsigned, 2>>& reads,
                 bool submits) {
    const std::size_t part = part_size(type_), each = n * type_.output_size;
    std::vector<std::vector<const void*>> items = items_;
    T* out = this->make(Numbers(count * each, T(7)));
    const T* const first = out;
    for (unsigned level = 0; level < count; ++level, out += each) {
      std::vector<Operand> in(items.size());
      for (std::size_t j = 0; j < in.size(); ++j) {
        type_.shared[j] ? in[j].shared = items[j][0] : in[j].items = items[j].data();
      }
      ForwardCall call;
      call.type = &type_;
      call.n = n;
      call.in = in.data();
      call.out = {out, part};
      this->queue_->forward(this->queue_->kernels(*type_.op).forward[static_cast<int>(type_.dtype)],
                            call);
      if (submits) this->queue_->submit();
      for (const auto& [to, from] : reads) {
        for (std::size_t i = 0; i < n; ++i)
          items[to][i] = out + i * type_.output_size + from * part;
      }
    }
    return this->read(first, count * each);
  }
  // Levels that share a launch have the bits of levels that do not, in any order.
  void check_levels(std::size_t n, const std::vector<std::array<unsigned, 2>>& reads,
                    unsigned count = 5) {
    std::uint64_t before = this->launches();
    const Numbers alone = levels(n, count, reads, true);
    EXPECT_EQ(this->launches() - before, count);
    EXPECT_TRUE(this->same_in_all_orders([&] {
      before = this->launches();
      const Numbers together = levels(n, count, reads, false);
      EXPECT_EQ(this->launches() - before, 1u);
      EXPECT_TRUE(this->same_bits(together, alone));
      return together;
    }));
  }

  Signature type_;
  std::size_t kept_ = 0;  // elements of an item
  std::vector<std::vector<const void*>> items_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaCellsTest, Types);

TYPED_TEST(CudaCellsTest, SameBitsInOneLaunchAndInTwo) {
  this->make_lstm(1, 50, 90, 1100);  // 140 terms: two chunks
  this->check(1100, 2);
  this->make_lstm(2, 50, 20, 1050);  // 400 items have small tiles, 40 have tiny ones
  this->check(1050, 2);
  this->make_lstm(3, 37, 20, 41);
  this->check(41, 1);
  this->make_gru(70, 140, 900);
  this->check(900, 2);
  this->make_gru(21, 3, 41);
  this->check(41, 1);
}

TYPED_TEST(CudaCellsTest, LevelsShareALaunch) {
  for (const unsigned children : {0u, 1u, 2u}) {
    this->make_lstm(children, 24, 130, 19);
    std::vector<std::array<unsigned, 2>> reads = {{children + 2, 0}};
    for (unsigned child = 0; child < children; ++child) reads.push_back({1 + child, 1});
    this->check_levels(19, reads);
  }
  this->make_lstm(2, 256, 3, 30);  // small tiles
  this->check_levels(30, {{{4, 0}, {1, 1}, {2, 1}}}, 2);
  this->make_gru(21, 130, 20);
  this->check_levels(20, {{{2, 0}}});
}

// A tile has no room for a vector of each of 19 gates.
TYPED_TEST(CudaCellsTest, ManyChildrenAreTwoLaunches) {
  this->make_lstm(16, 5, 3, 4);
  const auto together = this->forward(0, 4, 2);
  const auto alone = this->forward(3, 1, 2);
  EXPECT_TRUE(this->same_bits(alone, {together.end() - alone.size(), together.end()}));
}

TYPED_TEST(CudaCellsTest, AnyOrderOfBlocksAndThreads) {
  this->make_lstm(1, 21, 130, 20);
  EXPECT_TRUE(this->same_in_all_orders([&] { return this->forward(0, 20, 1); }));
  this->make_gru(21, 130, 20);
  EXPECT_TRUE(this->same_in_all_orders([&] { return this->forward(0, 20, 1); }));
}

}  // namespace
}  // namespace dynet_like::detail::cuda
