// The part of explain() about nodes that did not share batches.
#pragma once

#include "dynet_like/report/make_report.h"

namespace dynet_like::detail {

/// Fills in `report.missed_merges`. At least one tape must exist. `bounds`: the fewest batches by
/// type.
void report_merges(std::span<const RunState* const> runs, std::span<const TypeCount> counts,
                   std::span<const std::uint64_t> bounds, Report& report);
/// Prints some lines for each missed merge; nothing if there are none.
void print_merges(std::ostream& out, const Report& report);

}  // namespace dynet_like::detail
