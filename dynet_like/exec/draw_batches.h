// Draws the batches of a run.
#pragma once

#include <span>
#include <string>

#include "dynet_like/exec/batch_picture.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// An SVG of all lanes of a run. Throws UsageError if nothing has run.
std::string draw_batches(std::span<const RunState* const> runs, const BatchPicture& what);

}  // namespace dynet_like::detail
