// Links from consumers to producers; node_sums.cpp chooses how their contributions are summed.
#include "dynet_like/exec/gradient_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dynet_like/core/counted.h"
#include "dynet_like/program/recursion_op.h"
#include "dynet_like/tape/node_text.h"

namespace dynet_like::detail {

// Goes from the last node to the first, so that all consumers of a node come before it.
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
    tapes_[t].nodes.assign(run_.tapes()[t].nodes.size(), NodeGradient{});
    tapes_[t].edges.resize(run_.tapes()[t].tape->edges().size());
    tapes_[t].shared_roots.clear();
  }
}

void GradientPlan::seed(const ValueRef& root) {
  const Tape& tape = *run_.tapes()[root.tape].tape;
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

// Reserves a block for the whole batch, in which the node has a part. Sources have separate places.
void GradientPlan::give_place(NodeRef ref) {
  NodeGradient& node = at(ref);
  if (node.place != kNowhere) return;
  const NodeState& state = run_.state(ref);
  if (!state.has_batch()) {
    const Tape& tape = run_.tape(ref);
    const std::size_t size = tape.type_of(ref.node).output_size * run_.items_of(ref);
    node.place = reserve(size * size_of(tape.type_of(ref.node).signature.dtype));
    return;
  }
  reserve_batch(state.batch);
  const auto offset = static_cast<std::size_t>(state.value - run_.batches[state.batch].out);
  node.place = batches_[state.batch].gradients + offset;
}

// Gradients have the same layout as values.
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
  sums_.choose(ref);
  const std::uint32_t first_edge = tape.node(ref.node).first_edge;
  const std::span<const ValueId> inputs = tape.inputs_of(ref.node);
  const TypeInputs& of_type = inputs_of_type(ref);
  node.reads_shared = of_type.collects;
  for (std::size_t j = inputs.size(); j-- > 0;) {
    if (of_type.is_collected(j)) continue;
    link(ref, first_edge + static_cast<std::uint32_t>(j), inputs[j]);
  }
}

// An argument that a type contains is the same for all its nodes.
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

// Kernels sum the contributions of a node's items to an input with any number of columns.
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

// Contributions to shared values are collected after all batches have run.
void GradientPlan::link_shared(NodeRef consumer, std::uint32_t edge_index, const Value& value) {
  const Tape& tape = run_.tape(consumer);
  const NodeType& type = tape.type_of(consumer.node);
  const std::uint32_t j = edge_index - tape.node(consumer.node).first_edge;
  NodeGradient& node = at(consumer);
  node.reads_shared = true;
  node.reads_unnamed |= type.signature.shared[j] == 0;
  EdgeGradient& edge = edges(consumer.tape)[edge_index];
  edge.arrival = Arrival::written;
  if (type.shared_gradients[j] != SharedGradient::dense) return;
  const Shape& shape = tape.types().shape(value.shape);
  const std::size_t slots = is_open(consumer, edge_index) ? 1 : run_.items_of(consumer);
  edge.place = reserve(slots * shape.size * size_of(shape.dtype));
}

// Consumers are inserted from the last to the first.
void GradientPlan::insert_edge(NodeRef producer, std::uint32_t edge_index) {
  NodeGradient& node = at(producer);
  EdgeGradient* const all = edges(producer.tape);
  all[edge_index].next = kNone;
  (node.first_consumer == kNone ? node.first_consumer : all[node.last_consumer].next) = edge_index;
  node.last_consumer = edge_index;
  node.active = true;
}

void GradientPlan::clear(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  zeros_.push_back({at(ref).place, tape.type_of(ref.node).output_size * run_.items_of(ref),
                    tape.type_of(ref.node).signature.dtype});
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
  std::string line = text_of(run_.tape(ref), ref.tape, ref.node);
  if (node.place != kNowhere) line += fmt::format(" at {}", node.place);
  if (node.seeded) line += ", of the loss";
  const EdgeGradient* const edges = this->edges(ref.tape);
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    line += fmt::format("; {} at {}", kNames[static_cast<std::size_t>(edges[e].arrival)],
                        edges[e].place);
    if (edges[e].copies > 1) line += fmt::format(" x {}", edges[e].copies);
  }
  return line + "\n";
}

}  // namespace dynet_like::detail
