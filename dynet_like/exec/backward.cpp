// Going through the batches of a lane in reverse, and collecting what shared values get.
#include "dynet_like/exec/backward.h"

#include <algorithm>

#include "dynet_like/exec/checks.h"
#include "dynet_like/exec/recursion_op.h"
#include "dynet_like/exec/recursion_run.h"

namespace dynet_like::detail {

void Backward::run(std::span<const ValueRef> roots, bool full,
                   std::span<const std::uint32_t> part_ends) {
  const bool by_node = run_.options.verify_batching || run_.options.detect_anomaly;
  run_pass(roots, full, !by_node, part_ends);
  if (run_.options.verify_batching && !run_.cells.batches.empty()) {
    verify_cells(roots, full, part_ends);
  }
}

void Backward::verify_cells(std::span<const ValueRef> roots, bool full,
                            std::span<const std::uint32_t> part_ends) {
  if (in_cells_ == nullptr) in_cells_ = std::make_unique<Backward>(run_);
  in_cells_->run_pass(roots, full, true, part_ends);
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    const std::size_t nodes = run_.tapes[t].nodes.size();
    for (NodeId node = 0; node < nodes; ++node) {
      const std::byte* const gradient = gradient_of({t, node});
      if (gradient == nullptr) continue;
      verify_gradient(run_, {t, node}, in_cells_->gradient_of({t, node}), gradient);
    }
  }
  verify_contributions(run_.common, in_cells_->contributions(), contributions());
}

void Backward::run_pass(std::span<const ValueRef> roots, bool full, bool whole_cells,
                        std::span<const std::uint32_t> part_ends) {
  was_run_ = false;
  begin_pass(roots, full, whole_cells);
  for (auto b = static_cast<std::uint32_t>(run_.batches.size()); b-- > 0;) {
    if (is_last_of_cells(b)) {
      const std::uint32_t cells = run_.batches[b].cells;
      const std::span<const std::uint32_t> whole = cells_.run(cells);
      if (!whole.empty()) of_cells_.list(cells, whole);
    }
    if (pass_.gradients_of(b) != nullptr && has_single_nodes(b)) run_batch(b);
  }
  const TimelineScope scope(run_.track(), TimelineSpan::collect);
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    while (pass_.contributions.parts() < part_ends.size() &&
           part_ends[pass_.contributions.parts()] <= t) {
      pass_.contributions.end_part();
    }
    if (full) sum_slots_of_sources(t);
    for (const Value& root : pass_.plan.nodes.shared_roots(t)) {
      const Shape& shape = run_.types().shape(root.shape);
      pass_.contributions.seed(run_.identity_of({t, root.node}), root,
                               run_.queue->ones(shape.dtype, shape.size));
    }
    contribute_to_shared(t);
  }
  while (pass_.contributions.parts() < part_ends.size()) pass_.contributions.end_part();
  was_run_ = true;
}

void Backward::begin_pass(std::span<const ValueRef> roots, bool full, bool whole_cells) {
  const TimelineScope scope(run_.track(), TimelineSpan::plan_gradients);
  pass_.begin(roots, full, whole_cells);
  of_cells_.begin();
  run_.gradient_bytes = pass_.plan.nodes.bytes();
  run_.note_held(true);
}

bool Backward::is_last_of_cells(std::uint32_t b) const {
  const std::uint32_t cells = run_.batches[b].cells;
  if (cells == kNone) return false;
  const CellBatch& batch = run_.cells.batches[cells];
  return b + 1 == batch.first_batch + run_.common.dictionary[batch.type].steps.size();
}

bool Backward::has_single_nodes(std::uint32_t b) const {
  const std::uint32_t cells = run_.batches[b].cells;
  return cells == kNone || pass_.plan.cells.of_batch(cells).has_single_nodes;
}

void Backward::run_batch(std::uint32_t index) {
  const Batch& batch = run_.batches[index];
  if (batch.shared) return;
  find_members(batch);
  const NodeType& type = run_.types()[batch.type];
  if (type.inputs == 0 || pass_.members.empty()) return;
  if (RecursionRun* const recursion = run_.recursions.find(index)) {
    TimelineScope scope(run_.track(), TimelineSpan::recursion_backward);
    scope.count(batch.members);
    return recursion->backward(pass_, run_.members_of(batch));
  }
  pass_.lists.reset();
  const TypeInputs& of_type = pass_.plan.nodes.inputs_of_type(pass_.members[0]);
  auto* dx = pass_.lists.allocate_array<Destination>(type.inputs);
  std::fill_n(dx, type.inputs, Destination());
  for (unsigned j = 0; j < type.inputs; ++j) {
    if (!of_type.is_collected(j)) dx[j] = destination(j);
  }
  pass_.call_kernel(index, dx);
}

// The members that take part, with complete gradients.
void Backward::find_members(const Batch& batch) {
  pass_.members.clear();
  pass_.positions.clear();
  member_edges_.clear();
  std::uint32_t position = 0;
  for (NodeRef ref : run_.members_of(batch)) {
    if (ref.node == kNone) {  // reverted; only its batch still knows of it
      position += ref.tape;
      continue;
    }
    const std::uint32_t items = batch.items == batch.members ? 1 : run_.items_of(ref);
    const NodeGradient& node = pass_.plan.nodes.at(ref);
    if (node.active && node.cell == kNone) {
      pass_.members.push_back(ref);
      const EdgeGradient* const edges =
          pass_.plan.nodes.edges(ref.tape) + run_.tape(ref).node(ref.node).first_edge;
      __builtin_prefetch(edges);  // they lie anywhere
      member_edges_.push_back(edges);
      for (std::uint32_t item = 0; item < items; ++item) {
        pass_.positions.push_back(position + item);
      }
      if (node.has_slots) pass_.sum_slots(ref);
      if (run_.options.detect_anomaly) check_gradient(run_, ref, pass_.at(node.place));
    }
    position += items;
  }
}

// Where the contributions through input j go; nowhere if no member wants them from the kernel.
Destination Backward::destination(unsigned j) {
  const auto is_wanted = [&](const EdgeGradient* edges) { return edges[j].place != kNowhere; };
  if (std::none_of(member_edges_.begin(), member_edges_.end(), is_wanted)) return {};
  const std::size_t items = pass_.positions.size();
  const bool single = items == pass_.members.size();
  auto** places = pass_.lists.allocate_array<void*>(items);
  auto* add = pass_.lists.allocate_array<std::uint8_t>(items);
  std::size_t i = 0;
  for (std::size_t m = 0; m < pass_.members.size(); ++m) {
    const EdgeGradient& edge = member_edges_[m][j];
    const std::uint32_t count = single ? 1 : run_.items_of(pass_.members[m]);
    const std::size_t stride = count > 1 ? stride_of(pass_.members[m], j) : 0;
    std::byte* const first = pass_.at(edge.place);
    for (std::uint32_t item = 0; item < count; ++item, ++i) {
      places[i] = first == nullptr ? nullptr : first + item * stride;
      add[i] = edge.contribution == Contribution::added;
    }
  }
  return {places, add};
}

// Bytes from the contribution of an item through input j to that of the next; 0 if there is one
// for all items.
std::size_t Backward::stride_of(NodeRef consumer, unsigned j) const {
  const Tape& tape = run_.tape(consumer);
  const std::uint32_t edge = tape.node(consumer.node).first_edge + j;
  const Value& value = tape.value(tape.edges()[edge]);
  if (pass_.plan.nodes.is_open(consumer, edge)) return 0;
  const Shape& shape = tape.types().shape(value.shape);
  const EdgeGradient& gradient = pass_.plan.nodes.edges(consumer.tape)[edge];
  const bool in_place = value.identity == 0 && gradient.contribution <= Contribution::added;
  return (in_place ? value.stride : shape.size) * size_of(shape.dtype);
}

// Sources have no batch in which their slots could have been summed.
void Backward::sum_slots_of_sources(std::uint32_t tape) {
  const std::span<const NodeGradient> nodes = std::as_const(pass_.plan.nodes).nodes(tape);
  for (NodeId node = 0; node < nodes.size(); ++node) {
    const bool is_source = run_.tapes[tape].nodes[node].batch == kNone;
    if (is_source && nodes[node].active && nodes[node].has_slots) pass_.sum_slots({tape, node});
  }
}

// In recording order.
void Backward::contribute_to_shared(std::uint32_t tape) {
  const std::span<const NodeGradient> nodes = std::as_const(pass_.plan.nodes).nodes(tape);
  for (NodeId node = 0; node < nodes.size(); ++node) {
    const std::uint32_t cell = nodes[node].cell;
    if (cell != kNone) {
      const std::uint8_t member = nodes[node].member;
      const bool in_turn = member == 0 || run_.cells.all[cell].others_between;
      const bool is_whole = pass_.plan.cells.use(cell) == CellGradients::Use::whole;
      if (in_turn && is_whole) of_cells_.contribute(cell, member);
    } else if (nodes[node].reads_shared) {
      const NodeRef ref{tape, node};
      if (run_.tape(ref).type_of(node).op->role == Role::recursion) {
        contribute_recursion(ref);
        continue;
      }
      const bool by_type = !nodes[node].reads_unnamed && run_.items_of(ref) == 1;
      const bool is_done =
          by_type && pass_.contributions.contribute_by_type(ref, pass_.contribution_of(ref));
      if (!is_done) pass_.contribute(ref);
    }
  }
}

// What it reads may follow from parameters alone: that has a slot as other nodes' inputs do.
void Backward::contribute_recursion(NodeRef ref) {
  run_.recursions.find(run_.state(ref).batch)->contribute(ref, pass_.contributions);
  const Signature& type = run_.tape(ref).type_of(ref.node).signature;
  for (std::uint32_t j = 0; j < recursion_of(type).column_sizes.size(); ++j) {
    pass_.contribute(ref, j);
  }
}

const std::byte* Backward::gradient_of(NodeRef ref) const {
  if (!was_run_) return nullptr;
  const std::span<const NodeGradient> nodes = pass_.plan.nodes.nodes(ref.tape);
  if (ref.node >= nodes.size()) return nullptr;
  const NodeGradient& node = nodes[ref.node];
  if (node.cell == kNone && !node.active) return nullptr;
  if (RecursionRun* const recursion = run_.recursions.find(run_.state(ref).batch)) {
    recursion->complete_gradients();
  }
  if (node.cell == kNone) return pass_.at(node.place);
  const bool is_whole = pass_.plan.cells.use(node.cell) == CellGradients::Use::whole;
  return is_whole ? pass_.gradient_of(ref) : nullptr;
}

}  // namespace dynet_like::detail
