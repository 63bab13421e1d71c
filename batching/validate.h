// Checks a schedule against its graph, for tests and debugging.
#pragma once

#include <string>

#include "batching/dag.h"
#include "batching/schedule.h"

namespace dynet_like::batching {

/// Empty if the schedule is valid: every node in exactly one batch, its inputs in earlier batches,
/// one type a batch, no empty batch. Otherwise a sentence with the ids of the first fault.
std::string first_fault(const Dag& dag, const Schedule& schedule);

}  // namespace dynet_like::batching
