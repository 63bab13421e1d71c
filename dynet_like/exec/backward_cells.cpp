// Which cells run backward as a whole, and how the gradients of their members are summed.
#include "dynet_like/exec/backward.h"

#include <algorithm>
#include <bit>

namespace dynet_like::detail {

namespace {

using From = CellInput::From;

constexpr std::size_t kMostParts = 8;  // bits of NodeGradient::begun_parts

// Elements of its node that a value of one item covers.
bool overlap(const Tape& tape, const Value& a, const Value& b) {
  return a.node == b.node && a.offset < b.offset + tape.types().shape(b.shape).size &&
         b.offset < a.offset + tape.types().shape(a.shape).size;
}

}  // namespace

// Modes that check every node want them one by one.
void Backward::enter_cells() {
  cell_uses_.assign(run_.cells.all.size(), CellUse::none);
  read_outside_.assign(run_.cells.all.size(), 0);
  read_shared_.assign(run_.cells.all.size(), 0);
  cell_facts_.assign(run_.common.dictionary.size(), {});
  const bool by_node = run_.options.verify_batching || run_.options.detect_anomaly;
  cell_batches_.assign(run_.cells.batches.size(), {});
  for (BatchOfCells& batch : cell_batches_) batch.has_single_nodes = by_node;
  if (by_node) return;
  for (std::uint32_t c = 0; c < run_.cells.all.size(); ++c) {
    const Cell& cell = run_.cells.all[c];
    if (cell.batch == kNone) continue;
    NodeGradient* const nodes = tapes_[cell.tape].nodes.data();
    std::uint8_t member = 0;
    for (NodeId node : run_.cells.nodes_of(cell)) {
      nodes[node].cell = c;
      nodes[node].member = member++;
    }
  }
}

// All that reads the members from outside is linked.
void Backward::mark_cell(std::uint32_t index) {
  const Cell& cell = run_.cells.all[index];
  const std::uint64_t read = read_outside_[index];
  if (read == 0) return;
  const CellReason reason = why_by_node(cell, read);
  if (reason == CellReason::none) {
    cell_uses_[index] = CellUse::whole;
    ++run_.counts.cell(cell.type).whole;
    const CellType& type = run_.common.dictionary[cell.type];
    make_gradients(cell);
    for (std::uint64_t left = read | facts_of(cell).not_covered; left != 0; left &= left - 1) {
      place_member(cell, static_cast<std::uint16_t>(std::countr_zero(left)));
    }
    for (std::size_t p = type.ports.size(); p-- > 0;) {
      link_port(index, static_cast<std::uint16_t>(p));
    }
    return;
  }
  cell_uses_[index] = CellUse::by_node;
  ++run_.counts.cell(cell.type).by_node;
  run_.counts.count_reason(cell.type, reason);
  cell_batches_[cell.batch].has_single_nodes = true;
  std::vector<NodeGradient>& gradients = tapes_[cell.tape].nodes;
  const std::span<const NodeId> nodes = run_.cells.nodes_of(cell);
  for (std::size_t m = nodes.size(); m-- > 0;) {
    gradients[nodes[m]].cell = kNone;
    // Members before the place where the cell stands still have their turns.
    const bool is_due = nodes[m] >= cell.entered_at;
    if (is_due && gradients[nodes[m]].active) mark_node({cell.tape, nodes[m]});
  }
}

void Backward::make_gradients(const Cell& cell) {
  BatchOfCells& known = cell_batches_[cell.batch];
  if (known.has_gradients) return;
  known.has_gradients = true;
  const CellBatch& batch = run_.cells.batches[cell.batch];
  for (std::uint32_t s = 0; s < run_.common.dictionary[cell.type].steps.size(); ++s) {
    make_gradient_of_batch(batch.first_batch + s);
  }
}

// None if it runs as a whole.
CellReason Backward::why_by_node(const Cell& cell, std::uint64_t read_outside) {
  const CellFacts& facts = facts_of(cell);
  if (!facts.runs_whole) {
    return arguments_are_collected(cell) ? CellReason::order : CellReason::parameter;
  }
  if ((facts.must_be_read & ~read_outside) != 0) return CellReason::unread;
  CellReason reason = why_not_ports(cell);
  if (reason != CellReason::none) return reason;
  const Tape& tape = *run_.tapes[cell.tape].tape;
  for (std::uint64_t left = facts.may_not_reach; left != 0; left &= left - 1) {
    const NodeRef ref = member_of(cell, static_cast<std::uint16_t>(std::countr_zero(left)));
    if (!is_wanted(tape.value(tape.node(ref.node).value))) return CellReason::constant;
  }
  for (std::uint64_t left = read_outside; left != 0; left &= left - 1) {
    reason = why_not_member(cell, static_cast<std::uint16_t>(std::countr_zero(left)));
    if (reason != CellReason::none) return reason;
  }
  return CellReason::none;
}

// What the type of a cell says; arguments that it names are the same for all its cells.
Backward::CellFacts& Backward::facts_of(const Cell& example) {
  CellFacts& facts = cell_facts_[example.type];
  if (facts.known) return facts;
  facts.known = true;
  const CellType& type = run_.common.dictionary[example.type];
  facts.runs_whole = !type.parts_overlap && arguments_are_collected(example);
  facts.ports.resize(type.ports.size());
  std::uint64_t reaches = 0;
  for (std::uint16_t m = 0; m < type.pattern.size(); ++m) {
    const std::uint64_t bit = std::uint64_t{1} << m;
    const CellMember& member = type.members[m];
    facts.runs_whole = facts.runs_whole && member.parts.size() <= kMostParts;
    if (inputs_of_type(member_of(example, m)).collects) reaches |= bit;
    describe_ports(example, m, facts);
    describe_contributions(example, m, facts);
    for (const CellInput& input : type.pattern.inputs_of(m)) {
      const bool from_member = input.from == From::member && !input.blocks_gradient;
      if (from_member && (reaches >> input.index & 1) != 0) reaches |= bit;
    }
    if ((reaches & bit) == 0) facts.may_not_reach |= bit;
    if (member.parts.empty()) facts.must_be_read |= bit;
    if (!member.parts.empty() && !member.is_covered) facts.not_covered |= bit;
  }
  join_contributions(type, facts);
  return facts;
}

bool Backward::arguments_are_collected(const Cell& example) {
  const CellPattern& pattern = run_.common.dictionary[example.type].pattern;
  for (std::uint16_t m = 0; m < pattern.size(); ++m) {
    const TypeInputs& of_type = inputs_of_type(member_of(example, m));
    const std::span<const CellInput> inputs = pattern.inputs_of(m);
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      if (inputs[j].from == From::argument && !of_type.is_collected(j)) return false;
    }
  }
  return true;
}

// Gradients of ports are summed with those of others in between. Those of shared values are
// collected, one by one.
CellReason Backward::why_not_ports(const Cell& cell) const {
  const CellType& type = run_.common.dictionary[cell.type];
  const Tape& tape = *run_.tapes[cell.tape].tape;
  const std::span<const ValueId> ports = run_.cells.ports_of(cell);
  for (std::size_t p = 0; p < ports.size(); ++p) {
    const Value& value = tape.value(ports[p]);
    if (!is_wanted(value) || value.identity != 0) continue;
    if (cell.others_between && type.ports[p].readers > 1) return CellReason::order;
    for (std::size_t q = 0; q < p; ++q) {
      if (overlap(tape, value, tape.value(ports[q]))) return CellReason::order;
    }
  }
  return CellReason::none;
}

// What others contribute to a member must come behind what the cell's own members do.
CellReason Backward::why_not_member(const Cell& cell, std::uint16_t m) {
  const CellMember& member = run_.common.dictionary[cell.type].members[m];
  if (member.parts.empty()) return CellReason::none;
  const NodeRef ref = member_of(cell, m);
  const NodeGradient& gradient = tapes_[ref.tape].nodes[ref.node];
  if (gradient.seeded) return CellReason::loss;
  const NodeRef reader = member_of(cell, member.last_reader);
  if (gradient.first_consumer < run_.tape(ref).node(reader.node).first_edge) {
    return CellReason::order;
  }
  if (has_one_reader_each(member, ref, gradient)) return CellReason::none;
  begin_groups(cell, m);
  return group_contributions(ref) ? CellReason::none : CellReason::order;
}

// Whether one member and one other node read all of it, once each. Either may come first.
bool Backward::has_one_reader_each(const CellMember& member, NodeRef ref,
                                   const NodeGradient& node) const {
  const bool one_inside =
      member.is_covered && member.parts.size() == 1 && member.parts[0].readers == 1;
  return one_inside && has_one_reader(ref, node) &&
         tapes_[ref.tape].edges[node.first_consumer].copies == 1;
}

void Backward::begin_groups(const Cell& cell, std::uint16_t m) {
  groups_.clear();
  for (const CellPart& part : run_.common.dictionary[cell.type].members[m].parts) {
    Group group;
    group.begin = part.begin;
    group.end = part.end;
    group.readers = part.readers;
    groups_.push_back(group);
  }
}

void Backward::place_member(const Cell& cell, std::uint16_t m) {
  const NodeRef ref = member_of(cell, m);
  NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  if (node.gradient == nullptr) node.gradient = gradient_block(ref);
  const CellMember& member = run_.common.dictionary[cell.type].members[m];
  if (member.parts.empty()) {
    choose_contributions(ref);
  } else if (node.first_consumer != kNone && has_one_reader_each(member, ref, node)) {
    EdgeGradient& edge = tapes_[ref.tape].edges[node.first_consumer];
    edge.place = node.gradient;
    edge.contribution = Contribution::written;
    node.begun_parts = 1;
  } else {
    begin_groups(cell, m);
    group_contributions(ref);
    place_in_groups(ref);
  }
  BatchOfCells& batch = cell_batches_[cell.batch];
  const std::uint64_t bit = std::uint64_t{1} << m;
  if (node.has_slots) batch.summed |= bit;
  if (node.begun_parts != 0) batch.begun |= bit;
}

// Others contribute to a part that members read as well, which comes first in the order of
// recording but runs last. One of each may change places.
void Backward::place_behind_readers(NodeRef ref, std::uint32_t edge_index) {
  const EdgeGradient& edge = tapes_[ref.tape].edges[edge_index];
  Group& group = groups_[edge.group];
  if (group.readers == 1 && group.copies == 1 && edge.in_order) {
    tapes_[ref.tape].nodes[ref.node].begun_parts |= static_cast<std::uint8_t>(1u << edge.group);
    return place_in_node(ref, edge_index, false);
  }
  place_in_slots(ref, edge_index, Contribution::added_slot);
}

void Backward::link_port(std::uint32_t index, std::uint16_t p) {
  const Cell& cell = run_.cells.all[index];
  const CellPort& port = run_.common.dictionary[cell.type].ports[p];
  const std::uint32_t edge_index = edge_of(cell, port.member, port.input);
  const Value& value = run_.tapes[cell.tape].tape->value(run_.cells.ports_of(cell)[p]);
  EdgeGradient& edge = tapes_[cell.tape].edges[edge_index];
  edge.place = nullptr;
  if (!is_wanted(value)) return;
  if (value.identity != 0) return collect_port(index, p);
  edge.copies = port.readers;
  edge.in_order = true;
  edge.batch = run_.cells.batches[cell.batch].first_batch;
  insert_edge({cell.tape, value.node}, edge_index);
}

// A slot for each of its readers, if any of them leaves it to the kernel what it contributes.
void Backward::collect_port(std::uint32_t index, std::uint16_t p) {
  const Cell& cell = run_.cells.all[index];
  const CellType& type = run_.common.dictionary[cell.type];
  const CellFacts::Port& port = facts_of(cell).ports[p];
  const std::uint32_t edge_index = edge_of(cell, type.ports[p].member, type.ports[p].input);
  EdgeGradient* const edges = tapes_[cell.tape].edges.data();
  read_shared_[index] |= port.readers;
  edges[edge_index].contribution = Contribution::collected;
  if (!port.is_dense) return;
  const Tape& tape = *run_.tapes[cell.tape].tape;
  const Shape& shape = tape.shape_of(tape.edges()[edge_index]);
  const std::size_t bytes = shape.size * size_of(shape.dtype);
  auto* slot = gradients_.allocate_array<std::byte>(type.ports[p].readers * bytes);
  for (std::uint64_t left = port.readers; left != 0; left &= left - 1) {
    const auto m = static_cast<std::uint16_t>(std::countr_zero(left));
    const std::span<const CellInput> inputs = type.pattern.inputs_of(m);
    for (std::uint16_t j = 0; j < inputs.size(); ++j) {
      if (inputs[j].from != From::port || inputs[j].index != p) continue;
      edges[edge_of(cell, m, j)].place = slot;
      slot += bytes;
    }
  }
}

void Backward::describe_ports(const Cell& example, std::uint16_t m, CellFacts& facts) {
  const CellPattern& pattern = run_.common.dictionary[example.type].pattern;
  const NodeType& type = run_.types()[pattern.members[m]];
  const std::span<const CellInput> inputs = pattern.inputs_of(m);
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    if (inputs[j].from != From::port) continue;
    CellFacts::Port& port = facts.ports[inputs[j].index];
    port.readers |= std::uint64_t{1} << m;
    port.is_dense |= type.shared_gradients[j] == SharedGradient::dense;
  }
}

// Input by input, those of ports between those that the type names.
void Backward::describe_contributions(const Cell& example, std::uint16_t m, CellFacts& facts) {
  const CellType& type = run_.common.dictionary[example.type];
  const Signature& signature = run_.types()[type.pattern.members[m]].signature;
  CellContribution contribution;
  contribution.member = m;
  contribution.step = type.members[m].step;
  contribution.place = type.members[m].place;
  contribution.is_deferred = signature.deferred_size > 0;
  contribution.integers = signature.integers;
  contribution.deferred_bytes = signature.deferred_size * size_of(signature.dtype);
  const SharedContributions::TypeContributions& of_type = shared_.of_type(member_of(example, m));
  contribution.is_complete = of_type.complete;
  if (!of_type.complete) return facts.contributions.push_back(contribution);
  auto next = of_type.all.begin();
  const std::span<const CellInput> inputs = type.pattern.inputs_of(m);
  for (std::uint32_t j = 0; j < inputs.size(); ++j) {
    contribution.of_port = inputs[j].from == From::port;
    if (contribution.of_port) {
      contribution.what.input = j;
    } else if (next != of_type.all.end() && next->input == j) {
      contribution.what = *next++;
    } else {
      continue;
    }
    facts.contributions.push_back(contribution);
  }
}

}  // namespace dynet_like::detail
