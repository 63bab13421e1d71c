// The headers of files .npy, for shapes of every length.
#include <gtest/gtest.h>

#include <set>

#include "dynet_like/io/npz.h"
#include "tests/support/python.h"

namespace dynet_like {
namespace {

class NpyHeadersTest : public PythonTest {
 protected:
  void SetUp() override {}  // needs no Python
};

// A header ends with a newline, and data begin at a multiple of 64 bytes, whatever is left to fill.
TEST_F(NpyHeadersTest, OfAnyLengthEndBeforeTheData) {
  std::set<std::size_t> filled;
  for (unsigned ones = 0; ones < 22; ++ones) {
    for (const std::uint64_t more : {1, 10, 100}) {  // a byte more each; a 1 takes three
      std::vector<std::uint64_t> shape(ones, 1);
      shape.insert(shape.end(), {0, more});  // 0, so that there are no elements
      write_npy(path("header.npy"), {"", "F32", shape, {}});
      const std::string bytes = contents("header.npy");
      ASSERT_EQ(bytes.size() % 64, 0u);
      ASSERT_EQ(bytes.substr(bytes.find('}') + 1).find_first_not_of(' '),
                bytes.size() - bytes.find('}') - 2);
      ASSERT_EQ(bytes.back(), '\n');
      filled.insert(bytes.size() - bytes.find('}') - 2);
      EXPECT_EQ(NumpyFile::read(path("header.npy")).entries()[0].shape, shape);
    }
  }
  EXPECT_EQ(filled.size(), 64u);  // from none to 63 blanks
}

}  // namespace
}  // namespace dynet_like
