// LSTMs with peepholes and coupled gates in plain doubles, one layer and step at a time.
#pragma once

#include "tests/compat/builders.h"

namespace dynet {

/// Which gates see cells.
struct Seen {
  bool by_input_gate = true, by_output_gate = true;
};

/// p: X_i, H_i, C_i, b_i, X_o, H_o, C_o, b_o, X_c, H_c, b_c.
inline PlainState plain_coupled_cell(const std::vector<Parameter>& p, const Doubles& x,
                                     const PlainState& before, Seen seen = {}) {
  const Doubles& h = before.h;
  Doubles i = plain_affine(p[3], {{p[0], x}, {p[1], h}});
  if (seen.by_input_gate) dynet_like::nn::add_product(i, numbers(p[2]), before.c);
  i = plain_logistic(i);
  const Doubles candidate = plain_tanh(plain_affine(p[10], {{p[8], x}, {p[9], h}}));
  const Doubles c = one_minus(i) * before.c + i * candidate;
  Doubles o = plain_affine(p[7], {{p[4], x}, {p[5], h}});
  if (seen.by_output_gate) dynet_like::nn::add_product(o, numbers(p[6]), c);
  return {plain_logistic(o) * plain_tanh(c), c};
}

}  // namespace dynet
