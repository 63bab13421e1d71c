// Cells as anybody would write them down, one element at a time.
#pragma once

#include "tests/ops/cases.h"

namespace dynet_like::op_cases {

inline double plain_logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// Element `row` of b + W1 x1 + ..., where b is input `bias` and pairs begin at input `first`.
inline double plain_affine(const Signature& type, const Item& item, std::size_t bias,
                           std::size_t first, std::size_t end, std::size_t row) {
  double total = item.inputs[bias][row];
  for (std::size_t w = first; w < end; w += 2) {
    const std::size_t rows = type.inputs[w].rows();
    for (std::size_t k = 0; k < type.inputs[w].cols(); ++k) {
      total += item.inputs[w][k * rows + row] * item.inputs[w + 1][k];
    }
  }
  return total;
}

/// h for the first half of the elements, c for the second.
inline double plain_lstm_cell(const Signature& type, const Item& item, std::size_t element) {
  const std::size_t children = type.attributes[0], hidden = type.output_size / 2;
  const bool input_first = type.attributes[1] != 0;
  const std::size_t e = element % hidden;
  const auto sum = [&](std::size_t block) {
    return plain_affine(type, item, 0, children + 1, type.inputs.size(), block * hidden + e);
  };
  const double i = plain_logistic(sum(input_first ? 0 : children));
  double c = i * std::tanh(sum(children + 2));
  for (std::size_t k = 0; k < children; ++k) {
    c += plain_logistic(sum(k + (input_first ? 1 : 0))) * item.inputs[1 + k][e];
  }
  return element < hidden ? plain_logistic(sum(children + 1)) * std::tanh(c) : c;
}

inline double plain_gru_cell(const Signature& type, const Item& item, std::size_t e) {
  const std::size_t hidden = type.output_size;
  const auto of_h = [&](std::size_t block) {
    return plain_affine(type, item, 0, 1, 3, block * hidden + e);
  };
  const auto of_x = [&](std::size_t block) {
    return type.inputs.size() == 3 ? 0.0 : plain_affine(type, item, 3, 4, 6, block * hidden + e);
  };
  const double r = plain_logistic(of_h(0) + of_x(0)), z = plain_logistic(of_h(1) + of_x(1));
  const double n = std::tanh(of_x(2) + r * of_h(2));
  return (1 - z) * n + z * item.inputs[2][e];
}

}  // namespace dynet_like::op_cases
