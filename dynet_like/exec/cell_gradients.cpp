// Why a cell runs as a whole or node by node, and where the gradients of its members lie.
#include "dynet_like/exec/cell_gradients.h"

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

std::uint16_t lowest(std::uint64_t bits) {
  return static_cast<std::uint16_t>(std::countr_zero(bits));
}

}  // namespace

void CellGradients::begin(bool whole) {
  const std::size_t cells = run_.cells.all.size();
  uses_.assign(cells, Use::none);
  read_shared_.assign(cells, 0);
  nodes_.read_outside.assign(cells, 0);
  facts_.assign(run_.common.dictionary.size(), {});
  batches_.assign(run_.cells.batches.size(), {});
  for (OfBatch& batch : batches_) batch.has_single_nodes = !whole;
  if (!whole) return;
  for (std::uint32_t c = 0; c < cells; ++c) {
    const Cell& cell = run_.cells.all[c];
    if (cell.batch == kNone) continue;
    NodeGradient* const nodes = nodes_.nodes(cell.tape).data();
    std::uint8_t member = 0;
    for (NodeId node : run_.cells.nodes_of(cell)) {
      nodes[node].cell = c;
      nodes[node].member = member++;
    }
  }
}

void CellGradients::decide(std::uint32_t index) {
  const std::uint64_t read = nodes_.read_outside[index];
  if (read == 0) return;
  const CellReason reason = why_by_node(run_.cells.all[index], read);
  reason == CellReason::none ? run_whole(index, read) : run_by_node(index, reason);
}

void CellGradients::run_whole(std::uint32_t index, std::uint64_t read_outside) {
  const Cell& cell = run_.cells.all[index];
  uses_[index] = Use::whole;
  ++run_.counts.cell(cell.type).whole;
  reserve(cell);
  for (std::uint64_t left = read_outside | facts_of(cell).not_covered; left != 0;
       left &= left - 1) {
    place_member(cell, lowest(left));
  }
  for (std::size_t p = type_of(cell).ports.size(); p-- > 0;) {
    link_port(index, static_cast<std::uint16_t>(p));
  }
}

void CellGradients::run_by_node(std::uint32_t index, CellReason reason) {
  const Cell& cell = run_.cells.all[index];
  uses_[index] = Use::by_node;
  ++run_.counts.cell(cell.type).by_node;
  run_.counts.count_reason(cell.type, reason);
  batches_[cell.batch].has_single_nodes = true;
  std::vector<NodeGradient>& gradients = nodes_.nodes(cell.tape);
  const std::span<const NodeId> members = run_.cells.nodes_of(cell);
  for (std::size_t m = members.size(); m-- > 0;) {
    gradients[members[m]].cell = kNone;
    // Members before the place where the cell stands still have their turns.
    const bool is_due = members[m] >= cell.entered_at;
    if (is_due && gradients[members[m]].active) nodes_.decide({cell.tape, members[m]});
  }
}

void CellGradients::reserve(const Cell& cell) {
  OfBatch& known = batches_[cell.batch];
  if (known.has_gradients) return;
  known.has_gradients = true;
  const std::uint32_t first = run_.cells.batches[cell.batch].first_batch;
  for (std::uint32_t s = 0; s < type_of(cell).steps.size(); ++s) nodes_.reserve_batch(first + s);
}

// None if it runs as a whole.
CellReason CellGradients::why_by_node(const Cell& cell, std::uint64_t read_outside) {
  const Facts& facts = facts_of(cell);
  if (!facts.runs_whole) {
    return arguments_are_collected(cell) ? CellReason::order : CellReason::parameter;
  }
  if ((facts.must_be_read & ~read_outside) != 0) return CellReason::unread;
  CellReason reason = why_not_ports(cell);
  if (reason != CellReason::none) return reason;
  const Tape& tape = *run_.tapes[cell.tape].tape;
  for (std::uint64_t left = facts.may_not_reach; left != 0; left &= left - 1) {
    const NodeRef ref = member_of(cell, lowest(left));
    if (!nodes_.is_wanted(tape.value(tape.node(ref.node).value))) return CellReason::constant;
  }
  for (std::uint64_t left = read_outside; left != 0; left &= left - 1) {
    reason = why_not_member(cell, lowest(left));
    if (reason != CellReason::none) return reason;
  }
  return CellReason::none;
}

// What the type of a cell says; arguments that it names are the same for all its cells.
const CellGradients::Facts& CellGradients::facts_of(const Cell& example) {
  Facts& facts = facts_[example.type];
  if (facts.known) return facts;
  facts.known = true;
  const CellType& type = type_of(example);
  facts.runs_whole = !type.parts_overlap && arguments_are_collected(example);
  facts.ports.resize(type.ports.size());
  std::uint64_t reaches = 0;
  for (std::uint16_t m = 0; m < type.pattern.size(); ++m) {
    const std::uint64_t bit = std::uint64_t{1} << m;
    const CellMember& member = type.members[m];
    facts.runs_whole = facts.runs_whole && member.parts.size() <= kMostParts;
    if (nodes_.inputs_of_type(member_of(example, m)).collects) reaches |= bit;
    describe_ports(example, m, facts);
    for (const CellInput& input : type.pattern.inputs_of(m)) {
      const bool from_member = input.from == From::member && !input.blocks_gradient;
      if (from_member && (reaches >> input.index & 1) != 0) reaches |= bit;
    }
    if ((reaches & bit) == 0) facts.may_not_reach |= bit;
    if (member.parts.empty()) facts.must_be_read |= bit;
    if (!member.parts.empty() && !member.is_covered) facts.not_covered |= bit;
  }
  return facts;
}

void CellGradients::describe_ports(const Cell& example, std::uint16_t m, Facts& facts) const {
  const CellPattern& pattern = type_of(example).pattern;
  const NodeType& type = run_.types()[pattern.members[m]];
  const std::span<const CellInput> inputs = pattern.inputs_of(m);
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    if (inputs[j].from != From::port) continue;
    Facts::Port& port = facts.ports[inputs[j].index];
    port.readers |= std::uint64_t{1} << m;
    port.is_dense |= type.shared_gradients[j] == SharedGradient::dense;
  }
}

bool CellGradients::arguments_are_collected(const Cell& example) {
  const CellPattern& pattern = type_of(example).pattern;
  for (std::uint16_t m = 0; m < pattern.size(); ++m) {
    const TypeInputs& of_type = nodes_.inputs_of_type(member_of(example, m));
    const std::span<const CellInput> inputs = pattern.inputs_of(m);
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      if (inputs[j].from == From::argument && !of_type.is_collected(j)) return false;
    }
  }
  return true;
}

// Gradients of ports are summed with those of others in between. Those of shared values are
// collected, one by one.
CellReason CellGradients::why_not_ports(const Cell& cell) const {
  const CellType& type = type_of(cell);
  const Tape& tape = *run_.tapes[cell.tape].tape;
  const std::span<const ValueId> ports = run_.cells.ports_of(cell);
  for (std::size_t p = 0; p < ports.size(); ++p) {
    const Value& value = tape.value(ports[p]);
    if (!nodes_.is_wanted(value) || value.identity != 0) continue;
    if (cell.others_between && type.ports[p].readers > 1) return CellReason::order;
    for (std::size_t q = 0; q < p; ++q) {
      if (overlap(tape, value, tape.value(ports[q]))) return CellReason::order;
    }
  }
  return CellReason::none;
}

// What others contribute to a member must come behind what the cell's own members do.
CellReason CellGradients::why_not_member(const Cell& cell, std::uint16_t m) {
  const CellMember& member = type_of(cell).members[m];
  if (member.parts.empty()) return CellReason::none;
  const NodeRef ref = member_of(cell, m);
  const NodeGradient& gradient = nodes_.at(ref);
  if (gradient.seeded) return CellReason::loss;
  const NodeRef reader = member_of(cell, member.last_reader);
  if (gradient.first_consumer < run_.tape(ref).node(reader.node).first_edge) {
    return CellReason::order;
  }
  if (has_one_reader_each(member, ref, gradient)) return CellReason::none;
  enter_parts(member);
  return nodes_.group_contributions(ref) ? CellReason::none : CellReason::order;
}

// Whether one member and one other node read all of it, once each. Either may come first.
bool CellGradients::has_one_reader_each(const CellMember& member, NodeRef ref,
                                        const NodeGradient& node) const {
  const bool one_inside =
      member.is_covered && member.parts.size() == 1 && member.parts[0].readers == 1;
  return one_inside && nodes_.has_one_reader(ref, node) &&
         nodes_.edges(ref.tape)[node.first_consumer].copies == 1;
}

void CellGradients::enter_parts(const CellMember& member) {
  std::vector<NodeGradients::Group>& groups = nodes_.begin_groups();
  for (const CellPart& part : member.parts) {
    groups.push_back({part.begin, part.end, part.readers});
  }
}

void CellGradients::place_member(const Cell& cell, std::uint16_t m) {
  const NodeRef ref = member_of(cell, m);
  NodeGradient& node = nodes_.at(ref);
  nodes_.give_place(ref);
  const CellMember& member = type_of(cell).members[m];
  if (member.parts.empty()) {
    nodes_.choose_contributions(ref);
  } else if (node.first_consumer != kNone && has_one_reader_each(member, ref, node)) {
    EdgeGradient& edge = nodes_.edges(ref.tape)[node.first_consumer];
    edge.place = node.place;
    edge.contribution = Contribution::written;
    node.begun_parts = 1;
  } else {
    enter_parts(member);
    nodes_.group_contributions(ref);
    nodes_.place_in_groups(ref);
  }
  OfBatch& batch = batches_[cell.batch];
  const std::uint64_t bit = std::uint64_t{1} << m;
  if (node.has_slots) batch.summed |= bit;
  if (node.begun_parts != 0) batch.begun |= bit;
}

void CellGradients::link_port(std::uint32_t index, std::uint16_t p) {
  const Cell& cell = run_.cells.all[index];
  const CellPort& port = type_of(cell).ports[p];
  const std::uint32_t edge_index = edge_of(cell, port.member, port.input);
  const Value& value = run_.tapes[cell.tape].tape->value(run_.cells.ports_of(cell)[p]);
  EdgeGradient& edge = nodes_.edges(cell.tape)[edge_index];
  edge.place = kNowhere;
  if (!nodes_.is_wanted(value)) return;
  if (value.identity != 0) return collect_port(index, p);
  edge.copies = port.readers;
  edge.in_order = true;
  edge.batch = run_.cells.batches[cell.batch].first_batch;
  nodes_.insert_edge({cell.tape, value.node}, edge_index);
}

// A slot for each of its readers, if any of them leaves it to the kernel what it contributes.
void CellGradients::collect_port(std::uint32_t index, std::uint16_t p) {
  const Cell& cell = run_.cells.all[index];
  const CellType& type = type_of(cell);
  const Facts::Port& port = facts_of(cell).ports[p];
  const std::uint32_t edge_index = edge_of(cell, type.ports[p].member, type.ports[p].input);
  EdgeGradient* const edges = nodes_.edges(cell.tape);
  read_shared_[index] |= port.readers;
  edges[edge_index].contribution = Contribution::collected;
  if (!port.is_dense) return;
  const Tape& tape = *run_.tapes[cell.tape].tape;
  const Shape& shape = tape.shape_of(tape.edges()[edge_index]);
  const std::size_t bytes = shape.size * size_of(shape.dtype);
  Place slot = nodes_.reserve(type.ports[p].readers * bytes);
  for (std::uint64_t left = port.readers; left != 0; left &= left - 1) {
    const std::uint16_t m = lowest(left);
    const std::span<const CellInput> inputs = type.pattern.inputs_of(m);
    for (std::uint16_t j = 0; j < inputs.size(); ++j) {
      if (inputs[j].from != From::port || inputs[j].index != p) continue;
      edges[edge_of(cell, m, j)].place = slot;
      slot += bytes;
    }
  }
}

}  // namespace dynet_like::detail
