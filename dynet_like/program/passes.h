// Passes over a program whose members, ports and results are known. Each adds one kind of facts.
#pragma once

#include "dynet_like/program/program.h"

namespace dynet_like::detail {

/// The sums to which inputs contribute: gradients of ports, which come first, and gradients of the
/// ranges of members that are read.
struct Sums {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  Sums(const Program& program, const TypeTable& types);

  std::vector<std::uint32_t> of_input;             ///< its sum; none: no gradient is wanted
  std::vector<std::vector<std::uint32_t>> inputs;  ///< by sum: its inputs in the order of addition
  /// By member: whether different ranges that are read overlap.
  std::vector<bool> overlap;
};

/// Decides which members share a step, the order of steps, and which are hoisted: backward, these
/// run after all levels.
void order_steps(Program& program, const Sums& sums);

/// Finds the products of other steps that may run once for all levels. Their gradients come at
/// another time than others of the step, so nothing else adds to the same sums.
void find_early_products(Program& program, const Sums& sums, const TypeTable& types);

/// Decides how contributions to gradients are summed: in the reverse of the order in which the
/// inputs were recorded, after the gradients that results get. Contributions to arguments are added
/// in that order, too. Contributions that are not computed in that order wait in slots. `columns`:
/// elements of a column of each input.
void plan_sums(Program& program, const Sums& sums, const TypeTable& types,
               std::span<const std::uint32_t> columns);

}  // namespace dynet_like::detail
