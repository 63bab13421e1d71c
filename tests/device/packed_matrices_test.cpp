// Packed copies: made once per version, when they pay, for every part of a value.
#include "dynet_like/device/packed_matrices.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

// Counts how often something is packed; its layout is a number that names the source.
class CountingQueue : public Queue {
 public:
  const Kernels& kernels(const Op&) const override { return none_; }
  void forward(Kernels::Forward, const ForwardCall&) override {}
  void backward(Kernels::Backward, const BackwardCall&) override {}
  void add_outer_products(DType, const OuterProducts&) override {}
  void add_all(DType, void*, std::size_t, const Addends&, SumStart) override {}
  const void* ones(DType, std::size_t) override { return nullptr; }
  void write(void*, const void*, std::size_t) override {}
  std::size_t packing(DType) const override { return layout; }
  std::size_t packed_bytes(DType, std::size_t, std::size_t, bool) const override {
    return sizeof(float);
  }
  void pack(DType, const void* matrix, std::size_t, std::size_t, bool, void* to) const override {
    ++packed;
    std::memcpy(to, matrix, sizeof(float));
  }

  std::size_t layout = 64;
  mutable int packed = 0;

 private:
  Kernels none_;
};

float first(const void* copy) { return *static_cast<const float*>(copy); }

TEST(PackedMatricesTest, ACopyIsMadeOncePerVersion) {
  CountingQueue device;
  PackedMatrices copies;
  std::vector<float> values = {1, 2, 3, 4};
  const MatrixPlace whole{0, 2, 2}, half{2, 2, 1};
  const auto transpose = [&](const MatrixPlace& place, std::uint64_t version) {
    return first(copies.transpose(device, DType::f32, values.data(), place, version));
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(transpose(whole, 0), 1.0f);
  EXPECT_EQ(device.packed, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(transpose(half, 0), 3.0f);
  EXPECT_EQ(device.packed, 2);
  values[0] = 7;
  EXPECT_EQ(transpose(whole, 1), 7.0f);
  EXPECT_EQ(transpose(half, 0), 3.0f);
  EXPECT_EQ(device.packed, 3);
  device.layout = 16;
  EXPECT_EQ(transpose(whole, 1), 7.0f);
  EXPECT_EQ(device.packed, 4);
}

TEST(PackedMatricesTest, AMatrixIsCopiedWhenItIsUsedMore) {
  CountingQueue device;
  PackedMatrices copies;
  const std::vector<float> values = {1, 2, 3, 4};
  const MatrixPlace whole{0, 2, 2};
  const auto copy = [&](std::uint64_t version, std::size_t uses) {
    return copies.matrix(device, DType::f32, values.data(), whole, version, uses);
  };
  EXPECT_EQ(copy(0, 1), nullptr);
  EXPECT_EQ(copy(0, 1), nullptr);
  EXPECT_NE(copy(0, 64), nullptr);
  EXPECT_NE(copy(0, 1), nullptr);
  EXPECT_EQ(device.packed, 1);
  EXPECT_EQ(copy(1, 1), nullptr);
  EXPECT_NE(copies.transpose(device, DType::f32, values.data(), whole, 1), nullptr);
  EXPECT_EQ(device.packed, 2);
}

TEST(PackedMatricesTest, PartsAtEverNewPlacesAreNotKept) {
  CountingQueue device;
  PackedMatrices copies;
  const std::vector<float> values(1000);
  for (std::size_t offset = 0; offset < 900; ++offset) {
    const MatrixPlace place{offset, 2, 2};
    copies.transpose(device, DType::f32, values.data(), place, 0);
  }
  EXPECT_LE(device.packed, 64);
}

}  // namespace
}  // namespace dynet_like
