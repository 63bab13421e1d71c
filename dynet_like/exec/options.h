// What a user may choose about how graphs run; nothing needs to be chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "batching/policy.h"
#include "dynet_like/core/dtype.h"
#include "dynet_like/device/device.h"

namespace dynet_like {

class Timeline;

/// Options of a graph or of a minibatch of graphs. Results never depend on policy, threads,
/// memory_limit or the checks; but on a GPU memory_limit may change the last bits of parameters'
/// gradients, since sums of many addends are made of chunks there.
struct GraphOptions {
  /// How nodes are grouped into batches.
  batching::Policy policy = batching::Policy::automatic;
  /// Threads that record samples of a minibatch and run them beside each other; in a graph alone,
  /// and where there are few samples, they share the work of large batches. 0: as many as the
  /// process may use processors. If the system starts
  /// fewer, making the graph or minibatch throws DeviceError.
  unsigned threads = 1;
  /// Recompute every batch node by node; throw NumericError where a bit of a number differs. Values
  /// are NaN once they are forgotten, for who reads a tensor of theirs. Slow.
  bool verify_batching = false;
  /// Throw NumericError at the first node whose value or gradient is not finite.
  bool detect_anomaly = false;
  /// There will be no backward pass: `backward` throws UsageError, and `dropout`, `noise` and the
  /// like leave what they are given as it is, without a node. Minibatch::forward frees values
  /// that no later batch of that call reads, but keeps losses and outputs. A freed value that is
  /// asked for is computed again, see Report::recomputed; once that has happened, the minibatch
  /// frees none any more, unless there is a memory_limit.
  bool inference = false;
  /// What dropout and other random numbers follow from. Every graph has a seed of its own: in a
  /// minibatch it is a function of this one (0 if there is none), of how often the minibatch was
  /// cleared, and of the graph's place in it; of a graph alone, of this one and of how often it was
  /// cleared. A graph alone that has none refuses to draw: other graphs would draw the same.
  std::optional<std::uint64_t> seed = {};
  /// The element type of inputs and constants. It must be that of the parameters in use.
  DType dtype = DType::f32;
  /// Where graphs run and their values lie; parameters in use must be there too. What a graph hands
  /// out is memory of this process all the same: copies, if the device is another one.
  std::shared_ptr<Device> device = default_device();
  /// A minibatch that may need more bytes than this for values, gradients and lists runs in parts
  /// (0: no limit). A sample that needs more by itself is a part of its own. Outputs in inference,
  /// and what `compute` and `value` are asked for, come on top of the limit.
  std::size_t memory_limit = 0;
  /// Measure the time spent in planning and in kernels: explain() tells it by type of node.
  /// Of a GPU, that is the time that this process takes to ask for kernels, and waits.
  bool measure_time = false;
  /// Gets an event for each thing that is done, and when: for a picture of a few minibatches. Then
  /// time is measured, too. Of a GPU, it has this process's calls. Null: nothing is kept.
  Timeline* timeline = nullptr;
  /// Keep the calls that led to every recorded node, so that explain() tells by file and line where
  /// what did not batch was recorded: needs debug information (-g). Recording takes many times as
  /// long.
  bool record_places = false;
  /// The stack of every sample in for_each_sample. What is not touched takes no memory.
  std::size_t stack_bytes = std::size_t{1} << 20;
};

}  // namespace dynet_like
