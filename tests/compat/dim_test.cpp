// <dynet/dim.h>: shapes.
#include <dynet/dim.h>
#include <gtest/gtest.h>

#include <sstream>

namespace {

using dynet::Dim;

TEST(CompatDimTest, IsMadeAndMeasured) {
  EXPECT_EQ(Dim().size(), 1u);
  const Dim d({2, 3, 1}, 4);
  EXPECT_EQ(d.size(), 24u);
  EXPECT_EQ(d.batch_size(), 6u);
  EXPECT_EQ(d.batch_elems(), 4u);
  EXPECT_EQ(d.sum_dims(), 6u);
  EXPECT_EQ(d.ndims(), 3u);
  EXPECT_EQ(d.rows(), 2u);
  EXPECT_EQ(d.cols(), 3u);
  EXPECT_EQ(d.num_nonone_dims(), 2u);
  EXPECT_EQ(d[1], 3u);
  EXPECT_EQ(d.size(7), 1u);
  EXPECT_EQ(d.truncate(), Dim({2, 3}, 4));
  EXPECT_EQ(d.single_batch(), Dim({2, 3, 1}));
  EXPECT_EQ(Dim(std::vector<long>{2, 3}), Dim({2, 3}));
  EXPECT_EQ(Dim(std::vector<long>{2, 3}, 4u), Dim({2, 3}, 4));
  EXPECT_TRUE(d != Dim({2, 3, 1}));
  EXPECT_EQ(d.nd, 3u);
  EXPECT_EQ(d.bd, 4u);
  EXPECT_EQ(d.d[1], 3u);
}

// Programs count in int, long and size_t.
TEST(CompatDimTest, IsMadeOfAnyIntegers) {
  const long rows = 2, columns = 3;
  const int three = 3;
  const std::size_t four = 4;
  EXPECT_EQ(Dim({rows, columns}), Dim({2u, 3u}));
  EXPECT_EQ(Dim({rows, columns}, 4), Dim({2u, 3u}, 4));
  EXPECT_EQ(Dim({three}), Dim({3u}));
  EXPECT_EQ(Dim({four, four}), Dim({4u, 4u}));
  const Dim assigned = {rows, rows};
  EXPECT_EQ(assigned, Dim({2u, 2u}));
  EXPECT_THROW(Dim({-1}), std::invalid_argument);
  EXPECT_THROW(Dim({1L << 40}), std::invalid_argument);
  EXPECT_THROW(Dim({1, 1, 1, 1, 1, 1, 1, 1}), std::invalid_argument);
}

TEST(CompatDimTest, IsChanged) {
  Dim d({2, 3});
  d.resize(3);
  EXPECT_EQ(d, Dim({2, 3, 1}));
  d.set(2, 4);
  EXPECT_EQ(d, Dim({2, 3, 4}));
  d.delete_dim(0);
  EXPECT_EQ(d, Dim({3, 4}));
  d.add_dim(5);
  EXPECT_EQ(d, Dim({3, 4, 5}));
  d.insert_dim(1, 6);
  EXPECT_EQ(d, Dim({3, 6, 4, 5}));
  d.delete_dims({0, 2}, false);
  EXPECT_EQ(d, Dim({6, 5}));
  EXPECT_EQ(d.transpose(), Dim({5, 6}));
}

TEST(CompatDimTest, IsWrittenAndRead) {
  std::ostringstream out;
  out << Dim({2, 3}, 4) << std::vector<Dim>{Dim({1}), Dim({2})};
  EXPECT_EQ(out.str(), "{2,3X4}[{1} {2}]");
  std::istringstream in("{2,3X4}");
  Dim d;
  in >> d;
  EXPECT_EQ(d, Dim({2, 3}, 4));
  out.str("");
  Dim({2, 3}, 4).print_profile(out);
  EXPECT_EQ(out.str(), "{2,3}");
}

}  // namespace
