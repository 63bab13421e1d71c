// Plans the batches of a graph: the entry point of this folder.
#pragma once

#include <memory>

#include "batching/dag.h"
#include "batching/policy.h"
#include "batching/schedule.h"

namespace dynet_like::batching {

struct Scratch;

/// Turns graphs into schedules. Owns and reuses the memory. Cheap to create; not thread-safe.
class Planner {
 public:
  Planner();
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  /// A schedule for `dag`, a pure function of the graph and the policy. The returned reference is
  /// valid until the next plan.
  const Schedule& plan(const Dag& dag, Policy policy);

 private:
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace dynet_like::batching
