// Links from consumers to producers, and the choice of how their contributions are summed.
#include "dynet_like/exec/gradient_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dynet_like/core/counted.h"
#include "dynet_like/exec/checks.h"
#include "dynet_like/program/recursion_op.h"

namespace dynet_like::detail {

namespace {

// Different parts of a node: each has a number, and those that come in no order are searched for
// among few.
constexpr std::size_t kMostSearched = 16, kMostGroups = 255;

std::size_t output_size(const Tape& tape, NodeId node) {
  return tape.type_of(node).signature.output_size;
}

struct Range {
  std::size_t begin, end;
};

bool covers_node(const Tape& tape, const Value& value) {
  const Value& whole = tape.value(tape.node(value.node).value);
  const std::size_t size = tape.types().shape(value.shape).size;
  return (value.items == 1 || value.stride == size) &&
         size * value.items == output_size(tape, value.node) * whole.items;
}

// Elements that a value covers: of the node, or of each of its items if it has a part of every one.
bool range_of(const Tape& tape, const Value& value, bool per_item, Range& range) {
  const std::size_t size = tape.types().shape(value.shape).size;
  const Value& whole = tape.value(tape.node(value.node).value);
  range = {value.offset, value.offset + size * (per_item ? 1 : value.items)};
  if (!per_item) return value.items == 1 || value.stride == size;
  if (!covers_node(tape, value)) {
    return value.items == whole.items && value.stride == whole.stride;
  }
  range = {0, output_size(tape, value.node)};
  return true;
}

}  // namespace

// From the last node to the first, so that all consumers of a node come before it.
void GradientPlan::make(std::span<const ValueRef> roots, bool full) {
  begin(full);
  for (const ValueRef& root : roots) {
    if (root.tape >= run_.first_tape && root.tape < run_.end_tape) seed(root);
  }
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    const std::vector<NodeGradient>& all = tapes_[t].nodes;
    for (auto node = static_cast<NodeId>(all.size()); node-- > 0;) {
      if (all[node].active) decide({t, node});
    }
  }
}

void GradientPlan::begin(bool full) {
  full_ = full;
  bytes_ = 0;
  zeros_.clear();
  ones_.clear();
  for (const TypeId type : met_types_) types_[type] = {};
  met_types_.clear();
  types_.resize(run_.types().type_count());
  batches_.assign(run_.batches.size(), {});
  if (tapes_.size() < run_.end_tape) tapes_.resize(run_.end_tape);
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    tapes_[t].nodes.assign(run_.tapes[t].nodes.size(), NodeGradient{});
    tapes_[t].edges.resize(run_.tapes[t].tape->edges().size());
    tapes_[t].shared_roots.clear();
  }
}

void GradientPlan::seed(const ValueRef& root) {
  const Tape& tape = *run_.tapes[root.tape].tape;
  const Value& value = tape.value(root.value);
  if (value.identity != 0) {
    if (is_wanted(value)) tapes_[root.tape].shared_roots.push_back(value);
    return;
  }
  if (value.blocks_gradient) return;
  const NodeRef ref{root.tape, value.node};
  NodeGradient& node = at(ref);
  if (!node.seeded) {
    node.active = true;
    node.seeded = true;
    node.has_slots = true;
    give_place(ref);
    clear(ref);
  }
  const Shape& shape = tape.shape_of(root.value);
  for (std::uint32_t item = 0; item < value.items; ++item) {
    const std::size_t first = value.offset + item * value.stride;
    ones_.push_back({node.place + first * size_of(shape.dtype), shape.size, shape.dtype});
  }
}

Place GradientPlan::reserve(std::size_t bytes) {
  const Place place = bytes_;
  bytes_ += (bytes + 63) / 64 * 64;
  return place;
}

// A block for the whole batch of the node, of which the node has its part; sources have their own.
void GradientPlan::give_place(NodeRef ref) {
  NodeGradient& node = at(ref);
  if (node.place != kNowhere) return;
  const NodeState& state = run_.state(ref);
  if (state.batch == kNone) {
    const Tape& tape = run_.tape(ref);
    const std::size_t size = output_size(tape, ref.node) * run_.items_of(ref);
    node.place = reserve(size * size_of(tape.type_of(ref.node).signature.dtype));
    return;
  }
  reserve_batch(state.batch);
  const auto offset = static_cast<std::size_t>(state.value - run_.batches[state.batch].out);
  node.place = batches_[state.batch].gradients + offset;
}

// Gradients lie as values do.
void GradientPlan::reserve_batch(std::uint32_t index) {
  OfBatch& of_batch = batches_[index];
  if (of_batch.gradients != kNowhere) return;
  const Batch& batch = run_.batches[index];
  of_batch.gradients = reserve(batch.out_bytes);
  if (batch.deferred_stride() > 0) {
    of_batch.deferred = reserve(batch.items * batch.deferred_stride());
  }
}

void GradientPlan::decide(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  NodeGradient& node = at(ref);
  give_place(ref);
  choose_contributions(ref);
  const std::uint32_t first_edge = tape.node(ref.node).first_edge;
  const std::span<const ValueId> inputs = tape.inputs_of(ref.node);
  const TypeInputs& of_type = inputs_of_type(ref);
  node.reads_shared = of_type.collects;
  for (std::size_t j = inputs.size(); j-- > 0;) {
    if (of_type.is_collected(j)) continue;
    link(ref, first_edge + static_cast<std::uint32_t>(j), inputs[j]);
  }
}

// An argument that a type names is the same for all its nodes.
const TypeInputs& GradientPlan::inputs_of_type(NodeRef example) {
  const Tape& tape = run_.tape(example);
  TypeInputs& result = types_[tape.node(example.node).type];
  if (result.known) return result;
  met_types_.push_back(tape.node(example.node).type);
  result.known = true;
  const NodeType& type = tape.type_of(example.node);
  const std::span<const ValueId> inputs = tape.inputs_of(example.node);
  for (std::size_t j = 0; j < std::min<std::size_t>(inputs.size(), 64); ++j) {
    const Value& value = tape.value(inputs[j]);
    if (type.signature.shared[j] == 0 || value.identity == 0) continue;
    if (is_wanted(value) && type.shared_gradients[j] == SharedGradient::dense) continue;
    result.collected |= std::uint64_t{1} << j;
    result.collects |= is_wanted(value);
  }
  return result;
}

// Kernels add up what the items of a node contribute to an input with any number of columns.
bool GradientPlan::is_open(NodeRef consumer, std::uint32_t edge) const {
  const Tape& tape = run_.tape(consumer);
  return tape.type_of(consumer.node).op->is_open(edge - tape.node(consumer.node).first_edge);
}

void GradientPlan::link(NodeRef consumer, std::uint32_t edge_index, ValueId input) {
  const Value& value = run_.tape(consumer).value(input);
  EdgeGradient& edge = edges(consumer.tape)[edge_index];
  edge.place = kNowhere;
  if (!is_wanted(value)) return;
  if (value.identity != 0) return link_shared(consumer, edge_index, value);
  edge.batch = run_.state(consumer).batch;
  edge.copies = value.items == 1 && !is_open(consumer, edge_index) ? run_.items_of(consumer) : 1;
  edge.in_order = edge.copies == 1;
  const Tape& tape = run_.tape(consumer);
  const NodeType& type = tape.type_of(consumer.node);
  edge.is_recursion = type.op->role == Role::recursion;
  if (edge.is_recursion) {
    constexpr std::uint32_t kMany = 3;
    const std::uint32_t j = edge_index - tape.node(consumer.node).first_edge;
    const Vertices& vertices = *tape.recursion_of(consumer.node).vertices;
    const std::uint32_t elements = tape.types().shape(value.shape).size;
    if (!recursion_of(type.signature).adds_once(vertices, j, elements)) edge.copies = kMany;
  }
  insert_edge({consumer.tape, value.node}, edge_index);
}

// What shared values get is collected when all has run.
void GradientPlan::link_shared(NodeRef consumer, std::uint32_t edge_index, const Value& value) {
  const Tape& tape = run_.tape(consumer);
  const NodeType& type = tape.type_of(consumer.node);
  const std::uint32_t j = edge_index - tape.node(consumer.node).first_edge;
  NodeGradient& node = at(consumer);
  node.reads_shared = true;
  node.reads_unnamed |= type.signature.shared[j] == 0;
  EdgeGradient& edge = edges(consumer.tape)[edge_index];
  edge.contribution = Contribution::written;
  if (type.shared_gradients[j] != SharedGradient::dense) return;
  const Shape& shape = tape.types().shape(value.shape);
  const std::size_t slots = is_open(consumer, edge_index) ? 1 : run_.items_of(consumer);
  edge.place = reserve(slots * shape.size * size_of(shape.dtype));
}

// Consumers come from the last to the first.
void GradientPlan::insert_edge(NodeRef producer, std::uint32_t edge_index) {
  NodeGradient& node = at(producer);
  EdgeGradient* const all = edges(producer.tape);
  all[edge_index].next = kNone;
  (node.first_consumer == kNone ? node.first_consumer : all[node.last_consumer].next) = edge_index;
  node.last_consumer = edge_index;
  node.active = true;
}

// Whether one consumer reads all of the node once, and nothing else contributes.
bool GradientPlan::has_one_reader(NodeRef ref, const NodeGradient& node) const {
  const EdgeGradient& first = edges(ref.tape)[node.first_consumer];
  const Tape& tape = run_.tape(ref);
  return first.next == kNone && first.in_order && !node.seeded &&
         covers_node(tape, tape.value(tape.edges()[node.first_consumer]));
}

// All consumers of the node are linked.
void GradientPlan::choose_contributions(NodeRef ref) {
  NodeGradient& node = at(ref);
  if (node.first_consumer == kNone) return;
  EdgeGradient* const all = edges(ref.tape);
  if (has_one_reader(ref, node)) {
    EdgeGradient& first = all[node.first_consumer];
    first.place = node.place;
    first.contribution = Contribution::written;
    return;
  }
  groups_.clear();
  if (!node.seeded && group_contributions(ref)) return place_in_groups(ref);
  // Parts overlap: everything is added to zeros, or to what is there.
  if (!node.seeded) clear(ref);
  for (std::uint32_t e = node.first_consumer; e != kNone; e = all[e].next) {
    place_in_slots(ref, e, Contribution::added_slot);
  }
}

// Whether consumers read a part of every item, with gaps between.
bool GradientPlan::has_parts_per_item(NodeRef ref) const {
  if (run_.items_of(ref) == 1) return false;
  const Tape& tape = run_.tape(ref);
  const EdgeGradient* const all = edges(ref.tape);
  for (std::uint32_t e = at(ref).first_consumer; e != kNone; e = all[e].next) {
    if (!tape.is_contiguous(tape.edges()[e])) return true;
  }
  return false;
}

// Finds the parts of the node that contributions cover; false if different ones overlap.
bool GradientPlan::group_contributions(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  EdgeGradient* const all = edges(ref.tape);
  const bool per_item = has_parts_per_item(ref);
  std::size_t begin_of_all = ~std::size_t{0}, end_of_all = 0;
  for (std::uint32_t e = at(ref).first_consumer; e != kNone; e = all[e].next) {
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

void GradientPlan::clear(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  zeros_.push_back({at(ref).place, output_size(tape, ref.node) * run_.items_of(ref),
                    tape.type_of(ref.node).signature.dtype});
}

void GradientPlan::place_in_groups(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  EdgeGradient* const all = edges(ref.tape);
  std::size_t covered = 0;
  for (const Group& group : groups_) covered += group.end - group.begin;
  const std::uint32_t items = has_parts_per_item(ref) ? 1 : run_.items_of(ref);
  if (covered < output_size(tape, ref.node) * items) clear(ref);
  for (std::uint32_t e = at(ref).first_consumer; e != kNone; e = all[e].next) {
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
      place_in_slots(ref, e, is_first ? Contribution::slot : Contribution::added_slot);
    }
  }
}

void GradientPlan::place_in_node(NodeRef ref, std::uint32_t edge_index, bool adds) {
  EdgeGradient& edge = edges(ref.tape)[edge_index];
  const std::size_t element = size_of(run_.tape(ref).type_of(ref.node).signature.dtype);
  edge.place = at(ref).place + groups_[edge.group].begin * element;
  edge.contribution = adds ? Contribution::added : Contribution::written;
}

void GradientPlan::place_in_slots(NodeRef ref, std::uint32_t edge_index,
                                  Contribution contribution) {
  const Tape& tape = run_.tape(ref);
  const Value& value = tape.value(tape.edges()[edge_index]);
  const Shape& shape = tape.types().shape(value.shape);
  EdgeGradient& edge = edges(ref.tape)[edge_index];
  at(ref).has_slots = true;
  if (edge.is_recursion) {
    edge.contribution = Contribution::listed;
    edge.place = at(ref).place + value.offset * size_of(shape.dtype);
    return;
  }
  edge.place =
      reserve(std::max(edge.copies, value.items) * std::size_t{shape.size} * size_of(shape.dtype));
  edge.contribution = contribution;
}

std::string GradientPlan::to_string() const {
  std::string text = fmt::format("{}\n", counted(bytes(), "byte"));
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    const std::span<const NodeGradient> all = nodes(t);
    for (auto node = static_cast<NodeId>(all.size()); node-- > 0;) {
      if (all[node].active) text += line_of({t, node});
    }
  }
  return text;
}

std::string GradientPlan::line_of(NodeRef ref) const {
  static constexpr std::array<const char*, 5> kNames{"written", "added", "slot", "added slot",
                                                     "listed"};
  const NodeGradient& node = at(ref);
  std::string line = describe(run_.common, ref);
  if (node.place != kNowhere) line += fmt::format(" at {}", node.place);
  if (node.seeded) line += ", of the loss";
  const EdgeGradient* const edges = this->edges(ref.tape);
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    line += fmt::format("; {} at {}", kNames[static_cast<std::size_t>(edges[e].contribution)],
                        edges[e].place);
    if (edges[e].copies > 1) line += fmt::format(" x {}", edges[e].copies);
  }
  return line + "\n";
}

}  // namespace dynet_like::detail
