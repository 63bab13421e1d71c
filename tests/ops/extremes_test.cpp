// Elementwise kernels at negative, zero, positive, tiny, huge, infinite and undefined inputs, on
// every instruction set, against formulas that the library has no part in.
//
// Bounds: 8 epsilon of the result; of the largest of some terms where plain_elementwise.h says so.
// Results that are no normal numbers may be off by the smallest normal number, such as 0 instead;
// those beyond a quarter of the largest number may be infinite.
#include <gtest/gtest.h>

#include "tests/ops/cases.h"
#include "tests/ops/plain_elementwise.h"

namespace dynet_like::op_cases {
namespace {

template <class E>
std::vector<E> inputs_to_try() {
  using Limits = std::numeric_limits<E>;
  std::vector<E> numbers = {Limits::quiet_NaN()};
  for (double magnitude :
       {0.0,  1e-38, 1e-30, 1e-10, 0.3,   0.5,   1.0,   1.5,   2.5, 5.0,  30.0,
        50.5, 87.5,  89.4,  95.0,  100.0, 104.5, 300.0, 750.0, 1e4, 1e18, 1e30}) {
    numbers.push_back(static_cast<E>(magnitude));
    numbers.push_back(-static_cast<E>(magnitude));
  }
  for (E magnitude : {Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity()}) {
    numbers.push_back(magnitude);
    numbers.push_back(-magnitude);
  }
  return numbers;
}

// Where a formula is defined, and where it can be computed from numbers of its type.
template <class E>
bool is_in_domain(std::string_view op, E a, E b) {
  // Probabilities; what certainty costs is in op_edges_test.cpp.
  if (op == "binary_log_loss") return a > 0 && a < 1 && b >= 0 && b <= 1;
  if (op == "logit_loss") return std::isnan(b) || (b >= 0 && b <= 1);
  // Logarithms of probabilities that are normal numbers, or 0.
  if (op == "divergence_term" && a == -std::numeric_limits<E>::infinity()) return true;
  if (op == "divergence_term") return std::isnan(a) || (a <= 0 && a > -87);
  if (op != "pow") return true;
  // 1 / a is infinite for a denormal number, of which a power may be finite. Whether b - 1 is odd
  // is not to be seen for tiny and huge b.
  if (std::signbit(a) && b != 0 && (std::abs(b) < E(0.1) || std::abs(b) > E(1e9))) return false;
  return a == 0 || !(std::abs(a) < std::numeric_limits<E>::min());
}

// All numbers, or all pairs of numbers.
template <class E>
Item item_of_all(const Op& op, std::uint32_t reals) {
  Item item;
  item.inputs.resize(op.max_inputs);
  const std::vector<E> numbers = inputs_to_try<E>(), none = {0};
  for (E a : numbers) {
    for (E b : op.max_inputs == 2 ? numbers : none) {
      if (!is_in_domain(op.name, a, b)) continue;
      item.inputs[0].push_back(static_cast<double>(a));
      if (op.max_inputs == 2) item.inputs[1].push_back(static_cast<double>(b));
    }
  }
  if (reals > 0) item.reals = {op.name == std::string_view("silu") ? 1.0 : 0.375};
  return item;
}

template <class E>
constexpr Long kNearlyInfinite = static_cast<Long>(std::numeric_limits<E>::max()) / 4;

template <class E>
void expect_close(E got, Long exact, double scale, const std::string& where) {
  const E nearest = static_cast<E>(exact);
  if (std::isnan(exact)) {
    EXPECT_TRUE(std::isnan(got)) << got << where;
  } else if (std::isinf(nearest) || (std::isinf(got) && std::abs(exact) > kNearlyInfinite<E>)) {
    EXPECT_EQ(got, std::copysign(std::numeric_limits<E>::infinity(), nearest)) << where;
  } else {
    const Long size = std::max(std::abs(exact), static_cast<Long>(scale));
    const Long bound = 8 * size * static_cast<Long>(std::numeric_limits<E>::epsilon()) +
                       static_cast<Long>(std::numeric_limits<E>::min());
    EXPECT_LE(std::abs(static_cast<Long>(got) - exact), bound)
        << got << " for " << static_cast<double>(exact) << where;
  }
}

std::vector<const Op*> elementwise_ops() {
  std::vector<const Op*> result;
  for (const Op* op : all_ops()) {
    if (plain_elementwise().contains(op->name)) result.push_back(op);
  }
  return result;
}

class OpExtremesTest : public ::testing::TestWithParam<const Op*> {
 protected:
  template <class E>
  void check() {
    const Op& op = *GetParam();
    const PlainElementwise& plain = plain_elementwise().at(op.name);
    const Item item = item_of_all<E>(op, op.numbers.reals);
    const auto size = static_cast<unsigned>(item.inputs[0].size());
    const OpCall call{&op, {std::vector<Dim>(op.max_inputs, Dim({size}))}, std::string(op.name)};
    for (const KernelSet& set : kernel_sets()) {
      KernelCall<E> kernel(call, set, std::span(&item, 1), false);
      const std::vector<E> values = kernel.forward();
      const auto slopes = kernel.backward(std::vector<E>(size, E(1)));
      for (unsigned i = 0; i < size; ++i) {
        const Long a = static_cast<Long>(item.inputs[0][i]);
        const Long b = op.max_inputs == 2 ? static_cast<Long>(item.inputs[1][i]) : 0;
        const Long c = item.reals.empty() ? 0 : static_cast<Long>(item.reals[0]);
        std::ostringstream where;
        where << " at " << item.inputs[0][i];
        if (op.max_inputs == 2) where << " and " << item.inputs[1][i];
        where << ", " << set.target;
        expect_close(values[i], plain.value(a, b, c), plain.value_scale, where.str());
        if (std::isnan(a) || std::isnan(b)) continue;
        expect_close(slopes[0][i], plain.slope_0(a, b, c), plain.slope_scale,
                     ": slope" + where.str());
        if (plain.slope_1 == nullptr) continue;
        expect_close(slopes[1][i], plain.slope_1(a, b, c), plain.slope_scale,
                     ": second slope" + where.str());
      }
      if (HasFailure()) return;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, OpExtremesTest, ::testing::ValuesIn(elementwise_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(OpExtremesTest, Floats) { check<float>(); }
TEST_P(OpExtremesTest, Doubles) { check<double>(); }

}  // namespace
}  // namespace dynet_like::op_cases
