// Makes a report of what an executor has run.
#pragma once

#include <iosfwd>
#include <string>

#include "dynet_like/exec/executor.h"
#include "dynet_like/report/batch_picture.h"
#include "dynet_like/report/report.h"

namespace dynet_like::detail {

Report make_report(const Executor& executor);
/// Prints the times of types, the longest first; nothing if no time was measured.
void print_times(std::ostream& out, const Report& report);
/// An SVG of all lanes of a run. Throws UsageError if nothing has run.
std::string draw_batches(const Executor& executor, const BatchPicture& what);

}  // namespace dynet_like::detail
