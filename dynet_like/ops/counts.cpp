// Ops that compare with counts: integers without a limit.
#include "dynet_like/ops/structured.h"

namespace dynet_like::ops {

const Op poisson_loss = [] {
  Op op;
  op.name = "poisson_loss";
  op.formula =
      "e^x - i x + ln i!, where 0 infinity = 0: -ln of the probability of i where the mean is e^x";
  op.integers_per_item = 1;
  op.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) {
    if (in[0].size() != 1) throw_shape_error("poisson_loss", "one element", in);
    return Dim({1});
  };
  op.cost = [](const Signature&) { return 60.0; };
  op.cases = [] { return std::vector<OpCase>{{{Dim({1})}}, {{Dim({1, 1})}, {}, {}, -8, 8}}; };
  op.bad_cases = [] { return std::vector<OpCase>{{{Dim({2})}}}; };
  return op;
}();

}  // namespace dynet_like::ops
