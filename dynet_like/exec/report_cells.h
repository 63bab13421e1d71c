// What explain() tells of cells.
#pragma once

#include "dynet_like/exec/make_report.h"

namespace dynet_like::detail {

/// Fills in what ran in cells and what did not. There are tapes.
void report_cells(std::span<const RunState* const> runs, std::span<const RefusedCell> refused,
                  Report& report);
/// A line for each type of cell, and one for each reason; nothing if there is nothing to tell.
void print_cells(std::ostream& out, const Report& report);

}  // namespace dynet_like::detail
