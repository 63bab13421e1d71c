// What explain() tells: how the nodes of a run were batched.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

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
    /// In its kernels, forward and backward, of all threads; if GraphOptions::measure_time was set.
    double seconds = 0;
  };
  /// Types of one op whose nodes could not share batches, but could if they were written in another
  /// way. Different parameters, tables and ops are none of these, nor are types that every sample
  /// of a minibatch has.
  struct NearMiss {
    std::string op, difference;
    std::uint64_t types = 0, nodes = 0, batches = 0;
    std::uint64_t lost = 0;  ///< batches that one type would save, at most
  };

  /// Sequences of nodes that repeat are cells, and were planned and run as one node each.
  struct Cell {
    std::string ops;  ///< of its nodes, in the order of recording: "2 (lookup tanh) cmult"
    /// Of nodes that share a kernel call: "2 lookup, 2 tanh".
    std::string shared_calls;
    std::uint64_t size = 0;  ///< nodes in a cell; the planner was spared all but one of them
    std::uint64_t cells = 0, batches = 0, forward_calls = 0;
    /// How many cells ran backward as one node, and how many node by node, pass by pass. Those on
    /// which no loss depends do neither.
    std::uint64_t whole = 0, by_node = 0;
    /// In kernels of its nodes, forward, and backward as a whole; see Type::seconds, where they
    /// count, too.
    double seconds = 0;
  };
  /// Nodes that look like a cell but did not run as one, or cells that ran backward node by node.
  struct NotFolded {
    std::string ops, reason;
    std::uint64_t times = 0;  ///< what was refused while learning, among the nodes it looked at
  };

  /// In for_each_sample: samples waited for values, which were computed together.
  struct Wave {
    std::uint64_t samples = 0, nodes = 0, batches = 0;
  };
  static constexpr std::size_t kKeptWaves = 10'000;

  std::vector<Type> types;            ///< most nodes first
  std::vector<NearMiss> near_misses;  ///< most lost batches first, at most 20
  std::vector<std::string> advice;    ///< what to write instead, a sentence for each cause
  std::uint64_t nodes = 0, batches = 0, kernel_calls = 0, bound = 0;
  /// How many of the nodes ran again, because inference had freed their values before a later call
  /// read them.
  std::uint64_t recomputed = 0;
  /// How many of the nodes ran as parts of cells: see Cell.
  std::uint64_t nodes_in_cells = 0;
  std::vector<Cell> cells;  ///< most nodes first
  std::vector<NotFolded> not_folded;
  std::string no_cells;  ///< which option forbids cells, or that they run backward as one; or empty
  std::vector<Wave> waves;  ///< in their order, the first kKeptWaves of them
  std::uint64_t wave_count = 0;
  std::uint64_t copied_bytes = 0;  ///< by copies that only made values contiguous
  std::uint64_t value_bytes = 0, gradient_bytes = 0;  ///< held now
  /// The most that values, gradients and lists of batches have taken at once since the graph or
  /// minibatch was made; `clear` does not reset it. Parameters, their gradients and the recorded
  /// nodes do not count.
  std::uint64_t peak_bytes = 0;
  /// Floating-point operations of the matrix products in forward. Those of backward are not in it:
  /// they are twice as many.
  double product_flops = 0;
  /// Seconds, if GraphOptions::measure_time was set; of threads beside each other, those of the
  /// one that took longest.
  double plan_seconds = 0, kernel_seconds = 0;
  /// In kernels that are of no type, of all threads: sums of gradients, packing of weights, copies.
  double other_seconds = 0;
};

/// How the waves went, in at most a dozen lines; nothing if there were none.
void print_waves(std::ostream& out, const Report& report);
/// A table for people.
std::ostream& operator<<(std::ostream& out, const Report& report);

}  // namespace dynet_like
