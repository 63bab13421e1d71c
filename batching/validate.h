// Checks a schedule against its graph, for tests and debugging.
#pragma once

#include <string>

#include "batching/dag.h"
#include "batching/schedule.h"

namespace dynet_like::batching {

/// Empty if the schedule is valid: every node is in exactly one batch, its inputs are in earlier
/// batches, each batch has one type, and no batch is empty. Otherwise a sentence with the ids of
/// the first fault.
std::string first_fault(const Dag& dag, const Schedule& schedule);

}  // namespace dynet_like::batching
