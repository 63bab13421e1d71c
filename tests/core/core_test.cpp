// Plain values: Dim, Tensor, random numbers.
#include <set>

#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

TEST(Dim, CountsElements) {
  const Dim dim({3, 4}, 5);
  EXPECT_EQ(dim.size(), 60u);
  EXPECT_EQ(dim.batch_size(), 12u);
  EXPECT_EQ(dim.rows(), 3u);
  EXPECT_EQ(dim.cols(), 4u);
  EXPECT_EQ(dim.batch_elems(), 5u);
  EXPECT_EQ(dim[1], 4u);
  EXPECT_EQ(dim[6], 1u);
  EXPECT_EQ(dim.sum_dims(), 7u);
  EXPECT_EQ(Dim().size(), 1u);
  EXPECT_EQ(Dim({7}).cols(), 1u);
  EXPECT_EQ(Dim({3, 1, 1}).truncate(), Dim({3}));
  EXPECT_EQ(Dim({1, 1}).truncate(), Dim({1}));
  EXPECT_EQ(Dim({3, 1, 2}).num_nonone_dims(), 2u);
  EXPECT_EQ(Dim({3, 4}, 2).transpose(), Dim({4, 3}, 2));
  EXPECT_EQ(dim.single_batch(), Dim({3, 4}));
}

TEST(Dim, IsEdited) {
  Dim dim({3, 4});
  dim.insert_dim(1, 9);
  EXPECT_EQ(dim, Dim({3, 9, 4}));
  dim.add_dim(2);
  EXPECT_EQ(dim, Dim({3, 9, 4, 2}));
  dim.delete_dim(1);
  EXPECT_EQ(dim, Dim({3, 4, 2}));
  dim.set(0, 5);
  EXPECT_EQ(dim, Dim({5, 4, 2}));
  dim.delete_dims({2, 0, 0}, true);
  EXPECT_EQ(dim, Dim({4}));
  dim.delete_dim(0);
  EXPECT_EQ(dim, Dim({1}));
  EXPECT_THROW(dim.delete_dim(1), ShapeError);
  EXPECT_THROW(dim.set(1, 2), ShapeError);
}

TEST(Dim, RefusesWhatIsTooLarge) {
  EXPECT_NO_THROW(Dim({65536, 32767}));
  EXPECT_THROW(Dim({65536, 32768}), ShapeError);
  EXPECT_THROW(Dim({65536, 65536, 65536, 65536}), ShapeError);
  EXPECT_THROW(Dim({1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
  EXPECT_THROW(Dim({3}, 0), ShapeError);
  EXPECT_THROW(Dim(std::vector<long>{-1}), ShapeError);
}

// Sizes whose product is at the limit or a little above or below it, in any order and with any
// batch.
TEST(Dim, TakesAsManyElementsAsItSays) {
  constexpr std::uint64_t kLimit = (std::uint64_t{1} << 31) - 1;
  Random random(2);
  int taken = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<long> sizes(1 + random.below(5));
    std::uint64_t left = kLimit, product = 1;
    for (long& size : sizes) {
      const std::uint64_t most = i % 3 == 0 ? left : std::min<std::uint64_t>(left, 500);
      size = 1 + random.below(static_cast<std::uint32_t>(most));
      left = std::max<std::uint64_t>(1, left / static_cast<std::uint64_t>(size));
    }
    if (random.below(4) > 0) {  // the last one takes what is left, or one more
      product = 1;
      for (std::size_t k = 0; k + 1 < sizes.size(); ++k) product *= static_cast<unsigned>(sizes[k]);
      sizes.back() = static_cast<long>(kLimit / product + random.below(2));
      if (sizes.back() > static_cast<long>(kLimit)) sizes.back() = static_cast<long>(kLimit);
    }
    random.shuffle(sizes);
    const unsigned batch = static_cast<unsigned>(sizes.back());
    sizes.pop_back();
    product = batch;
    for (const long size : sizes) product *= static_cast<std::uint64_t>(size);
    if (product > kLimit) {
      EXPECT_THROW(Dim(sizes, batch), ShapeError) << product;
      ++refused;
    } else {
      EXPECT_EQ(Dim(sizes, batch).size(), product);
      ++taken;
    }
  }
  EXPECT_GT(taken, 500);
  EXPECT_GT(refused, 500);
}

TEST(Dim, HasATextForm) {
  for (const Dim& dim : {Dim({3, 4}, 5), Dim({7}), Dim(), Dim({1, 2, 3, 4, 5, 6, 7})}) {
    std::stringstream text;
    text << dim;
    Dim read({99});
    EXPECT_TRUE(text >> read) << dim;
    EXPECT_EQ(read, dim);
  }
  EXPECT_EQ(to_string(Dim({3, 4}, 5)), "{3,4X5}");
  for (const char* bad : {"", "3,4}", "{3,4", "{3;4}", "{-3}", "{3X2X2}", "{1,1,1,1,1,1,1,1}",
                          "{99999999999}", "{65536,65536}", "{3X0}"}) {
    std::stringstream text(bad);
    Dim read({99});
    EXPECT_FALSE(text >> read) << bad;
    EXPECT_EQ(read, Dim({99}));
  }
}

TEST(Dim, PrintsTheProfileOfOneElement) {
  for (const auto& [dim, profile] : {std::pair(Dim({3, 4}), "{3,4}"),
                                     {Dim({3, 4}, 5), "{3,4}"},
                                     {Dim({7}, 2), "{7}"},
                                     {Dim(), "{}"}}) {
    std::ostringstream text;
    dim.print_profile(text);
    EXPECT_EQ(text.str(), profile);
  }
}

TEST(Tensor, IsValidIfAllElementsAreFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  for (std::size_t place : {0, 3, 5}) {
    for (float bad : {inf, -inf, std::nanf("")}) {
      std::vector<float> floats = {1, -2, 3e38f, 0, 5, 6};
      const Tensor tensor(Dim({3}, 2), floats.data());
      EXPECT_TRUE(tensor.is_valid());
      floats[place] = bad;
      EXPECT_FALSE(tensor.is_valid()) << place;
      EXPECT_EQ(tensor.batch_elem(0).is_valid(), place >= 3);
    }
  }
  double wide = 1e300;  // no float
  const Tensor precise(Dim({1}), &wide);
  EXPECT_TRUE(precise.is_valid());
  wide = std::nan("");
  EXPECT_FALSE(precise.is_valid());
}

TEST(Tensor, ReadsAndWritesElements) {
  std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const Tensor tensor(Dim({3}, 2), floats.data());
  EXPECT_EQ(as_vector(tensor), floats);
  EXPECT_EQ(as_vector(tensor.batch_elem(1)), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(tensor.batch_elems().size(), 2u);
  tensor.set(0, 9);
  EXPECT_EQ(floats[0], 9);
  EXPECT_THROW(as_scalar(tensor), ShapeError);
  EXPECT_THROW(tensor.batch_elem(2), ShapeError);
  std::vector<double> doubles = {0.1};
  const Tensor precise(Dim({1}), doubles.data());
  EXPECT_EQ(precise.at(0), 0.1);
  EXPECT_EQ(as_doubles(precise), doubles);
  EXPECT_EQ(as_scalar(precise), 0.1f);
  std::ostringstream text;
  text << Tensor(Dim({2, 3}), floats.data());
  EXPECT_EQ(text.str(), "9 3 5\n2 4 6\n");
}

TEST(Random, IsPhilox) {
  // Known answers of the authors' library (Random123).
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, ~std::uint64_t{0}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822ull),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, IsItsSeedAndPosition) {
  Random a(5);
  for (int i = 0; i < 10; ++i) a();
  Random b(5, a.position());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(a(), b());
  EXPECT_NE(Random(5)(), Random(6)());
  EXPECT_EQ(derived_seed(5, 1, 2), derived_seed(5, 1, 2));
  const std::set<std::uint64_t> seeds = {derived_seed(5, 1, 2), derived_seed(6, 1, 2),
                                         derived_seed(5, 2, 1), derived_seed(5, 1, 1ull << 32)};
  EXPECT_EQ(seeds.size(), 4u);
}

TEST(Random, HasTheRightDistributions) {
  Random random(3);
  constexpr int kDraws = 200000;
  double sum = 0, squares = 0, uniform = 0;
  std::vector<int> counts(7);
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal(), u = random.uniform();
    sum += x;
    squares += x * x;
    uniform += u;
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++counts[random.below(7)];
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
  EXPECT_NEAR(uniform / kDraws, 0.5, 0.005);
  for (int count : counts) EXPECT_NEAR(count, kDraws / 7.0, 600);
  std::vector<int> order = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  random.shuffle(order);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 10u);
}

TEST(Memory, SaysWhatIsMissing) {
  try {
    Block too_large(std::size_t{1} << 60);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("1152921504606846976 bytes"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("memory_limit"), std::string::npos);
  }
}

}  // namespace
}  // namespace dynet_like
