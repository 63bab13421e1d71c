// The policies as functions. Internal; users call Planner.
#pragma once

#include "batching/dag.h"
#include "batching/schedule.h"
#include "batching/scratch.h"

namespace dynet_like::batching {

// Each policy fills `schedule`, which comes with room for all nodes and without batches. The graph
// is not empty; but for none, scratch.survey describes it.

void plan_none(const Dag& dag, Schedule& schedule);
void plan_depth(const Dag& dag, Scratch& scratch, Schedule& schedule);
void plan_agenda(const Dag& dag, Scratch& scratch, Schedule& schedule);
void plan_descent(const Dag& dag, Scratch& scratch, Schedule& schedule);
void plan_auto(const Dag& dag, Scratch& scratch, Schedule& schedule);

/// Moves the nodes of types that nothing but losses and the like reads to the end of a valid
/// schedule: one batch for each of these types, never more batches than before. From
/// scratch.cycles.
void gather_sinks(const Dag& dag, Scratch& scratch, Schedule& schedule);

/// The part of plan_descent after scratch.cycles is known.
void descend(const Dag& dag, Scratch& scratch, Schedule& schedule);

}  // namespace dynet_like::batching
