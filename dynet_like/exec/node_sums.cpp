// NodeSums of gradient_plan.h: where contributions to a node are written or added.
#include <algorithm>

#include "dynet_like/exec/gradient_plan.h"

namespace dynet_like::detail {

namespace {

// Parts of a node are numbered groups. Parts in no order are only searched for among few groups.
constexpr std::size_t kMostSearched = 16, kMostGroups = 255;

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

}  // namespace

// Whether one consumer reads the whole node once, and nothing else contributes.
bool NodeSums::has_one_reader(NodeRef ref) const {
  const NodeGradient& node = plan_.at(ref);
  const EdgeGradient& first = plan_.edges(ref.tape)[node.first_consumer];
  const Tape& tape = run_.tape(ref);
  return first.next == kNone && first.in_order && !node.seeded &&
         covers_node(tape, tape.value(tape.edges()[node.first_consumer]));
}

// All consumers of the node must be linked.
void NodeSums::choose(NodeRef ref) {
  NodeGradient& node = plan_.at(ref);
  if (node.first_consumer == kNone) return;
  EdgeGradient* const all = plan_.edges(ref.tape);
  if (has_one_reader(ref)) {
    EdgeGradient& first = all[node.first_consumer];
    first.place = node.place;
    first.arrival = Arrival::written;
    return;
  }
  groups_.clear();
  if (!node.seeded && find_groups(ref)) return place_in_groups(ref);
  // Parts overlap: all contributions are added to zeros, or to what is there.
  if (!node.seeded) plan_.clear(ref);
  for (std::uint32_t e = node.first_consumer; e != kNone; e = all[e].next) {
    place_in_slots(ref, e, Arrival::added_slot);
  }
}

// Whether a consumer reads a part of every item, with gaps between the parts.
bool NodeSums::has_parts_per_item(NodeRef ref) const {
  if (run_.items_of(ref) == 1) return false;
  const Tape& tape = run_.tape(ref);
  const EdgeGradient* const all = plan_.edges(ref.tape);
  for (std::uint32_t e = plan_.at(ref).first_consumer; e != kNone; e = all[e].next) {
    if (!tape.is_contiguous(tape.edges()[e])) return true;
  }
  return false;
}

// Finds the parts of the node that contributions cover; false if different parts overlap.
bool NodeSums::find_groups(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  EdgeGradient* const all = plan_.edges(ref.tape);
  const bool per_item = has_parts_per_item(ref);
  std::size_t begin_of_all = ~std::size_t{0}, end_of_all = 0;
  for (std::uint32_t e = plan_.at(ref).first_consumer; e != kNone; e = all[e].next) {
    Range range;
    if (!range_of(tape, tape.value(tape.edges()[e]), per_item, range)) return false;
    const bool is_outside = range.begin >= end_of_all || range.end <= begin_of_all;
    if (!is_outside && groups_.size() > kMostSearched) return false;
    begin_of_all = std::min(begin_of_all, range.begin);
    end_of_all = std::max(end_of_all, range.end);
    std::size_t g = is_outside ? groups_.size() : 0;
    for (; g < groups_.size(); ++g) {
      if (groups_[g].begin == range.begin && groups_[g].end == range.end) break;
      if (groups_[g].begin < range.end && range.begin < groups_[g].end) return false;
    }
    if (g == kMostGroups) return false;
    if (g == groups_.size()) {
      Group& group = groups_.emplace_back();
      group.begin = range.begin;
      group.end = range.end;
    }
    groups_[g].copies += all[e].copies;
    groups_[g].first_batch = std::min(groups_[g].first_batch, all[e].batch);
    groups_[g].last_batch = std::max(groups_[g].last_batch, all[e].batch);
    all[e].group = static_cast<std::uint8_t>(g);
  }
  return true;
}

void NodeSums::place_in_groups(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  EdgeGradient* const all = plan_.edges(ref.tape);
  std::size_t covered = 0;
  for (const Group& group : groups_) covered += group.end - group.begin;
  const std::uint32_t items = has_parts_per_item(ref) ? 1 : run_.items_of(ref);
  if (covered < tape.type_of(ref.node).output_size * items) plan_.clear(ref);
  for (std::uint32_t e = plan_.at(ref).first_consumer; e != kNone; e = all[e].next) {
    EdgeGradient& edge = all[e];
    Group& group = groups_[edge.group];
    // Batches run backward from the last to the first.
    const auto turn = static_cast<std::uint32_t>(run_.batches.size()) - edge.batch;
    if (group.copies == 2 && group.first_batch != group.last_batch) {
      place_in_node(ref, e, edge.batch != group.last_batch);
      continue;
    }
    const bool is_first = group.order.is_empty();
    if (!edge.in_order) group.order.close();
    if (group.order.takes(turn)) {
      place_in_node(ref, e, !is_first);
    } else {
      place_in_slots(ref, e, is_first ? Arrival::slot : Arrival::added_slot);
    }
  }
}

void NodeSums::place_in_node(NodeRef ref, std::uint32_t edge_index, bool adds) {
  EdgeGradient& edge = plan_.edges(ref.tape)[edge_index];
  const std::size_t element = size_of(run_.tape(ref).type_of(ref.node).signature.dtype);
  edge.place = plan_.at(ref).place + groups_[edge.group].begin * element;
  edge.arrival = adds ? Arrival::added : Arrival::written;
}

void NodeSums::place_in_slots(NodeRef ref, std::uint32_t edge_index, Arrival arrival) {
  const Tape& tape = run_.tape(ref);
  const Value& value = tape.value(tape.edges()[edge_index]);
  const Shape& shape = tape.types().shape(value.shape);
  EdgeGradient& edge = plan_.edges(ref.tape)[edge_index];
  plan_.at(ref).has_slots = true;
  if (edge.is_recursion) {
    edge.arrival = Arrival::listed;
    edge.place = plan_.at(ref).place + value.offset * size_of(shape.dtype);
    return;
  }
  edge.place = plan_.reserve(std::max(edge.copies, value.items) * std::size_t{shape.size} *
                             size_of(shape.dtype));
  edge.arrival = arrival;
}

}  // namespace dynet_like::detail
