// Calls of every op, for the generated tests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/core/dim.h"
#include "dynet_like/ops/op.h"

namespace dynet_like::testing {

/// A way to call an op: inputs are drawn from [low, high] and kept at least 0.05 away from `kink`;
/// `diagonal` is added to the diagonal of a matrix; integers are drawn below the op's limit.
struct OpCase {
  std::vector<Dim> inputs;
  std::vector<std::uint32_t> attributes = {};
  std::vector<double> reals = {};
  double low = -1.5, high = 1.5;
  double kink = -100;
  double diagonal = 0;
};

/// Ops from formulas, as users write them. They get the same generated tests as the library's.
std::span<const ops::Op* const> formula_ops();

/// Valid calls of an op; none if it is neither elementwise nor in the table.
std::vector<OpCase> good_cases(const ops::Op& op);
/// Calls that must throw ShapeError.
std::vector<OpCase> bad_cases(const ops::Op& op);

}  // namespace dynet_like::testing
