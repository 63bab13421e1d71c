// Names and counts of cells, and the reasons why there are not more.
#include "dynet_like/exec/report_cells.h"

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/text.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kMostNames = 16, kLongestRepeat = 8, kMostReasons = 8, kMostLines = 12;

using Names = std::vector<std::string_view>;

Names names_of(std::span<const TypeId> members, const TypeTable& types) {
  Names names;
  for (TypeId member : members) names.push_back(types[member].op->name);
  return names;
}

// How often the `length` names from `begin` on stand there, one time behind the other.
std::size_t repeats(const Names& names, std::size_t begin, std::size_t length) {
  std::size_t end = begin + length;
  while (end < names.size() && names[end] == names[end - length]) ++end;
  return (end - begin) / length;
}

// "2 (affine_transform logistic) 3 cmult tanh": what follows itself is counted.
std::string shortened(const Names& names) {
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < names.size();) {
    if (shown >= kMostNames) return text + " ...";
    std::size_t length = 1;
    for (std::size_t l = 2; l <= std::min(kLongestRepeat, (names.size() - i) / 2); ++l) {
      const std::size_t covered = l * repeats(names, i, l);
      if (covered > l && covered > length * repeats(names, i, length)) length = l;
    }
    const std::size_t times = repeats(names, i, length);
    if (i > 0) text += ' ';
    if (times > 1) text += std::to_string(times) + ' ';
    if (length > 1) text += '(';
    for (std::size_t k = 0; k < length; ++k) {
      text += (k > 0 ? " " : "");
      text += names[i + k];
    }
    if (length > 1) text += ')';
    shown += length;
    i += length * times;
  }
  return text;
}

// Members that run in one call, call by call.
std::string shared_calls(const CellType& cell, const TypeTable& types) {
  std::string text;
  for (const CellStep& step : cell.steps) {
    if (step.members.size() < 2) continue;
    const std::vector<TypeId> members(step.members.size(), step.type);
    text += (text.empty() ? "" : ", ") + shortened(names_of(members, types));
  }
  return text;
}

// Cells that differ in their links only have one line.
void add_reason(Report& report, const std::string& ops, CellReason reason, std::uint64_t times) {
  for (Report::NotFolded& other : report.not_folded) {
    if (other.ops == ops && other.reason == words_of(reason)) {
      other.times += times;
      return;
    }
  }
  report.not_folded.push_back({ops, std::string(words_of(reason)), times});
}

std::string_view no_cells(const GraphOptions& options) {
  if (options.cells_after == 0) return "none, for cells_after is 0";
  if (options.policy == batching::Policy::none) return "none, for the policy is none";
  if (options.memory_limit > 0) return "none, for there is a memory_limit";
  if (options.inference) return "";
  if (options.detect_anomaly) return "backward node by node, for detect_anomaly is set";
  return "";
}

}  // namespace

std::string ops_of(const CellType& cell, const TypeTable& types) {
  return shortened(names_of(cell.pattern.members, types));
}

void report_cells(std::span<const RunState* const> runs, std::span<const RefusedCell> refused,
                  Report& report) {
  const CommonState& common = runs[0]->common;
  const TypeTable& types = runs[0]->types();
  report.no_cells = no_cells(common.options);
  std::vector<CellCount> counts(common.dictionary.size());
  for (const RunState* run : runs) {
    for (std::size_t c = 0; c < run->counts.of_cells.size(); ++c)
      counts[c] += run->counts.of_cells[c];
  }
  for (std::uint32_t c = 0; c < counts.size(); ++c) {
    const CellCount& count = counts[c];
    const CellType& type = common.dictionary[c];
    const std::string ops = ops_of(type, types);
    if (count.cells > 0) {
      report.nodes_in_cells += count.cells * type.pattern.size();
      report.cells.push_back({ops, shared_calls(type, types), type.pattern.size(), count.cells,
                              count.batches, count.batches * type.steps.size(), count.whole,
                              count.by_node, count.seconds});
    }
    for (std::size_t r = 0; r < kCellReasons; ++r) {
      if (count.reasons[r] == 0) continue;
      add_reason(report, ops, static_cast<CellReason>(r), count.reasons[r]);
    }
  }
  for (const RefusedCell& cell : refused) {
    add_reason(report, shortened(names_of(cell.members, types)), cell.reason, cell.times);
  }
  std::stable_sort(report.cells.begin(), report.cells.end(), [](const auto& a, const auto& b) {
    return a.cells * a.size > b.cells * b.size;
  });
  std::stable_sort(report.not_folded.begin(), report.not_folded.end(),
                   [](const auto& a, const auto& b) { return a.times > b.times; });
  report.not_folded.resize(std::min(report.not_folded.size(), kMostReasons));
}

void print_cells(std::ostream& out, const Report& report) {
  if (!report.cells.empty()) {
    out << std::left << std::setw(20) << "cell" << std::right << std::setw(10) << "nodes"
        << std::setw(10) << "batches" << std::setw(10) << "cells" << std::setw(10) << "forward"
        << std::setw(10) << "whole" << std::setw(13) << "by node"
        << "  ops\n";
  }
  std::uint64_t cells = 0;
  for (std::size_t i = 0; i < report.cells.size(); ++i) {
    const Report::Cell& cell = report.cells[i];
    cells += cell.cells;
    if (i >= kMostLines) continue;
    const std::string label = "of " + counted(cell.size, "node");
    out << std::left << std::setw(20) << label << std::right << std::setw(10)
        << cell.cells * cell.size << std::setw(10) << cell.batches << std::setw(10) << cell.cells
        << std::setw(10) << cell.forward_calls << std::setw(10) << cell.whole << std::setw(13)
        << cell.by_node << "  " << cell.ops;
    if (!cell.shared_calls.empty()) out << "; in one call: " << cell.shared_calls;
    out << '\n';
  }
  if (cells > 0) {
    out << report.nodes_in_cells << " of the nodes ran in " << counted(cells, "cell")
        << ", each planned as one node: " << counted(report.nodes_in_cells - cells, "node")
        << " less to plan\n";
  }
  if (!report.no_cells.empty()) out << "cells: " << report.no_cells << '\n';
  for (const Report::NotFolded& other : report.not_folded) {
    out << "not folded: " << counted(other.times, "time") << ' ' << other.ops << ": "
        << other.reason << '\n';
  }
}

}  // namespace dynet_like::detail
