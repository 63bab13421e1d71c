// How the generated tests call every op.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/core/dim.h"
#include "dynet_like/ops/op.h"

namespace dynet_like::testing {

/// One way to call an op: inputs are drawn from [low, high] and kept at least 0.05 away from
/// `kink`; `diagonal` is added where row and column are the same; integers are drawn below the op's
/// limit.
struct OpCase {
  std::vector<Dim> inputs;
  std::vector<std::uint32_t> attributes = {};
  std::vector<double> reals = {};
  double low = -1.5, high = 1.5;
  double kink = -100;
  double diagonal = 0;
};

/// Ops of a formula of one's own: tests are generated for them as for the library's.
std::span<const ops::Op* const> formula_ops();

/// Calls that it takes; none of an op that is neither elementwise nor in the table.
std::vector<OpCase> good_cases(const ops::Op& op);
/// Calls that must throw ShapeError.
std::vector<OpCase> bad_cases(const ops::Op& op);

}  // namespace dynet_like::testing
