// Passes over a program whose members, ports and results are known: each finds out one thing.
#pragma once

#include "dynet_like/program/program.h"

namespace dynet_like::detail {

/// Where inputs contribute: to the gradients of ports, whose sums come first, and of the stretches
/// of members that are read.
struct Sums {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  Sums(const Program& program, const TypeTable& types);

  std::vector<std::uint32_t> of_input;             ///< which sum; none: no gradient is wanted
  std::vector<std::vector<std::uint32_t>> inputs;  ///< by sum: in the order of addition
  /// By member: whether different stretches of it overlap that are read.
  std::vector<bool> overlap;
};

/// Which members share a step, the order of steps forward and backward, and what is hoisted.
void order_steps(Program& program, const Sums& sums);

/// How contributions to gradients are summed: in the reverse of the order in which their inputs
/// were recorded, behind what results get; those to arguments, in that order. What does not come in
/// that order waits in slots. `columns`: elements of the column of each input.
void plan_sums(Program& program, const Sums& sums, const TypeTable& types,
               std::span<const std::uint32_t> columns);

}  // namespace dynet_like::detail
