// Equal memory has equal digests, and changes of the kinds that programs make are seen, on every
// instruction set and at every size around the width of vectors.
#include "dynet_like/device/cpu/digest.h"

#include "tests/support/precompiled.h"
#include "tests/support/targets.h"

namespace dynet_like::detail {
namespace {

std::uint64_t digest_of(const std::vector<float>& values) {
  return digest(values.data(), values.size() * sizeof(float));
}

// f(values) for every instruction set and many sizes.
template <class F>
void for_all(const F& f) {
  with_every_target([&] {
    for (std::size_t n = 1; n <= 300; n += n < 140 ? 1 : 17) {
      Random random(n);
      std::vector<float> values(n);
      for (float& value : values) value = static_cast<float>(random.normal());
      SCOPED_TRACE(n);
      f(values);
    }
  });
}

TEST(DigestTest, IsThatOfACopyAnywhere) {
  for_all([](const std::vector<float>& values) {
    std::vector<float> copy(values.size() + 1);
    std::copy(values.begin(), values.end(), copy.begin() + 1);
    EXPECT_EQ(digest(copy.data() + 1, values.size() * sizeof(float)), digest_of(values));
  });
}

TEST(DigestTest, SeesEveryBit) {
  for_all([](std::vector<float> values) {
    const std::uint64_t before = digest_of(values);
    for (float& value : values) {
      const float kept = value;
      for (const std::uint32_t bit : {0u, 13u, 31u}) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        bits ^= 1u << bit;
        std::memcpy(&value, &bits, sizeof bits);
        EXPECT_NE(digest_of(values), before);
        value = kept;
      }
    }
  });
}

TEST(DigestTest, SeesWhatChangesAll) {
  for_all([](const std::vector<float>& values) {
    std::vector<std::uint64_t> seen{digest_of(values)};
    for (const float factor : {-1.0f, 0.5f, 0.0f}) {
      std::vector<float> scaled = values;
      for (float& value : scaled) value *= factor;
      seen.push_back(digest_of(scaled));
    }
    std::vector<float> longer = values;
    longer.push_back(0);
    seen.push_back(digest_of(longer));
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
  });
}

TEST(DigestTest, SeesWhatChangesPlaces) {
  for_all([](std::vector<float> values) {
    const std::uint64_t before = digest_of(values);
    for (const std::size_t distance : {1, 4, 8, 16, 32, 64, 128}) {
      if (distance >= values.size()) break;
      std::swap(values[0], values[distance]);
      EXPECT_NE(digest_of(values), before) << distance;
      std::swap(values[0], values[distance]);
    }
    std::reverse(values.begin(), values.end());
    EXPECT_EQ(digest_of(values) == before, values.size() == 1);
  });
}

}  // namespace
}  // namespace dynet_like::detail
