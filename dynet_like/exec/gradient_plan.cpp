// Making a plan, and showing it.
#include "dynet_like/exec/gradient_plan.h"

#include <fmt/format.h>

#include <array>

#include "dynet_like/core/counted.h"
#include "dynet_like/exec/checks.h"

namespace dynet_like::detail {

void GradientPlan::make(std::span<const ValueRef> roots, bool full, bool whole) {
  nodes.begin(full);
  cells.begin(whole);
  for (const ValueRef& root : roots) {
    if (root.tape >= run_.first_tape && root.tape < run_.end_tape) nodes.seed(root);
  }
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) decide_tape(t);
}

// From the last node to the first, so that all consumers of a node come before it.
void GradientPlan::decide_tape(std::uint32_t tape) {
  const std::vector<NodeGradient>& all = nodes.nodes(tape);
  for (auto node = static_cast<NodeId>(all.size()); node-- > 0;) {
    const std::uint32_t cell = all[node].cell;
    if (cell == kNone) {
      if (all[node].active) nodes.decide({tape, node});
    } else if (run_.cells.all[cell].entered_at == node) {
      cells.decide(cell);
    }
  }
}

std::string GradientPlan::to_string() const {
  std::string text = fmt::format("{}\n", counted(nodes.bytes(), "byte"));
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    const std::span<const NodeGradient> all = nodes.nodes(t);
    for (auto node = static_cast<NodeId>(all.size()); node-- > 0;) {
      if (all[node].active) text += line_of({t, node});
    }
  }
  return text;
}

std::string GradientPlan::line_of(NodeRef ref) const {
  static constexpr std::array<const char*, 5> kNames{"written", "added", "slot", "added slot",
                                                     "collected"};
  const NodeGradient& node = nodes.at(ref);
  std::string line = describe(run_.common, ref);
  if (node.place != kNowhere) line += fmt::format(" at {}", node.place);
  if (node.seeded) line += ", of the loss";
  if (node.cell != kNone) line += fmt::format(", in cell {}", node.cell);
  const EdgeGradient* const edges = nodes.edges(ref.tape);
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    line += fmt::format("; {} at {}", kNames[static_cast<std::size_t>(edges[e].contribution)],
                        edges[e].place);
    if (edges[e].copies > 1) line += fmt::format(" x {}", edges[e].copies);
  }
  return line + "\n";
}

}  // namespace dynet_like::detail
