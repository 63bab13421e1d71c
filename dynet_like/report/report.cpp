// Counts batches, compares them with their bound, and adds up memory.
#include "dynet_like/report/report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <set>
#include <sstream>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/text.h"
#include "dynet_like/exec/bounds.h"
#include "dynet_like/report/make_report.h"
#include "dynet_like/program/product_flops.h"
#include "dynet_like/program/recursion_op.h"
#include "dynet_like/report/merges.h"

namespace dynet_like {

using namespace detail;

namespace {

constexpr std::size_t kMostConsumers = 3, kMostPrograms = 4, kMostRows = 20;

// Sums of the counts of several lanes.
std::vector<TypeCount> counts_of(std::span<const RunState* const> runs) {
  std::vector<TypeCount> counts;
  for (const RunState* run : runs) {
    const std::vector<TypeCount>& own = run->counts.of_types;
    counts.resize(std::max(counts.size(), own.size()));
    for (std::size_t type = 0; type < own.size(); ++type) counts[type] += own[type];
  }
  return counts;
}

// The steps of a recursion, for each kind of vertex.
std::string programs_of(const NodeType& type) {
  if (type.op->role != Role::recursion) return "";
  const RecursionOp& op = recursion_of(type.signature);
  std::string text;
  for (std::size_t p = 0; p < std::min(op.programs.size(), kMostPrograms); ++p) {
    const Program& program = *op.programs[p];
    text += "kind " + std::to_string(program.kind.number) + ", " +
            counted(program.kind.predecessors, "predecessor") + ":\n" +
            to_string(program, *op.types);
  }
  const std::size_t others = op.programs.size() - std::min(op.programs.size(), kMostPrograms);
  if (others > 0) text += "and " + counted(others, "other kind") + '\n';
  return text;
}

// Bytes of one item: its value, and the data that backward needs besides it.
std::uint64_t value_bytes(const Signature& type) {
  return (std::uint64_t{type.output_size} + type.saved_size) * size_of(type.dtype);
}

// The types whose values take most memory, with their shares of the total.
void print_largest_consumers(std::ostream& out, const std::vector<Report::Type>& types) {
  std::vector<const Report::Type*> largest;
  double total = 0;
  for (const Report::Type& type : types) {
    largest.push_back(&type);
    total += static_cast<double>(type.value_bytes);
  }
  if (total == 0) return;
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto* a, const auto* b) { return a->value_bytes > b->value_bytes; });
  largest.resize(std::min(largest.size(), kMostConsumers));
  out << "most values: ";
  for (const Report::Type* type : largest) {
    out << (type == largest.front() ? "" : ", ") << type->op << " -> "
        << type->shapes.substr(type->shapes.rfind("-> ") + 3) << ' '
        << std::llround(100 * static_cast<double>(type->value_bytes) / total) << " %";
  }
  out << '\n';
}

// Names of functions, labels, parameters and files come from outside: makes them printable.
void make_visible(Report& report) {
  const auto show = [](auto&... texts) { ((texts = visible_text(texts)), ...); };
  for (Report::Type& type : report.types) show(type.op, type.shapes);
  for (Report::MissedMerge& merge : report.missed_merges) {
    show(merge.op, merge.label, merge.difference, merge.advice);
    for (std::string& place : merge.places) show(place);
  }
}

// A row for each type, up to kMostRows, and one for all others.
void print_types(std::ostream& out, const Report& report) {
  out << std::left << std::setw(20) << "op" << std::right << std::setw(10) << "nodes"
      << std::setw(10) << "batches" << std::setw(10) << "bound" << std::setw(10) << "forward"
      << std::setw(10) << "backward" << std::setw(13) << "bytes"
      << "  shapes (* shared)\n";
  const auto print = [&](const Report::Type& type) {
    out << std::left << std::setw(20) << type.op << std::right << std::setw(10) << type.nodes
        << std::setw(10) << type.batches << std::setw(10) << type.bound << std::setw(10)
        << type.forward_calls << std::setw(10) << type.backward_calls << std::setw(13)
        << type.value_bytes << "  " << type.shapes << '\n';
  };
  const std::span<const Report::Type> types = report.types;
  const std::span shown = types.first(std::min(types.size(), kMostRows));
  for (const Report::Type& type : shown) print(type);
  if (shown.size() == types.size()) return;
  Report::Type others;
  for (const Report::Type& type : types.subspan(shown.size())) {
    others.nodes += type.nodes;
    others.batches += type.batches;
    others.bound += type.bound;
    others.forward_calls += type.forward_calls;
    others.backward_calls += type.backward_calls;
    others.value_bytes += type.value_bytes;
  }
  others.op = "others";
  others.shapes = counted(types.size() - shown.size(), "type") + ": json() and html() have all";
  print(others);
}

// The programs of recursions and cells. Types that differ in their inputs alone share one.
void print_programs(std::ostream& out, const Report& report) {
  std::set<std::string> printed;
  for (const Report::Type& type : report.types) {
    if (type.program.empty() || !printed.insert(type.op + type.program).second) continue;
    out << "program of " << type.op << ", " << type.program;
  }
}

}  // namespace

Report detail::make_report(const Executor& executor) {
  const Executor::Totals totals = executor.totals();
  const std::span<const RunState* const> runs = totals.runs;
  Report report;
  report.gradient_bytes = totals.gradient_bytes;
  report.peak_bytes = totals.peak_bytes;
  report.kernel_seconds = totals.longest_seconds;
  report.other_seconds = totals.all_seconds;
  const CommonState& common = runs[0]->common;
  for (const RunState* run : runs) {
    report.copied_bytes += run->counts.copied_bytes;
    report.value_bytes += run->values.arena().used();
    report.plan_seconds = std::max(report.plan_seconds, run->counts.plan_seconds);
  }
  report.value_bytes += common.shared_values.used();
  report.recomputed = common.recomputed;
  if (common.tapes.empty()) return report;
  const TypeTable& types = runs[0]->types();
  std::vector<std::uint64_t> bounds(types.type_count());
  for (const auto& [type, bound] : common.released_bounds) bounds[type] = bound;
  for (const RunState* run : runs) {
    report.product_flops += run->counts.recursion_flops;
    const std::vector<std::uint32_t> chain = longest_chains(*run);
    for (std::size_t type = 0; type < chain.size(); ++type) bounds[type] += chain[type];
  }
  const std::vector<TypeCount> counts = counts_of(runs);
  for (TypeId id = 0; id < counts.size(); ++id) {
    const TypeCount& count = counts[id];
    if (count.nodes == 0) continue;
    const NodeType& type = types[id];
    report.types.push_back({.op = std::string(type.op->name),
                            .shapes = shapes_text(type.signature),
                            .nodes = count.nodes,
                            .batches = count.batches,
                            .forward_calls = count.forward_calls,
                            .backward_calls = count.backward_calls,
                            .bound = bounds[id],
                            .value_bytes = count.items * value_bytes(type.signature),
                            .runs_on_cpu = runs[0]->queue->runs_on_cpu(*type.op),
                            .seconds = count.seconds,
                            .program = programs_of(type)});
    report.product_flops += static_cast<double>(count.items) * product_flops(type);
    report.nodes += count.nodes;
    report.batches += count.batches;
    report.kernel_calls += count.forward_calls + count.backward_calls;
    report.bound += bounds[id];
    report.other_seconds -= count.seconds;
  }
  report.other_seconds = std::max(report.other_seconds, 0.0);
  std::stable_sort(report.types.begin(), report.types.end(),
                   [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  report_merges(runs, counts, bounds, report);
  make_visible(report);
  return report;
}

std::ostream& operator<<(std::ostream& out, const Report& report) {
  print_merges(out, report);  // what to do comes first
  print_types(out, report);
  out << counted(report.nodes, "node") << " in " << counted(report.batches, "batch", "batches")
      << " (at least " << report.bound << "), " << counted(report.kernel_calls, "kernel call")
      << ", " << counted(report.copied_bytes, "byte") << " copied, "
      << counted(report.value_bytes, "byte") << " of values, " << report.gradient_bytes
      << " of gradients, " << report.peak_bytes << " at the peak\n";
  if (report.recomputed > 0) {
    out << report.recomputed
        << " of the nodes ran again: inference had freed their values before a "
        << "later call read them (compute() keeps what it computes)\n";
  }
  print_largest_consumers(out, report.types);
  print_waves(out, report);
  print_times(out, report);
  for (const Report::Type& type : report.types) {
    if (!type.runs_on_cpu) continue;
    out << "on the CPU, with copies from the device and back: " << type.op << ' ' << type.shapes
        << '\n';
  }
  print_programs(out, report);
  return out;
}

}  // namespace dynet_like
