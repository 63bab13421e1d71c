// LSTMs with peepholes and coupled gates in plain doubles, one layer and step at a time.
#pragma once

#include "tests/compat_builders.h"

namespace dynet {

/// A matrix, or the diagonal of one, times x.
inline Doubles plain_peephole(const Parameter& weights, const Doubles& x) {
  if (weights.dim().cols() == 1) return numbers(weights) * x;
  Doubles y(x.size());
  dynet_like::nn::add_product(y, numbers(weights), x);
  return y;
}

/// p: X_i, H_i, C_i, b_i, X_o, H_o, C_o, b_o, X_c, H_c, b_c. `first`: without the cell in o.
inline PlainState plain_coupled_cell(const std::vector<Parameter>& p, const Doubles& x,
                                     const PlainState& before, bool first) {
  const Doubles& h = before.h;
  const Doubles i =
      plain_logistic(plain_affine(p[3], {{p[0], x}, {p[1], h}}) + plain_peephole(p[2], before.c));
  const Doubles candidate = plain_tanh(plain_affine(p[10], {{p[8], x}, {p[9], h}}));
  const Doubles c = one_minus(i) * before.c + i * candidate;
  Doubles o = plain_affine(p[7], {{p[4], x}, {p[5], h}});
  if (!first) o = o + plain_peephole(p[6], c);
  return {plain_logistic(o) * plain_tanh(c), c};
}

/// The lines of a layout for a layer whose first name has this number.
inline std::string coupled_layout(const std::string& name, unsigned first, unsigned inputs,
                                  unsigned hidden, unsigned peephole_columns) {
  const std::string h = std::to_string(hidden);
  const std::string x = "{" + h + "," + std::to_string(inputs) + "}", u = "{" + h + "," + h + "}";
  const std::string c = "{" + h + "," + std::to_string(peephole_columns) + "}", b = "{" + h + "}";
  std::string all;
  for (const std::string& shape : {x, u, c, b, x, u, c, b, x, u, b}) {
    all += "/" + name + "/_" + std::to_string(first++) + " " + shape + "\n";
  }
  return all;
}

}  // namespace dynet
