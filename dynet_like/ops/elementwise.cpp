// Shape rule and test cases that all elementwise ops share.
#include "dynet_like/ops/elementwise.h"

namespace dynet_like::detail {

Dim broadcast_shape(std::string_view op, std::span<const Dim> inputs) {
  Dim result = inputs[0];
  for (const Dim& dim : inputs.subspan(1)) {
    if (dim.nd > result.nd) result.resize(dim.nd);
    for (unsigned i = 0; i < dim.nd; ++i) {
      if (result.d[i] == 1) {
        result.d[i] = dim.d[i];
      } else if (dim.d[i] != 1 && dim.d[i] != result.d[i]) {
        throw_shape_error(op, "equal shapes, up to dimensions of size 1", inputs);
      }
    }
  }
  return result;
}

SharedGradient sum_if_same_shape(const Signature& type, unsigned input) {
  return type.inputs[input].size() == type.output_size ? SharedGradient::sum
                                                       : SharedGradient::dense;
}

std::vector<OpCase> elementwise_cases(unsigned inputs, unsigned reals, double low, double high,
                                      double kink) {
  const std::vector<double> numbers(reals, 0.37);
  std::vector<OpCase> cases;
  auto add = [&](std::vector<Dim> dims) { cases.push_back({dims, {}, numbers, low, high, kink}); };
  for (const Dim& dim : {Dim({1}), Dim({5}), Dim({33}), Dim({3, 7}), Dim({2, 3, 2})}) {
    add(std::vector<Dim>(inputs, dim));
  }
  if (inputs == 2) {
    add({Dim({4, 3}), Dim({1})});
    add({Dim({1}), Dim({19})});
    add({Dim({17, 3}), Dim({17})});
    add({Dim({1, 3}), Dim({5, 3})});
    add({Dim({4, 1, 2}), Dim({1, 3})});
  }
  return cases;
}

std::vector<OpCase> elementwise_bad_cases(unsigned inputs, unsigned reals) {
  const std::vector<double> numbers(reals, 0.37);
  if (inputs == 1) return {};
  return {{{Dim({3}), Dim({4})}, {}, numbers}, {{Dim({3, 4}), Dim({4, 3})}, {}, numbers}};
}

double elementwise_cost(const Signature& type) { return 4.0 * type.output_size; }

}  // namespace dynet_like::detail
