// The result of explain(): how the nodes of a run were batched.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace dynet_like {

/// Counts since the graph or minibatch was last cleared.
struct Report {
  struct Type {
    std::string op;      ///< the name of the operation
    std::string shapes;  ///< "{64,128} {128} -> {64}"; a star marks a shared input
    std::uint64_t nodes = 0, batches = 0, forward_calls = 0, backward_calls = 0;
    /// The length of the longest chain of such nodes, in which each needs the one before: no
    /// schedule has fewer batches. Added up over the parts of a minibatch, and over threads.
    std::uint64_t bound = 0;
    /// Bytes of the values of all its nodes that ran, and of the data that backward needs besides
    /// them. This includes memory that was freed since.
    std::uint64_t value_bytes = 0;
    /// The device has no kernels for it: the CPU runs it, and copies all inputs and outputs.
    bool runs_on_cpu = false;
    /// Seconds in its kernels, forward and backward, of all threads, if GraphOptions::measure_time
    /// was set.
    double seconds = 0;
    /// For recursions and cells: the steps of each kind of vertex, for the first few kinds.
    std::string program = {};
  };
  /// Nodes of one operation that would have shared batches if they did not differ in one respect. A
  /// type that occurs in every sample is not listed: its sizes belong to the model.
  struct MissedMerge {
    std::string op;
    std::string label;  ///< labels of the nodes, at most three; empty if they have none
    /// In what they differ: "length" (of a sequence), "columns", "shape", "arguments", "inputs"
    /// (how many), "constant", "parameter", "depth" (in the graphs), or "call" (that computed
    /// them).
    std::string field;
    std::string difference;  ///< the different values: "input 0 is {5}, {6} or {7}"
    /// The places where most of the nodes were recorded, at most three, with the function of the
    /// library that is called there, such as "model.cpp:12 (softmax)". For code without debug
    /// information, the name of the function and a hint. Empty without GraphOptions::record_places.
    std::vector<std::string> places;
    std::string advice;  ///< what to write instead
    std::uint64_t types = 0, nodes = 0, batches = 0;
    std::uint64_t saved_batches = 0, saved_calls = 0;  ///< at most, if the nodes did not differ
    /// Seconds in kernels of these nodes, and how many of them could be saved at most, by the
    /// average time of these batches. 0 without GraphOptions::measure_time.
    double seconds = 0, saved_seconds = 0;
  };

  /// Values for which samples in for_each_sample waited, and which were computed together.
  struct Wave {
    std::uint64_t samples = 0, nodes = 0, batches = 0;
  };
  static constexpr std::size_t kKeptWaves = 10'000;

  std::vector<Type> types;  ///< most nodes first
  /// Nodes that did not batch: the most expensive first, by time or else by kernel calls; at most
  /// 20.
  std::vector<MissedMerge> missed_merges;
  std::uint64_t nodes = 0, batches = 0, kernel_calls = 0, bound = 0;
  /// How many nodes ran again, because inference had freed their values before a later call read
  /// them.
  std::uint64_t recomputed = 0;
  std::vector<Wave> waves;  ///< in order, the first kKeptWaves of them
  std::uint64_t wave_count = 0;
  std::uint64_t copied_bytes = 0;  ///< by copies that only make values contiguous
  std::uint64_t value_bytes = 0, gradient_bytes = 0;  ///< held now
  /// The largest sum of the memory of values, gradients and lists of batches since the graph or
  /// minibatch was made; `clear` does not reset it. It excludes parameters, their gradients and the
  /// recorded nodes.
  std::uint64_t peak_bytes = 0;
  /// Floating-point operations of the matrix products in forward. Backward takes twice as many,
  /// which are not included.
  double product_flops = 0;
  /// Seconds, if GraphOptions::measure_time was set. With several threads, the time of the slowest.
  double plan_seconds = 0, kernel_seconds = 0;
  /// Seconds in kernels without a type, of all threads: sums of gradients, packing of weights,
  /// copies.
  double other_seconds = 0;

  /// The whole report as a JSON object, with the names of the members.
  std::string json() const;
  /// A web page in one file: where the time goes, and which nodes did not batch.
  std::string html() const;
};

/// Prints how the waves went, in at most a dozen lines; nothing if there were none.
void print_waves(std::ostream& out, const Report& report);
/// Prints the report as a table.
std::ostream& operator<<(std::ostream& out, const Report& report);

}  // namespace dynet_like
