// The inputs of an op that form its affine maps, and the places of gates in cells: for all devices.
#pragma once

#include <cstddef>

#include "dynet_like/ops/op.h"

namespace dynet_like::detail {

/// The inputs of an op that form an affine map: a bias, if any, and pairs (W, x) from `first` on.
/// Results are {rows, columns}.
struct Affine {
  bool has_bias = false;
  std::size_t bias = 0, first = 0, pairs = 0, rows = 0, columns = 1;
};

/// The blocks of rows of the gates; the forget gates, one per child, begin at `f`. Saved items have
/// the gates in the same places, followed by tanh c.
struct LstmLayout {
  unsigned children, hidden, i, f, o, u, rows;

  explicit LstmLayout(const Signature& type)
      : children(type.attributes[0]), hidden(static_cast<unsigned>(type.output_size / 2)) {
    const bool input_first = type.attributes[1] != 0;
    i = (input_first ? 0 : children) * hidden;
    f = (input_first ? 1 : 0) * hidden;
    o = (children + 1) * hidden;
    u = (children + 2) * hidden;
    rows = (children + 3) * hidden;
  }
  Affine map(const Signature& type) const {
    const std::size_t first = children + 1;
    return {true, 0, first, (type.inputs.size() - first) / 2, rows, 1};
  }
};

/// The maps of h and of x, with three gates each. The map of x has no pairs if there is no x.
struct GruLayout {
  unsigned hidden, rows;
  Affine of_h, of_x;

  explicit GruLayout(const Signature& type)
      : hidden(static_cast<unsigned>(type.output_size)),
        rows(3 * hidden),
        of_h{true, 0, 1, 1, rows, 1},
        of_x{true, 3, 4, type.inputs.size() == 6 ? 1u : 0u, rows, 1} {}
  bool has_x() const { return of_x.pairs == 1; }
};

}  // namespace dynet_like::detail
