// Sums of the back end for GPUs, against references in double: any number of addends of any size,
// in few launches, with the same bits together and alone.
#include "tests/support/cuda_memory_fixture.h"
#include "tests/support/precompiled.h"

namespace dynet_like::detail::cuda {
namespace {

using Types = ::testing::Types<float, double>;

template <class T>
class CudaSumsTest : public CudaMemoryTest<T> {
 protected:
  using Numbers = std::vector<T>;
  static constexpr std::size_t kDifferent = 41;  // addends repeat

  struct Sum {
    std::size_t size, count;
    SumStart start;
    std::vector<Numbers> addends;
    std::vector<const void*> there;
  };
  Sum make_sum(std::size_t size, std::size_t count, SumStart start) {
    Sum sum{size, count, start, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
      if (i < kDifferent) {
        sum.addends.push_back(this->draw(size));
        sum.there.push_back(this->make(sum.addends.back(), i % 3));
      } else {
        sum.there.push_back(sum.there[i % kDifferent]);
      }
    }
    return sum;
  }

  // All of them in one call.
  std::vector<Numbers> compute(const std::vector<Sum>& sums) {
    std::vector<SumSegment> segments;
    std::vector<const void*> addends;
    for (const Sum& sum : sums) {
      const T there = sum.start == SumStart::there ? T(0.25) : std::numeric_limits<T>::quiet_NaN();
      segments.push_back(
          {this->make(Numbers(sum.size, there)), sum.size, addends.size(), sum.count, sum.start});
      addends.insert(addends.end(), sum.there.begin(), sum.there.end());
    }
    launch_sums(this->shared_->commands, this->kType, segments, addends);
    std::vector<Numbers> results;
    for (const SumSegment& segment : segments) {
      results.push_back(this->read(static_cast<const T*>(segment.sum), segment.size));
    }
    return results;
  }

  void check(const Sum& sum, const Numbers& result) {
    SCOPED_TRACE(::testing::Message() << sum.count << " addends of " << sum.size);
    for (std::size_t e = 0; e < sum.size; ++e) {
      double expected = sum.start == SumStart::there ? 0.25 : 0;
      for (std::size_t i = 0; i < sum.count; ++i) expected += sum.addends[i % kDifferent][e];
      ASSERT_NEAR(result[e], expected, this->tolerance(sum.count) * (1 + sum.count / 40.0)) << e;
    }
  }
};
TYPED_TEST_SUITE(CudaSumsTest, Types);

TYPED_TEST(CudaSumsTest, AnyNumberOfAddendsTogetherAsAlone) {
  std::vector<typename TestFixture::Sum> sums;
  for (const std::size_t size : {1, 31, 33, 300}) {
    for (const std::size_t count : {1, 2, 31, 32, 33, 64, 65, 511, 512, 513, 1100, 5000}) {
      const auto start = static_cast<SumStart>((size + count) % 3);
      sums.push_back(this->make_sum(size, count, start));
    }
  }
  sums.push_back(this->make_sum(40, 0, SumStart::zero));
  const std::uint64_t before = this->launches();
  const auto results = this->compute(sums);
  EXPECT_EQ(this->launches() - before, 2u)
      << "chunks of long sums beside all others, then the rest";
  for (std::size_t s = 0; s < sums.size(); ++s) {
    this->check(sums[s], results[s]);
    EXPECT_TRUE(same_bytes(this->compute({sums[s]})[0], results[s]))
        << sums[s].count << " addends of " << sums[s].size;
  }
}

TYPED_TEST(CudaSumsTest, FewAddendsAreOneChainAndOneLaunch) {
  std::vector<typename TestFixture::Sum> sums;
  for (std::size_t i = 0; i < 300; ++i) sums.push_back(this->make_sum(40, 3, SumStart::first));
  const std::uint64_t before = this->launches();
  const auto results = this->compute(sums);
  EXPECT_EQ(this->launches() - before, 1u);
  for (std::size_t s = 0; s < sums.size(); ++s) {
    const auto& a = sums[s].addends;
    for (std::size_t e = 0; e < 40; ++e) {
      EXPECT_EQ(results[s][e], (a[0][e] + a[1][e]) + a[2][e]);
    }
  }
}

// Chunks of chunks.
TYPED_TEST(CudaSumsTest, SumsOfSumsOfChunks) {
  const auto sum = this->make_sum(3, 300000, SumStart::there);
  const std::uint64_t before = this->launches();
  const auto results = this->compute({sum});
  EXPECT_EQ(this->launches() - before, 3u);
  for (std::size_t e = 0; e < 3; ++e) {
    double expected = 0.25;
    for (std::size_t i = 0; i < sum.count; ++i) {
      expected += sum.addends[i % TestFixture::kDifferent][e];
    }
    EXPECT_NEAR(results[0][e], expected, 1e3 * this->tolerance(sum.count));
  }
}

}  // namespace
}  // namespace dynet_like::detail::cuda
