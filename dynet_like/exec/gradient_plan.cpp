// Links from consumers to producers; node_sums.cpp chooses how their contributions are summed.
#include "dynet_like/exec/gradient_plan.h"

#include <algorithm>

#include "dynet_like/program/recursion_op.h"

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
      const TapeState& state = run_.tapes()[t];
      GradientPlan::OfTape& plan = plan_.tapes[t];
      const Lists lists{t, *state.tape, state.nodes.data(), plan.nodes.data(), plan.edges.data()};
      for (auto node = static_cast<NodeId>(plan.nodes.size()); node-- > 0;) {
        if (lists.nodes[node].active) decide(lists, node);
      }
    }
    reserve_batches();
  }

 private:
  // The lists of a tape: what was recorded and has run, and what is planned.
  struct Lists {
    std::uint32_t number;
    const Tape& tape;
    const NodeState* states;
    NodeGradient* nodes;
    EdgeGradient* edges;
  };

  void begin();
  void seed(const ValueRef& root);
  void decide(const Lists& of, NodeId node);
  void reserve_source(const Lists& of, NodeId source);
  const TypeInputs& inputs_of_type(const Tape& tape, NodeId example);
  void link_shared(const Lists& of, NodeId consumer, std::uint32_t j, const Value& value);
  void insert_edge(const Lists& of, NodeId producer, std::uint32_t edge, bool is_plain);
  void reserve_batches();
  bool is_wanted(const Value& value) const {
    return !full_ || value.identity != 0 ? value.reaches_parameter : !value.blocks_gradient;
  }

  const RunState& run_;
  bool full_;
  GradientPlan& plan_;
  SumLists lists_;
};

void PlanMaker::begin() {
  plan_.bytes = 0;
  plan_.zeros.clear();
  plan_.ones.clear();
  plan_.places.clear();
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
    node.active = node.seeded = node.is_mixed = true;
    clear_gradient(run_, plan_, ref);
  }
  const Shape& shape = tape.shape_of(root.value);
  for (std::uint32_t item = 0; item < value.items; ++item) {
    plan_.ones.push_back({ref, value.offset + item * value.stride, shape.size, shape.dtype});
  }
}

// For a node whose consumers are all linked: chooses their sums, and links it to its inputs.
void PlanMaker::decide(const Lists& of, NodeId id) {
  NodeGradient& node = of.nodes[id];
  const NodeState& state = of.states[id];
  if (!state.has_batch()) return reserve_source(of, id);
  ++plan_.batches[state.batch].active;
  if (node.is_mixed) choose_sums(run_, plan_, {of.number, id}, lists_);
  const TypeInputs& of_type = inputs_of_type(of.tape, id);
  node.reads_shared = of_type.collects;
  const std::uint32_t first = of.tape.node(id).first_edge;
  for (std::uint32_t j = of_type.inputs; j-- > 0;) {
    if (of_type.is_collected(j)) continue;
    const Value& value = of.tape.value(of.tape.edges()[first + j]);
    EdgeGradient& edge = of.edges[first + j];
    edge = {kNone, state.batch, Arrival::written, is_wanted(value)};
    if (!edge.is_wanted) continue;
    if (value.identity != 0) {
      link_shared(of, id, j, value);
      continue;
    }
    edge.is_irregular = of_type.is_recursion || (value.items == 1 && of.tape.items_of(id) > 1);
    insert_edge(of, value.node, first + j, !edge.is_irregular && !value.is_view);
  }
}

// Sources run in no batch, so each has a place of its own.
void PlanMaker::reserve_source(const Lists& of, NodeId source) {
  const Signature& type = of.tape.type_of(source).signature;
  const std::size_t elements = type.output_size * of.tape.items_of(source);
  EdgeGradient none;
  plan_.add_place(of.nodes[source], none, {plan_.reserve(elements * size_of(type.dtype))});
  choose_sums(run_, plan_, {of.number, source}, lists_);
}

// An argument that a type contains is the same for all its nodes.
const TypeInputs& PlanMaker::inputs_of_type(const Tape& tape, NodeId example) {
  const TypeId id = tape.node(example).type;
  TypeInputs& result = plan_.types[id];
  if (result.known) return result;
  plan_.met_types.push_back(id);
  const NodeType& type = tape.type_of(example);
  result.known = true;
  result.inputs = type.inputs;
  result.is_recursion = type.op->role == Role::recursion;
  const std::span<const ValueId> inputs = tape.inputs_of(example);
  for (std::size_t j = 0; j < std::min<std::size_t>(inputs.size(), 64); ++j) {
    const Value& value = tape.value(inputs[j]);
    if (type.signature.shared[j] == 0 || value.identity == 0) continue;
    if (is_wanted(value) && type.shared_gradients[j] == SharedGradient::dense) continue;
    result.collected |= std::uint64_t{1} << j;
    result.collects |= is_wanted(value);
  }
  return result;
}

// Contributions to shared values are collected after all batches have run.
void PlanMaker::link_shared(const Lists& of, NodeId consumer, std::uint32_t j, const Value& value) {
  const NodeType& type = of.tape.type_of(consumer);
  NodeGradient& node = of.nodes[consumer];
  EdgeGradient& edge = of.edges[of.tape.node(consumer).first_edge + j];
  node.reads_shared = true;
  node.reads_unnamed |= type.signature.shared[j] == 0;
  edge.is_wanted = type.shared_gradients[j] == SharedGradient::dense;
  if (!edge.is_wanted) return;
  const Shape& shape = of.tape.types().shape(value.shape);
  const std::uint32_t slots = type.op->is_open(j) ? 1 : of.tape.items_of(consumer);
  const std::size_t elements = std::size_t{slots} * shape.size;
  NodeGradient none;
  plan_.add_place(none, edge,
                  {.at = plan_.reserve(elements * size_of(shape.dtype)),
                   .arrival = Arrival::slot,
                   .copies = slots,
                   .elements = shape.size});
}

// Consumers are inserted from the last to the first, and batches run backward from the last to the
// first. So most contributions to whole nodes come in order, which costs a store. Of two, either
// may come first, since a + b = b + a.
void PlanMaker::insert_edge(const Lists& of, NodeId producer, std::uint32_t index, bool is_plain) {
  NodeGradient& node = of.nodes[producer];
  const std::uint32_t batch = of.edges[index].batch;
  node.active = true;
  (node.first_consumer == kNone ? node.first_consumer : of.edges[node.last_consumer].link) = index;
  node.last_consumer = index;
  node.is_mixed |= !is_plain || batch == node.last_batch;
  if (node.is_mixed) return;
  std::uint32_t last = batch;
  if (node.ordered > 0 && batch < node.last_batch) {
    of.edges[index].arrival = Arrival::added;
  } else if (node.ordered == 1) {
    of.edges[node.first_consumer].arrival = Arrival::added;
    last = 0;  // so that a third one is not in order
  } else if (node.ordered > 1) {
    node.is_mixed = true;
  }
  node.last_batch = last;
  node.ordered = static_cast<std::uint8_t>(std::min(node.ordered + 1, 2));
}

// Gradients have the same layout as values.
void PlanMaker::reserve_batches() {
  plan_.stretches.clear();
  for (std::size_t b = 0; b < plan_.batches.size(); ++b) {
    GradientPlan::OfBatch& of_batch = plan_.batches[b];
    if (of_batch.active == 0) continue;
    const Batch& batch = run_.batches[b];
    GradientPlan::Stretch* last = plan_.stretches.empty() ? nullptr : &plan_.stretches.back();
    if (last == nullptr || last->values + last->bytes != batch.out) {
      last = &plan_.stretches.emplace_back();
      *last = {batch.out, 0, plan_.bytes};
    }
    of_batch.gradients = plan_.reserve(batch.out_bytes);
    last->bytes = plan_.bytes - last->gradients;
  }
  std::ranges::sort(plan_.stretches, {}, &GradientPlan::Stretch::values);
  for (std::size_t b = 0; b < plan_.batches.size(); ++b) {
    const Batch& batch = run_.batches[b];
    if (plan_.batches[b].active == 0 || batch.deferred_stride() == 0) continue;
    plan_.batches[b].deferred = plan_.reserve(batch.items * batch.deferred_stride());
  }
}

}  // namespace

void make_gradient_plan(const RunState& run, std::span<const ValueRef> roots, bool full,
                        GradientPlan& plan) {
  PlanMaker(run, full, plan).make(roots);
}

void clear_gradient(const RunState& run, GradientPlan& plan, NodeRef ref) {
  const Signature& type = run.tape(ref).type_of(ref.node).signature;
  plan.zeros.push_back({ref, 0, type.output_size * run.items_of(ref), type.dtype});
}

NodeId consumer_of(const Tape& tape, std::uint32_t edge) {
  const auto behind = std::ranges::upper_bound(tape.nodes(), edge, {}, &Node::first_edge);
  return static_cast<NodeId>(behind - tape.nodes().begin() - 1);
}

std::byte* PassGradients::of(const RunState& run, NodeRef ref) const {
  const NodeState& state = run.state(ref);
  if (!state.has_batch()) return at(plan.places[plan.node(ref).first_place].at);
  const auto offset = static_cast<std::size_t>(state.value - run.batches[state.batch].out);
  return at(plan.batches[state.batch].gradients) + offset;
}

std::byte* PassGradients::place_of(const RunState& run, std::uint32_t tape,
                                   const EdgeGradient& edge, const Value& value) const {
  if (edge.has_place && plan.places[edge.link].at != kNowhere) {
    return at(plan.places[edge.link].at);
  }
  const DType dtype = run.types().shape(value.shape).dtype;
  return of(run, {tape, value.node}) + value.offset * size_of(dtype);
}

}  // namespace dynet_like::detail
