// What explain() tells: how the nodes of a run were batched.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/exec/run_state.h"

namespace dynet_like {

/// Counts since the graph or minibatch was last cleared.
struct Report {
  struct Type {
    std::string op;      ///< its name
    std::string shapes;  ///< "{64,128} {128} -> {64}"; shared inputs are marked by a star
    std::uint64_t nodes = 0, batches = 0, forward_calls = 0, backward_calls = 0;
    /// The most nodes of this type on one path, which must run one after the other: no schedule has
    /// fewer batches. The bounds of parts of a minibatch, and of the shares of threads, are added.
    std::uint64_t bound = 0;
    /// Bytes of the values of all its nodes that ran, and of what backward needs beside them.
    /// Memory that was freed since counts, too.
    std::uint64_t value_bytes = 0;
    /// The device has no kernels for it: the CPU runs them, with copies of all they read and write.
    bool runs_on_cpu = false;
  };
  /// Two types of one op whose nodes could not share batches, and what differs.
  struct NearMiss {
    std::string op, difference;
    std::uint64_t nodes_a = 0, nodes_b = 0;
  };

  std::vector<Type> types;  ///< most nodes first
  std::vector<NearMiss> near_misses;
  std::uint64_t nodes = 0, batches = 0, kernel_calls = 0, bound = 0;
  /// How many of the nodes ran again, because inference had freed their values before a later call
  /// read them.
  std::uint64_t recomputed = 0;
  std::uint64_t copied_bytes = 0;  ///< by copies that only made values contiguous
  std::uint64_t value_bytes = 0, gradient_bytes = 0;  ///< held now
  /// The most that values, gradients and lists of batches have taken at once since the graph or
  /// minibatch was made; `clear` does not reset it. Parameters, their gradients and the recorded
  /// nodes do not count.
  std::uint64_t peak_bytes = 0;
  /// Floating-point operations of the matrix products in forward. Those of backward are not in it:
  /// they are twice as many.
  double product_flops = 0;
  /// Seconds, if GraphOptions::measure_time was set.
  double plan_seconds = 0, kernel_seconds = 0;
};

/// A report of all lanes of a run. The seconds in kernels and the peak are not filled in.
Report make_report(std::span<const RunState* const> runs);
/// Keeps the bounds of nodes whose values are about to be released.
void count_released_bounds(RunState& run);

/// A table for people.
std::ostream& operator<<(std::ostream& out, const Report& report);

}  // namespace dynet_like
