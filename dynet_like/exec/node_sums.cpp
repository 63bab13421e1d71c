// choose_sums of gradient_plan.h: where contributions to a node are written or added.
#include <algorithm>

#include "dynet_like/exec/gradient_plan.h"

namespace dynet_like::detail {

namespace {

// Parts of a node are numbered groups. Parts in no order are only searched for among few groups.
constexpr std::size_t kMostSearched = 16, kMostGroups = 255;

// A node whose sums are chosen, and the edges of its tape.
struct Chosen {
  const RunState& run;
  GradientPlan& plan;
  NodeRef ref;
  const Tape& tape;
  NodeGradient& node;
  EdgeGradient* edges;

  // Calls visit(edge, its value) for all contributions, in the order of addition.
  template <class Visit>
  void for_each_contribution(const Visit& visit) const {
    for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
      visit(edges[e], tape.value(tape.edges()[e]));
    }
  }
};

struct Range {
  std::size_t begin, end;
};

bool covers_node(const Tape& tape, const Value& value) {
  const Value& whole = tape.value(tape.node(value.node).value);
  const std::size_t size = tape.types().shape(value.shape).size;
  return (value.items == 1 || value.stride == size) &&
         size * value.items == tape.type_of(value.node).output_size * whole.items;
}

// The elements that a value covers: of the whole node, or of each item if it has a part of each.
bool range_of(const Tape& tape, const Value& value, bool per_item, Range& range) {
  const std::size_t size = tape.types().shape(value.shape).size;
  const Value& whole = tape.value(tape.node(value.node).value);
  range = {value.offset, value.offset + size * (per_item ? 1 : value.items)};
  if (!per_item) return value.items == 1 || value.stride == size;
  if (!covers_node(tape, value)) {
    return value.items == whole.items && value.stride == whole.stride;
  }
  range = {0, tape.type_of(value.node).output_size};
  return true;
}

// Whether one consumer reads the whole node once, and nothing else contributes.
bool has_one_reader(const Chosen& of) {
  const EdgeGradient& first = of.edges[of.node.first_consumer];
  return first.next == kNone && first.in_order && !of.node.seeded &&
         covers_node(of.tape, of.tape.value(of.tape.edges()[of.node.first_consumer]));
}

// Whether a consumer reads a part of every item, with gaps between the parts.
bool has_parts_per_item(const Chosen& of) {
  if (of.run.items_of(of.ref) == 1) return false;
  for (std::uint32_t e = of.node.first_consumer; e != kNone; e = of.edges[e].next) {
    if (!of.tape.is_contiguous(of.tape.edges()[e])) return true;
  }
  return false;
}

// Finds the parts of the node that contributions cover; false if different parts overlap.
bool find_groups(const Chosen& of, bool per_item, std::vector<SumGroup>& groups) {
  groups.clear();
  std::size_t begin_of_all = ~std::size_t{0}, end_of_all = 0;
  for (std::uint32_t e = of.node.first_consumer; e != kNone; e = of.edges[e].next) {
    EdgeGradient& edge = of.edges[e];
    Range range;
    if (!range_of(of.tape, of.tape.value(of.tape.edges()[e]), per_item, range)) return false;
    const bool is_outside = range.begin >= end_of_all || range.end <= begin_of_all;
    if (!is_outside && groups.size() > kMostSearched) return false;
    begin_of_all = std::min(begin_of_all, range.begin);
    end_of_all = std::max(end_of_all, range.end);
    std::size_t g = is_outside ? groups.size() : 0;
    for (; g < groups.size(); ++g) {
      if (groups[g].begin == range.begin && groups[g].end == range.end) break;
      if (groups[g].begin < range.end && range.begin < groups[g].end) return false;
    }
    if (g == kMostGroups) return false;
    if (g == groups.size()) {
      SumGroup& group = groups.emplace_back();
      group.begin = range.begin;
      group.end = range.end;
    }
    groups[g].copies += edge.copies;
    groups[g].first_batch = std::min(groups[g].first_batch, edge.batch);
    groups[g].last_batch = std::max(groups[g].last_batch, edge.batch);
    edge.group = static_cast<std::uint8_t>(g);
  }
  return true;
}

// A contribution arrives in place at `begin` elements behind the node's gradient, or in slots.
void place(const Chosen& of, EdgeGradient& edge, const Value& value, Arrival arrival,
           std::size_t begin) {
  const Shape& shape = of.tape.types().shape(value.shape);
  edge.arrival = arrival;
  of.node.has_slots |= waits(arrival);
  if (waits(arrival) && !edge.is_recursion) {
    const std::size_t slots = std::max(edge.copies, value.items);
    edge.at = reserve(of.plan, slots * shape.size * size_of(shape.dtype));
  } else {
    const std::size_t first = waits(arrival) ? value.offset : begin;
    edge.at = of.node.at + first * size_of(shape.dtype);
  }
}

void place_in_groups(const Chosen& of, bool per_item, std::vector<SumGroup>& groups) {
  std::size_t covered = 0;
  for (const SumGroup& group : groups) covered += group.end - group.begin;
  const std::uint32_t items = per_item ? 1 : of.run.items_of(of.ref);
  if (covered < of.tape.type_of(of.ref.node).output_size * items) {
    clear_gradient(of.run, of.plan, of.ref);
  }
  of.for_each_contribution([&](EdgeGradient& edge, const Value& value) {
    SumGroup& group = groups[edge.group];
    Arrival arrival = edge.batch == group.last_batch ? Arrival::written : Arrival::added;
    if (group.copies != 2 || group.first_batch == group.last_batch) {
      if (!edge.in_order) group.order.close();
      // Batches run backward from the last to the first.
      arrival = group.order.next(static_cast<std::uint32_t>(of.run.batches.size()) - edge.batch);
    }
    place(of, edge, value, arrival, group.begin);
  });
}

}  // namespace

void choose_sums(const RunState& run, GradientPlan& plan, NodeRef ref,
                 std::vector<SumGroup>& groups) {
  NodeGradient& node = plan.node(ref);
  if (node.first_consumer == kNone) return;
  const Chosen of{run, plan, ref, run.tape(ref), node, plan.tapes[ref.tape].edges.data()};
  if (has_one_reader(of)) {
    EdgeGradient& first = of.edges[node.first_consumer];
    first.at = node.at;
    first.arrival = Arrival::written;
    return;
  }
  const bool per_item = has_parts_per_item(of);
  if (!node.seeded && find_groups(of, per_item, groups))
    return place_in_groups(of, per_item, groups);
  // Parts overlap: all contributions are added to zeros, or to what is there.
  if (!node.seeded) clear_gradient(run, plan, ref);
  of.for_each_contribution([&](EdgeGradient& edge, const Value& value) {
    place(of, edge, value, Arrival::added_slot, 0);
  });
}

}  // namespace dynet_like::detail
