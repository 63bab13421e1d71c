// Nodes that did not share batches: which ones, why, where they were recorded, and what they cost.
#include "dynet_like/report/merges.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <ostream>
#include <sstream>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/text.h"
#include "dynet_like/report/places.h"
#include "dynet_like/report/splits.h"

namespace dynet_like::detail {

namespace {

using MissedMerge = Report::MissedMerge;

constexpr std::size_t kMostRows = 20, kMostLabels = 3;

Recorded look_at(std::span<const RunState* const> runs, std::size_t types) {
  Recorded recorded;
  recorded.of_types.resize(types);
  for (const RunState* run : runs) {
    for (std::uint32_t t = run->first_tape; t < run->end_tape; ++t) {
      const Tape& tape = *run->tapes()[t].tape;
      recorded.samples += tape.size() > 0 ? 1 : 0;
      for (NodeId node = 0; node < tape.size(); ++node) {
        Seen& seen = recorded.of_types[tape.node(node).type];
        if (seen.last_sample == t) continue;
        if (seen.last_sample == kNone) seen.example = {t, node};
        seen.last_sample = t;
        ++seen.samples;
      }
    }
  }
  return recorded;
}

std::string_view name_of(Difference difference) {
  switch (difference) {
    case Difference::length:
      return "length";
    case Difference::columns:
      return "columns";
    case Difference::shape:
      return "shape";
    case Difference::arguments:
      return "arguments";
    case Difference::inputs:
      return "inputs";
    case Difference::constants:
      return "constant";
    case Difference::parameters:
      return "parameter";
    case Difference::depth:
      return "depth";
    case Difference::call:
      return "call";
  }
  return "";
}

struct Row {
  MissedMerge merge;
  Split split;
};

Row make_row(Split split, const RunState& run, std::span<const TypeCount> counts) {
  TypeCount count;
  for (TypeId type : split.types) count += counts[type];
  Row row;
  MissedMerge& merge = row.merge;
  merge.op = run.types()[split.types[0]].op->name;
  merge.field = name_of(split.difference);
  merge.difference = split.words;
  merge.types = split.types.size();
  merge.nodes = count.nodes;
  merge.batches = count.batches;
  merge.saved_batches = count.batches - std::min(count.batches, split.bound);
  if (merge.saved_batches > 0) {
    const double share =
        static_cast<double>(merge.saved_batches) / static_cast<double>(merge.batches);
    const auto calls = static_cast<double>(count.forward_calls + count.backward_calls);
    merge.saved_calls = static_cast<std::uint64_t>(std::llround(share * calls));
    merge.seconds = count.seconds;
    merge.saved_seconds = share * count.seconds;
    merge.advice = advice(split, run);
  }
  row.split = std::move(split);
  return row;
}

bool is_more_expensive(const Row& a, const Row& b) {
  const MissedMerge &x = a.merge, &y = b.merge;
  if (x.saved_seconds != y.saved_seconds) return x.saved_seconds > y.saved_seconds;
  if (x.saved_calls != y.saved_calls) return x.saved_calls > y.saved_calls;
  if (x.saved_batches != y.saved_batches) return x.saved_batches > y.saved_batches;
  return a.split.types[0] < b.split.types[0];
}

// Adds labels and places of the nodes.
void add_names(std::span<const RunState* const> runs, std::vector<Row>& rows) {
  std::vector<std::uint32_t> row_of(runs[0]->types().type_count(), kNone);
  for (std::uint32_t r = 0; r < rows.size(); ++r) {
    for (TypeId type : rows[r].split.types) row_of[type] = r;
  }
  std::vector<std::vector<std::string>> labels(rows.size());
  std::vector<std::map<CallStack, std::uint64_t>> calls(rows.size());
  for (const TapeState& state : runs[0]->tapes()) {
    const Tape& tape = *state.tape;
    for (NodeId node = 0; node < tape.size(); ++node) {
      const std::uint32_t r = row_of[tape.node(node).type];
      if (r == kNone) continue;
      const std::string& label = label_of(tape, node);
      if (!label.empty() && std::ranges::find(labels[r], label) == labels[r].end() &&
          labels[r].size() < kMostLabels) {
        labels[r].push_back(label);
      }
      if (const CallStack* call = tape.calls.find(node)) ++calls[r][*call];
    }
  }
  std::vector<std::vector<std::string>> places = places_of(calls, kMostLabels);
  for (std::uint32_t r = 0; r < rows.size(); ++r) {
    rows[r].merge.places = std::move(places[r]);
    for (const std::string& label : labels[r]) {
      rows[r].merge.label += (rows[r].merge.label.empty() ? "" : ", ") + label;
    }
  }
}

}  // namespace

std::string listed(std::vector<std::string> values) {
  constexpr std::size_t kMostValues = 5, kShownOfMany = 3;
  std::vector<std::string> different;
  for (std::string& value : values) {
    if (std::ranges::find(different, value) == different.end()) {
      different.push_back(std::move(value));
    }
  }
  if (different.size() == 1) return different[0];
  const bool are_many = different.size() > kMostValues;
  std::string text;
  for (std::size_t i = 0; i + 1 < different.size() && (!are_many || i < kShownOfMany); ++i) {
    text += (i > 0 ? ", " : "") + different[i];
  }
  return text + (are_many ? ", ..." : "") + " or " + different.back();
}

void report_merges(std::span<const RunState* const> runs, std::span<const TypeCount> counts,
                   std::span<const std::uint64_t> bounds, Report& report) {
  const Recorded recorded = look_at(runs, runs[0]->types().type_count());
  std::vector<Row> rows;
  std::vector<TypeCount> others(counts.begin(), counts.end());
  for (Split& split : find_splits(runs, recorded, counts)) {
    Row row = make_row(std::move(split), *runs[0], counts);
    if (row.merge.saved_batches == 0) continue;
    for (TypeId type : row.split.types) others[type] = {};
    rows.push_back(std::move(row));
  }
  for (Split& split : find_delays(runs, recorded, others, bounds)) {
    rows.push_back(make_row(std::move(split), *runs[0], counts));
  }
  std::ranges::sort(rows, is_more_expensive);
  rows.resize(std::min(rows.size(), kMostRows));
  add_names(runs, rows);
  for (Row& row : rows) report.missed_merges.push_back(std::move(row.merge));
}

void print_merges(std::ostream& to, const Report& report) {
  std::ostringstream out;  // keeps the format of `out` unchanged
  out << std::fixed << std::setprecision(3);
  for (const MissedMerge& merge : report.missed_merges) {
    out << "not together: " << merge.op;
    if (!merge.label.empty()) out << ' ' << quoted_text(merge.label);
    out << ", " << counted(merge.nodes, "node") << " of " << counted(merge.types, "type") << " in "
        << counted(merge.batches, "batch", "batches") << "\n  split by " << merge.field << ": "
        << merge.difference << '\n';
    for (std::size_t i = 0; i < merge.places.size(); ++i) {
      out << (i == 0 ? "  at " : ", ") << merge.places[i];
    }
    if (!merge.places.empty()) out << '\n';
    const auto known = std::ranges::find(report.missed_merges, merge.advice, &MissedMerge::advice);
    out << "  instead: " << (&*known == &merge ? merge.advice : "as for " + known->op + " above")
        << '\n'
        << "  saves up to " << counted(merge.saved_batches, "batch", "batches") << ", "
        << counted(merge.saved_calls, "kernel call");
    if (merge.seconds > 0) {
      out << ", " << 1e3 * merge.saved_seconds << " of " << 1e3 * merge.seconds << " ms";
    }
    out << '\n';
  }
  to << out.str();
}

}  // namespace dynet_like::detail
