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
    /// Of recursions and cells: the steps that vertices run, kind by kind, the first of them.
    std::string program = {};
  };
  /// Nodes of one operation that ran in more batches than they would if one thing were the same.
  /// Types that every sample of a minibatch has are none of these: they are sizes of a model.
  struct MissedMerge {
    std::string op;
    std::string label;  ///< of its nodes, at most three; empty if they have none
    /// What differs: "length" (of a sequence), "columns", "shape", "arguments", "inputs" (their
    /// number), "constant", "parameter", "depth" (in the graphs), or "call" (in which they ran).
    std::string field;
    std::string difference;  ///< its values: "input 0 is {5}, {6} or {7}"
    /// Where most of the nodes were recorded, "model.cpp:12", at most three; the name of a
    /// function, and what to do, if it has no debug information. Empty without
    /// GraphOptions::record_places.
    std::vector<std::string> places;
    std::string advice;  ///< what to write instead
    std::uint64_t types = 0, nodes = 0, batches = 0;
    std::uint64_t saved_batches = 0, saved_calls = 0;  ///< at most, if it were the same
    /// In kernels of these nodes, and what of it would be saved at most: as much as these batches
    /// took on average. 0 without GraphOptions::measure_time.
    double seconds = 0, saved_seconds = 0;
  };

  /// In for_each_sample: samples waited for values, which were computed together.
  struct Wave {
    std::uint64_t samples = 0, nodes = 0, batches = 0;
  };
  static constexpr std::size_t kKeptWaves = 10'000;

  std::vector<Type> types;  ///< most nodes first
  /// What did not batch: most expensive first, by time or else by kernel calls; at most 20.
  std::vector<MissedMerge> missed_merges;
  std::uint64_t nodes = 0, batches = 0, kernel_calls = 0, bound = 0;
  /// How many of the nodes ran again, because inference had freed their values before a later call
  /// read them.
  std::uint64_t recomputed = 0;
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

  /// All of it as a JSON object, whose names are those of the members.
  std::string json() const;
  /// A page for a browser, which needs no other file: where the time goes, and what did not batch.
  std::string html() const;
};

/// How the waves went, in at most a dozen lines; nothing if there were none.
void print_waves(std::ostream& out, const Report& report);
/// A table for people.
std::ostream& operator<<(std::ostream& out, const Report& report);

}  // namespace dynet_like
