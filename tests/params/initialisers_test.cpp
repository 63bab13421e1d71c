// Initialisers of matrices and from files: what they make, and what they refuse.
#include <unistd.h>

#include "tests/support/message_of.h"

#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

TEST(ParameterInitIdentity, HasOnesOnTheDiagonal) {
  ParameterCollection model;
  const Parameter identity = model.add_parameters({3, 3}, ParameterInitIdentity());
  EXPECT_EQ(as_vector(identity.values()), (Floats{1, 0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(as_vector(model.add_parameters({1, 1}, ParameterInitIdentity()).values()), Floats{1});
  for (const Dim& dim : {Dim({3}), Dim({2, 3}), Dim({2, 2, 2}), Dim({2, 2, 1})}) {
    EXPECT_THROW(model.add_parameters(dim, ParameterInitIdentity()), ShapeError);
  }
  EXPECT_EQ(model.size(), 2u) << "a refused parameter must not stay";
}

// The largest difference of m^T m (or of m m^T, for a wide matrix) from gain^2 times the identity.
double distance_from_orthonormal(const Tensor& m, double gain) {
  const std::size_t rows = m.d.rows(), columns = m.d.cols();
  const bool tall = rows >= columns;
  const std::size_t count = tall ? columns : rows, size = tall ? rows : columns;
  const auto element = [&](std::size_t vector, std::size_t i) {
    return tall ? m.at(vector * rows + i) : m.at(i * rows + vector);
  };
  double largest = 0;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < size; ++i) product += element(a, i) * element(b, i);
      largest = std::max(largest, std::abs(product - (a == b ? gain * gain : 0)));
    }
  }
  return largest;
}

TEST(ParameterInitSaxe, MakesOrthonormalColumnsOrRows) {
  for (const Dim& dim : {Dim({1, 1}), Dim({1, 7}), Dim({7, 1}), Dim({2, 2}), Dim({60, 60}),
                         Dim({60, 17}), Dim({17, 60})}) {
    ParameterCollection doubles(1, DType::f64), floats(1);
    const auto exact = doubles.add_parameters(dim, ParameterInitSaxe(2.5f)).values();
    const auto rounded = floats.add_parameters(dim, ParameterInitSaxe()).values();
    EXPECT_LT(distance_from_orthonormal(exact, 2.5), 1e-14 * 6.25) << dim;
    EXPECT_LT(distance_from_orthonormal(rounded, 1), 3e-7) << dim;
  }
}

TEST(ParameterInitSaxe, DrawsAllDirectionsAlike) {
  // Elements of Haar-distributed matrices have mean 0 and variance 1 / n; so has the trace, with
  // variance 1, which it would not have without the positive diagonal of R.
  constexpr unsigned kSize = 4, kDraws = 4000;
  std::vector<double> sums(kSize * kSize), squares(kSize * kSize);
  double trace_sum = 0, trace_squares = 0;
  for (unsigned draw = 0; draw < kDraws; ++draw) {
    const Floats m = as_vector(
        ParameterCollection(draw).add_parameters({kSize, kSize}, ParameterInitSaxe()).values());
    double trace = 0;
    for (std::size_t i = 0; i < m.size(); ++i) {
      const double x = static_cast<double>(m[i]);
      sums[i] += x;
      squares[i] += x * x;
      if (i % (kSize + 1) == 0) trace += x;
    }
    trace_sum += trace;
    trace_squares += trace * trace;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_NEAR(sums[i] / kDraws, 0, 0.04) << i;  // 5 deviations of 0.5 / sqrt(4000)
    EXPECT_NEAR(squares[i] / kDraws, 0.25, 0.02) << i;
  }
  EXPECT_NEAR(trace_sum / kDraws, 0, 0.08);
  EXPECT_NEAR(trace_squares / kDraws, 1, 0.12);
}

TEST(ParameterInitSaxe, NeedsAMatrix) {
  ParameterCollection model;
  for (const Dim& dim : {Dim({3}), Dim({2, 2, 2})}) {
    EXPECT_THROW(model.add_parameters(dim, ParameterInitSaxe()), ShapeError);
  }
  EXPECT_EQ(as_vector(model.add_parameters({2, 2}, ParameterInitSaxe(0)).values())[3], 0.0f);
}

// A file that is removed at the end.
class InitialiserFile : public ::testing::Test {
 protected:
  InitialiserFile()
      : path_((fs::path(::testing::TempDir()) / ("initialisers_test_" + std::to_string(getpid())))
                  .string()) {}
  ~InitialiserFile() override { fs::remove(path_); }

  Floats values(const std::string& text, const Dim& dim) {
    std::ofstream(path_, std::ios::binary) << text;
    return as_vector(model_.add_parameters(dim, ParameterInitFromFile(path_)).values());
  }
  void expect_error(const std::string& text, std::size_t line, const std::string& part) {
    const std::string place = path_ + ":" + std::to_string(line) + ": ";
    const std::string message = message_of<FileError>([&] { values(text, {2, 2}); });
    EXPECT_EQ(message.find(place), 0u) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }

  ParameterCollection model_;
  const std::string path_;
};

TEST_F(InitialiserFile, GivesItsNumbersColumnByColumn) {
  EXPECT_EQ(values("1 -2.5\n+3e2\t4\r\n\n 5\v6\f", {3, 2}), (Floats{1, -2.5f, 300, 4, 5, 6}));
  EXPECT_EQ(values("1", {1}), Floats{1});
  EXPECT_EQ(values("\xEF\xBB\xBF-1 2", {2}), (Floats{-1, 2})) << "with a byte order mark";
}

TEST_F(InitialiserFile, RefusesWhatDoesNotFit) {
  expect_error("", 1, "need 4 numbers for {2,2}; got 0");
  expect_error("1 2\n3\n", 3, "got 3");
  expect_error("1 2\n3 4\n5", 3, "got more");
  expect_error("1 2\n3 four\n", 2, "got \"four\"");
  expect_error("1 2\n3,4 5", 2, "got \"3,4\"");
  expect_error("1 1e39 3 4", 1, "got \"1e39\"");
  expect_error(std::string("1 2 3 4\n\0", 9), 2, "\\x00");
  expect_error("1 2 3 " + std::string(1000, '4'), 1, "at most 64 bytes");
  EXPECT_EQ(model_.size(), 0u);
}

TEST_F(InitialiserFile, NeedsAFile) {
  for (const std::string& path : {path_, std::string("/dev/zero"), ::testing::TempDir()}) {
    EXPECT_THROW(model_.add_parameters({2}, ParameterInitFromFile(path)), FileError) << path;
  }
}

}  // namespace
}  // namespace dynet_like
