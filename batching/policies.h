// The policies as functions. Internal; users call Planner.
#pragma once

#include "batching/dag.h"
#include "batching/schedule.h"
#include "batching/scratch.h"

namespace dynet_like::batching {

// Each policy fills `schedule`, which has room for all nodes and contains no batches. The graph is
// not empty. Except for plan_none, scratch.survey describes it.

void plan_none(const Dag& dag, Schedule& schedule);
void plan_depth(const Dag& dag, Scratch& scratch, Schedule& schedule);
void plan_agenda(const Dag& dag, Scratch& scratch, Schedule& schedule);
void plan_descent(const Dag& dag, Scratch& scratch, Schedule& schedule);
void plan_auto(const Dag& dag, Scratch& scratch, Schedule& schedule);

/// Moves the nodes of types that only losses and the like read to the end of a valid schedule: one
/// batch for each of these types, and never more batches than before. Reads scratch.cycles.
void gather_sinks(const Dag& dag, Scratch& scratch, Schedule& schedule);

/// The part of plan_descent that follows once scratch.cycles is known.
void descend(const Dag& dag, Scratch& scratch, Schedule& schedule);

}  // namespace dynet_like::batching
