// GraphOptions: how graphs run. Every option has a default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "batching/policy.h"
#include "dynet_like/core/dtype.h"
#include "dynet_like/device/device.h"

namespace dynet_like {

class Timeline;

/// Options of a graph, or of all graphs of a minibatch. Results do not depend on policy, threads,
/// memory_limit or the checks. One exception: on a GPU memory_limit may change the last bits of the
/// gradients of parameters, since long sums are computed in chunks there.
struct GraphOptions {
  /// How nodes are grouped into batches.
  batching::Policy policy = batching::Policy::automatic;
  /// Threads that record and run the samples of a minibatch in parallel. In a single graph, or with
  /// few samples, they share the work of large batches. At most 4,096; 0: one for each processor
  /// that the process may use. If they cannot start, the graph or minibatch throws DeviceError.
  unsigned threads = 1;
  /// Compute every batch again node by node, and throw NumericError if a bit differs. A tensor that
  /// you kept reads as NaN after its value has been freed. Slow.
  bool verify_batching = false;
  /// Throw NumericError at the first node whose value or gradient is not finite.
  bool detect_anomaly = false;
  /// No backward pass: `backward` throws UsageError, and `dropout`, `noise` and similar operations
  /// return their input without a node. Minibatch::forward frees values that no later batch of that
  /// call reads, but keeps losses and outputs. A freed value that is asked for is computed again
  /// (see Report::recomputed); after that the minibatch frees no more values, unless there is a
  /// memory_limit.
  bool inference = false;
  /// In training, too, vertices of recursions that compute the same run once for all samples of a
  /// minibatch, as they do in inference: for example, common beginnings of words whose columns are
  /// rows of a table. Only on a CPU. Gradients of parameters are then summed in another order,
  /// which depends on `threads`, `policy` and `memory_limit`; those of states and columns are not
  /// those of a sample alone. With several shards (nn::RankOptions::shards), each shard runs as
  /// a minibatch of its own, and results depend neither on `threads` nor on the number of ranks.
  bool share_repeated = false;
  /// The seed of dropout and other random numbers. Every graph derives its own seed from this one:
  /// in a minibatch, from this seed (0 if there is none), the number of calls of `clear`, and the
  /// graph's place in the minibatch; outside of one, from this seed and the number of calls of
  /// `clear`. Outside of a minibatch, a graph without a seed throws when it draws: all such graphs
  /// would draw the same numbers.
  std::optional<std::uint64_t> seed = {};
  /// The element type of inputs and constants. Parameters in use must have the same type.
  DType dtype = DType::f32;
  /// The device that runs graphs and holds their values; parameters in use must be there too. The
  /// tensors that a graph returns are always in this process's memory: copies, unless the device is
  /// the CPU.
  std::shared_ptr<Device> device = default_device();
  /// A minibatch that may need more bytes than this for values, gradients and argument lists runs
  /// in parts (0: no limit). A sample that needs more by itself forms a part. The limit does not
  /// include outputs in inference, nor values requested by `compute` and `value`.
  std::size_t memory_limit = 0;
  /// Measure the time of planning and of kernels: explain() shows it by type of node. For a GPU,
  /// this is the time that this process spends on launching kernels and waiting.
  bool measure_time = false;
  /// Receives a timed event for each step, for a picture of a few minibatches; sets measure_time.
  /// For a GPU, it shows the calls of this process. Null: no events.
  Timeline* timeline = nullptr;
  /// Record the call stack of every node, so that explain() shows the file and line of nodes that
  /// did not batch. Needs debug information (-g). Recording takes many times as long.
  bool record_places = false;
  /// The stack size of every sample in for_each_sample. Untouched pages take no memory.
  std::size_t stack_bytes = std::size_t{1} << 20;

  // Out of line, since GCC 12 warns where such options are part of others.
  ~GraphOptions();
};

}  // namespace dynet_like
