// What a user may choose about how graphs run; nothing needs to be chosen.
#pragma once

#include <cstddef>

#include "batching/policy.h"
#include "dynet_like/core/dtype.h"
#include "dynet_like/core/random.h"

namespace dynet_like {

/// Options of a graph or of a minibatch of graphs. Results never depend on policy, threads,
/// memory_limit or the checks.
struct GraphOptions {
  /// How nodes are grouped into batches.
  batching::Policy policy = batching::Policy::automatic;
  /// Threads that record samples of a minibatch and run them beside each other; in a graph alone,
  /// and where there are few samples, they share the work of large batches. If the system starts
  /// fewer, making the graph or minibatch throws DeviceError.
  unsigned threads = 1;
  /// Recompute every batch node by node; throw NumericError where a bit of a number differs. Slow.
  bool verify_batching = false;
  /// Throw NumericError at the first node whose value or gradient is not finite.
  bool detect_anomaly = false;
  /// There will be no backward pass: Minibatch::forward frees values that no later batch of it
  /// reads. Values that are asked for after that are computed again, see Report::recomputed; from
  /// then on the minibatch frees none.
  bool inference = false;
  /// Where dropout gets its numbers from: one step per graph or minibatch. Must outlive them.
  Random* random = nullptr;
  /// The element type of inputs and constants, that of the parameters in use.
  DType dtype = DType::f32;
  /// A minibatch that may need more bytes than this for values, gradients and lists runs in parts
  /// (0: no limit). A sample that needs more by itself is a part of its own. Outputs in inference,
  /// and what `compute` and `value` are asked for, come on top.
  std::size_t memory_limit = 0;
  /// Measure the time spent in planning and in kernels: `plan_seconds` and `kernel_seconds` of what
  /// explain() returns.
  bool measure_time = false;
};

}  // namespace dynet_like
