// What explain() tells of what did not batch.
#pragma once

#include "dynet_like/report/make_report.h"

namespace dynet_like::detail {

/// Fills in the missed merges. There are tapes. `bounds`: the fewest batches by type.
void report_merges(std::span<const RunState* const> runs, std::span<const TypeCount> counts,
                   std::span<const std::uint64_t> bounds, Report& report);
/// Some lines for each of them; nothing if there are none.
void print_merges(std::ostream& out, const Report& report);

}  // namespace dynet_like::detail
