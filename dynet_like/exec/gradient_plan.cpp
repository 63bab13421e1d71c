// Links from consumers to producers; node_sums.cpp chooses how their contributions are summed.
#include "dynet_like/exec/gradient_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dynet_like/core/counted.h"
#include "dynet_like/program/recursion_op.h"
#include "dynet_like/tape/node_text.h"

namespace dynet_like::detail {

namespace {

class PlanMaker {
 public:
  PlanMaker(const RunState& run, bool full, GradientPlan& plan)
      : run_(run), full_(full), plan_(plan) {}

  // Goes from the last node to the first, so that all consumers of a node come before it.
  void make(std::span<const ValueRef> roots) {
    begin();
    for (const ValueRef& root : roots) {
      if (root.tape >= run_.first_tape && root.tape < run_.end_tape) seed(root);
    }
    for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
      const std::vector<NodeGradient>& all = plan_.tapes[t].nodes;
      for (auto node = static_cast<NodeId>(all.size()); node-- > 0;) {
        if (all[node].active) decide({t, node});
      }
    }
  }

 private:
  void begin();
  void seed(const ValueRef& root);
  void decide(NodeRef ref);
  void give_place(NodeRef ref);
  void reserve_batch(std::uint32_t batch);
  const TypeInputs& inputs_of_type(NodeRef example);
  void link(NodeRef consumer, std::uint32_t j, ValueId input);
  void link_shared(NodeRef consumer, std::uint32_t j, const Value& value, EdgeGradient& edge);
  void insert_edge(NodeRef producer, std::uint32_t edge);
  bool is_wanted(const Value& value) const {
    return !full_ || value.identity != 0 ? value.reaches_parameter : !value.blocks_gradient;
  }

  const RunState& run_;
  bool full_;
  GradientPlan& plan_;
  std::vector<SumGroup> groups_;
};

void PlanMaker::begin() {
  plan_.bytes = 0;
  plan_.zeros.clear();
  plan_.ones.clear();
  for (const TypeId type : plan_.met_types) plan_.types[type] = {};
  plan_.met_types.clear();
  plan_.types.resize(run_.types().type_count());
  plan_.batches.assign(run_.batches.size(), {});
  if (plan_.tapes.size() < run_.end_tape) plan_.tapes.resize(run_.end_tape);
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    GradientPlan::OfTape& tape = plan_.tapes[t];
    tape.nodes.assign(run_.tapes()[t].nodes.size(), NodeGradient{});
    tape.edges.resize(run_.tapes()[t].tape->edges().size());
    tape.shared_roots.clear();
  }
}

// Marks a value as one of those whose sum is differentiated.
void PlanMaker::seed(const ValueRef& root) {
  const Tape& tape = *run_.tapes()[root.tape].tape;
  const Value& value = tape.value(root.value);
  if (value.identity != 0) {
    if (is_wanted(value)) plan_.tapes[root.tape].shared_roots.push_back(value);
    return;
  }
  if (value.blocks_gradient) return;
  const NodeRef ref{root.tape, value.node};
  NodeGradient& node = plan_.node(ref);
  if (!node.seeded) {
    node.active = node.seeded = node.has_slots = true;
    give_place(ref);
    clear_gradient(run_, plan_, ref);
  }
  const Shape& shape = tape.shape_of(root.value);
  for (std::uint32_t item = 0; item < value.items; ++item) {
    const std::size_t first = value.offset + item * value.stride;
    plan_.ones.push_back({node.at + first * size_of(shape.dtype), shape.size, shape.dtype});
  }
}

// Reserves a block for the whole batch, in which the node has a part. Sources have separate places.
void PlanMaker::give_place(NodeRef ref) {
  NodeGradient& node = plan_.node(ref);
  if (node.at != kNowhere) return;
  const NodeState& state = run_.state(ref);
  if (!state.has_batch()) {
    const Signature& type = run_.tape(ref).type_of(ref.node).signature;
    node.at = reserve(plan_, type.output_size * run_.items_of(ref) * size_of(type.dtype));
    return;
  }
  reserve_batch(state.batch);
  const auto offset = static_cast<std::size_t>(state.value - run_.batches[state.batch].out);
  node.at = plan_.batches[state.batch].gradients + offset;
}

// Gradients have the same layout as values.
void PlanMaker::reserve_batch(std::uint32_t index) {
  GradientPlan::OfBatch& of_batch = plan_.batches[index];
  if (of_batch.gradients != kNowhere) return;
  const Batch& batch = run_.batches[index];
  of_batch.gradients = reserve(plan_, batch.out_bytes);
  if (batch.deferred_stride() > 0) {
    of_batch.deferred = reserve(plan_, batch.items * batch.deferred_stride());
  }
}

// For a node whose consumers are all decided: chooses their sums, and links it to its inputs.
void PlanMaker::decide(NodeRef ref) {
  NodeGradient& node = plan_.node(ref);
  give_place(ref);
  choose_sums(run_, plan_, ref, groups_);
  const std::span<const ValueId> inputs = run_.tape(ref).inputs_of(ref.node);
  const TypeInputs& of_type = inputs_of_type(ref);
  node.reads_shared = of_type.collects;
  for (auto j = static_cast<std::uint32_t>(inputs.size()); j-- > 0;) {
    if (!of_type.is_collected(j)) link(ref, j, inputs[j]);
  }
}

// An argument that a type contains is the same for all its nodes.
const TypeInputs& PlanMaker::inputs_of_type(NodeRef example) {
  const Tape& tape = run_.tape(example);
  const TypeId id = tape.node(example.node).type;
  TypeInputs& result = plan_.types[id];
  if (result.known) return result;
  plan_.met_types.push_back(id);
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

void PlanMaker::link(NodeRef consumer, std::uint32_t j, ValueId input) {
  const Tape& tape = run_.tape(consumer);
  const Value& value = tape.value(input);
  const NodeType& type = tape.type_of(consumer.node);
  const std::uint32_t index = tape.node(consumer.node).first_edge + j;
  EdgeGradient& edge = plan_.tapes[consumer.tape].edges[index];
  edge.at = kNowhere;
  if (!is_wanted(value)) return;
  if (value.identity != 0) return link_shared(consumer, j, value, edge);
  edge.batch = run_.state(consumer).batch;
  edge.copies = value.items == 1 && !type.op->is_open(j) ? run_.items_of(consumer) : 1;
  edge.in_order = edge.copies == 1;
  edge.is_recursion = type.op->role == Role::recursion;
  if (edge.is_recursion) {
    constexpr std::uint32_t kMany = 3;
    const Vertices& vertices = *tape.recursion_of(consumer.node).vertices;
    const std::uint32_t elements = tape.types().shape(value.shape).size;
    if (!recursion_of(type.signature).adds_once(vertices, j, elements)) edge.copies = kMany;
  }
  insert_edge({consumer.tape, value.node}, index);
}

// Contributions to shared values are collected after all batches have run.
void PlanMaker::link_shared(NodeRef consumer, std::uint32_t j, const Value& value,
                            EdgeGradient& edge) {
  const NodeType& type = run_.tape(consumer).type_of(consumer.node);
  NodeGradient& node = plan_.node(consumer);
  node.reads_shared = true;
  node.reads_unnamed |= type.signature.shared[j] == 0;
  edge.arrival = Arrival::written;
  if (type.shared_gradients[j] != SharedGradient::dense) return;
  const Shape& shape = run_.types().shape(value.shape);
  const std::size_t slots = type.op->is_open(j) ? 1 : run_.items_of(consumer);
  edge.at = reserve(plan_, slots * shape.size * size_of(shape.dtype));
}

// Consumers are inserted from the last to the first.
void PlanMaker::insert_edge(NodeRef producer, std::uint32_t edge_index) {
  NodeGradient& node = plan_.node(producer);
  std::vector<EdgeGradient>& all = plan_.tapes[producer.tape].edges;
  all[edge_index].next = kNone;
  (node.first_consumer == kNone ? node.first_consumer : all[node.last_consumer].next) = edge_index;
  node.last_consumer = edge_index;
  node.active = true;
}

std::string line_of(const RunState& run, const GradientPlan& plan, NodeRef ref) {
  static constexpr std::array<const char*, 4> kNames{"written", "added", "slot", "added slot"};
  const NodeGradient& node = plan.node(ref);
  std::string line = text_of(run.tape(ref), ref.tape, ref.node);
  if (node.at != kNowhere) line += fmt::format(" at {}", node.at);
  if (node.seeded) line += ", of the loss";
  const std::vector<EdgeGradient>& edges = plan.tapes[ref.tape].edges;
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    const char* const name =
        edges[e].is_listed() ? "listed" : kNames[static_cast<std::size_t>(edges[e].arrival)];
    line += fmt::format("; {} at {}", name, edges[e].at);
    if (edges[e].copies > 1) line += fmt::format(" x {}", edges[e].copies);
  }
  return line + "\n";
}

}  // namespace

void make_gradient_plan(const RunState& run, std::span<const ValueRef> roots, bool full,
                        GradientPlan& plan) {
  PlanMaker(run, full, plan).make(roots);
}

void clear_gradient(const RunState& run, GradientPlan& plan, NodeRef ref) {
  const Signature& type = run.tape(ref).type_of(ref.node).signature;
  plan.zeros.push_back({plan.node(ref).at, type.output_size * run.items_of(ref), type.dtype});
}

std::string to_string(const RunState& run, const GradientPlan& plan) {
  std::string text = fmt::format("{}\n", counted(plan.bytes, "byte"));
  for (std::uint32_t t = run.first_tape; t < run.end_tape; ++t) {
    const std::vector<NodeGradient>& all = plan.tapes[t].nodes;
    for (auto node = static_cast<NodeId>(all.size()); node-- > 0;) {
      if (all[node].active) text += line_of(run, plan, {t, node});
    }
  }
  return text;
}

}  // namespace dynet_like::detail
