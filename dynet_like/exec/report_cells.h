// What explain() tells of cells.
#pragma once

#include <string>

#include "dynet_like/exec/make_report.h"

namespace dynet_like::detail {

/// The names of the nodes of a cell, "2 (lookup tanh) cmult".
std::string ops_of(const CellType& cell, const TypeTable& types);
/// Fills in what ran in cells and what did not. There are tapes.
void report_cells(std::span<const RunState* const> runs, std::span<const RefusedCell> refused,
                  Report& report);
/// A line for each type of cell, and one for each reason; nothing if there is nothing to tell.
void print_cells(std::ostream& out, const Report& report);

}  // namespace dynet_like::detail
