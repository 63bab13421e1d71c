// choose_sums of gradient_plan.h: where contributions to a node are written or added.
#include <algorithm>

#include "dynet_like/exec/gradient_plan.h"
#include "dynet_like/program/recursion_op.h"

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
  SumLists& lists;  ///< contributions in the order of addition
};

// Lists the contributions of its consumers.
void list_contributions(const Chosen& of) {
  of.lists.contributions.clear();
  for (std::uint32_t e = of.node.first_consumer; e != kNone; e = of.edges[e].link) {
    PlannedContribution& added = of.lists.contributions.emplace_back();
    added.edge = e;
    added.value = &of.tape.value(of.tape.edges()[e]);
    if (!of.edges[e].is_irregular) continue;
    const NodeRef consumer{of.ref.tape, consumer_of(of.tape, e)};
    const std::uint32_t j = e - of.tape.node(consumer.node).first_edge;
    const NodeType& type = of.tape.type_of(consumer.node);
    added.is_recursion = type.op->role == Role::recursion;
    if (added.is_recursion) {
      constexpr std::uint32_t kMany = 3;
      const Vertices& vertices = *of.tape.recursion_of(consumer.node).vertices;
      const std::uint32_t elements = of.tape.types().shape(added.value->shape).size;
      const bool once = recursion_of(type.signature).adds_once(vertices, j, elements);
      added.copies = once ? 1 : kMany;
    } else if (!type.op->is_open(j)) {
      added.copies = of.run.items_of(consumer);
    }
  }
}

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

// Whether a consumer reads a part of every item, with gaps between the parts.
bool has_parts_per_item(const Chosen& of) {
  if (of.run.items_of(of.ref) == 1) return false;
  return std::ranges::any_of(of.lists.contributions, [&](const PlannedContribution& some) {
    return !of.tape.is_contiguous(of.tape.edges()[some.edge]);
  });
}

// Finds the parts of the node that contributions cover; false if different parts overlap.
bool find_groups(const Chosen& of, bool per_item) {
  std::vector<SumGroup>& groups = of.lists.groups;
  groups.clear();
  std::size_t begin_of_all = ~std::size_t{0}, end_of_all = 0;
  for (PlannedContribution& some : of.lists.contributions) {
    Range range;
    if (!range_of(of.tape, *some.value, per_item, range)) return false;
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
    const std::uint32_t batch = of.edges[some.edge].batch;
    groups[g].copies += some.copies;
    groups[g].first_batch = std::min(groups[g].first_batch, batch);
    groups[g].last_batch = std::max(groups[g].last_batch, batch);
    some.group = static_cast<std::uint8_t>(g);
  }
  return true;
}

// A contribution arrives in place, or in slots.
void place(const Chosen& of, const PlannedContribution& some, Arrival arrival) {
  EdgeGradient& edge = of.edges[some.edge];
  edge.arrival = arrival;
  const Value& value = *some.value;
  const Shape& shape = of.tape.types().shape(value.shape);
  const std::size_t element = size_of(shape.dtype);
  const NodeState& state = of.run.state(of.ref);
  ContributionPlace to{.edge = some.edge,
                       .arrival = arrival,
                       .copies = some.copies,
                       .offset = value.offset,
                       .elements = shape.size,
                       .items = value.items,
                       .stride = value.stride};
  if (waits(arrival)) {
    if (state.has_batch()) of.plan.batches[state.batch].has_slots = true;
    if (!some.is_recursion) to.at = of.plan.reserve(std::size_t{to.slots()} * shape.size * element);
  } else if (state.has_batch()) {
    return;
  } else {
    to.at = of.plan.places[of.node.first_place].at + value.offset * element;
  }
  of.plan.add_place(of.node, edge, to);
}

void place_in_groups(const Chosen& of, bool per_item) {
  std::size_t covered = 0;
  for (const SumGroup& group : of.lists.groups) covered += group.end - group.begin;
  const std::uint32_t items = per_item ? 1 : of.run.items_of(of.ref);
  if (covered < of.tape.type_of(of.ref.node).output_size * items) {
    clear_gradient(of.run, of.plan, of.ref);
  }
  for (const PlannedContribution& some : of.lists.contributions) {
    SumGroup& group = of.lists.groups[some.group];
    const std::uint32_t batch = of.edges[some.edge].batch;
    Arrival arrival = batch == group.last_batch ? Arrival::written : Arrival::added;
    if (group.copies != 2 || group.first_batch == group.last_batch) {
      if (!some.in_order()) group.order.close();
      // Batches run backward from the last to the first.
      arrival = group.order.next(static_cast<std::uint32_t>(of.run.batches.size()) - batch);
    }
    place(of, some, arrival);
  }
}

}  // namespace

void choose_sums(const RunState& run, GradientPlan& plan, NodeRef ref, SumLists& lists) {
  NodeGradient& node = plan.node(ref);
  if (node.first_consumer == kNone) return;
  EdgeGradient* const edges = plan.tapes[ref.tape].edges.data();
  const Chosen of{run, plan, ref, run.tape(ref), node, edges, lists};
  list_contributions(of);
  const bool per_item = has_parts_per_item(of);
  if (!node.seeded && find_groups(of, per_item)) return place_in_groups(of, per_item);
  // Parts overlap: all contributions are added to zeros, or to what is there.
  if (!node.seeded) clear_gradient(run, plan, ref);
  for (const PlannedContribution& some : lists.contributions) place(of, some, Arrival::added_slot);
}

}  // namespace dynet_like::detail
