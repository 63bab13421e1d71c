// Packed copies: made once per version, when they pay, for every part of a value.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "dynet_like/device/packed_matrices.h"
#include "dynet_like/dynet_like.h"
#include "dynet_like/exec/cell_dictionary.h"

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

TEST(JoinedMatricesTest, IsMadeAnewWhenOneOfThemIsAnother) {
  CountingQueue device;
  JoinedMatrices copies;
  std::vector<float> a = {1, 2}, b = {3, 4, 5, 6}, other = {7, 8, 9, 10};
  MatrixSource of_a{a.data(), {0, 1, 2}, 5, 0}, of_b{b.data(), {0, 2, 2}, 5, 0};
  const auto packed = [&](std::size_t uses) {
    const int before = device.packed;
    const MatrixSource sources[] = {of_a, of_b};
    const void* const copy = copies.matrix(device, DType::f32, sources, uses);
    if (copy != nullptr) {
      EXPECT_EQ(first(copy), a[0]);
    }
    return copy == nullptr ? -1 : device.packed - before;
  };
  EXPECT_EQ(packed(1), -1);
  EXPECT_EQ(packed(64), 1);
  EXPECT_EQ(packed(1), 0);
  a[0] = 11;
  ++of_a.version;
  EXPECT_EQ(packed(1), -1);
  EXPECT_EQ(packed(64), 1);
  ++of_b.version;
  EXPECT_EQ(packed(64), 1);
  ++of_b.run;
  EXPECT_EQ(packed(64), 1);
  of_b.value = other.data();
  EXPECT_EQ(packed(64), 1);
  device.layout = 16;
  EXPECT_EQ(packed(64), 1);
  EXPECT_EQ(packed(1), 0);
}

// However many cell types have the same gates, such as one for every number of children, what is
// packed takes room once.
TEST(JoinedMatricesTest, CellTypesShareThem) {
  ParameterCollection model;
  ComputationGraph graph;
  const Expression x = input(graph, {4}, std::vector<float>(4, 1));
  const auto type_of = [&](const Expression& e) {
    return graph.tape().node(graph.tape().value(e.i).node).type;
  };
  const auto product = [&](unsigned rows) {
    return type_of(parameter(graph, model.add_parameters({rows, 4})) * x);
  };
  const TypeId a = product(4), b = product(4), c = product(3), other = type_of(tanh(x));
  CellDictionary dictionary;
  const auto packed = [&](const std::vector<TypeId>& members) {
    CellPattern pattern;
    pattern.ports = 1;
    for (TypeId member : members) {
      if (member != other) pattern.inputs.push_back({});
      pattern.inputs.push_back({CellInput::From::port});
      pattern.members.push_back(member);
      pattern.first_input.push_back(static_cast<std::uint32_t>(pattern.inputs.size()));
    }
    const CellType& cell = dictionary[dictionary.declare(pattern, graph.tape().types()).value()];
    EXPECT_EQ(cell.joints.size(), 1u);
    return cell.joints.at(0).packed.at(0);
  };
  const auto of_two = packed({a, b});
  EXPECT_EQ(packed({a, b, other}), of_two);
  EXPECT_EQ(packed({other, a, other, b}), of_two);
  EXPECT_NE(packed({a, c}), of_two);
  EXPECT_NE(packed({a, b, c}), of_two);
}

}  // namespace
}  // namespace dynet_like
