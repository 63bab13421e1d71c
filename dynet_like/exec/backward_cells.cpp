// Cells backward: what follows from their type is not asked of every node again.
#include "dynet_like/exec/backward.h"

#include <algorithm>
#include <bit>

namespace dynet_like {

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
  cell_uses_.assign(run_.cells.size(), CellUse::none);
  read_outside_.assign(run_.cells.size(), 0);
  cell_facts_.assign(run_.common.dictionary.size(), {});
  const bool by_node = run_.options.verify_batching || run_.options.detect_anomaly;
  cell_batches_.assign(run_.cell_batches.size(), {});
  for (BatchOfCells& batch : cell_batches_) batch.has_single_nodes = by_node;
  if (by_node) return;
  for (std::uint32_t c = 0; c < run_.cells.size(); ++c) {
    const Cell& cell = run_.cells[c];
    if (cell.batch == kNone) continue;
    NodeGradient* const nodes = tapes_[cell.tape].nodes.data();
    std::uint8_t member = 0;
    for (NodeId node : run_.nodes_of(cell)) {
      nodes[node].cell = c;
      nodes[node].member = member++;
    }
  }
}

// All that reads the members from outside is linked.
void Backward::mark_cell(std::uint32_t index) {
  const Cell& cell = run_.cells[index];
  const std::uint64_t read = read_outside_[index];
  if (read == 0) return;
  const CellReason reason = why_by_node(cell, read);
  if (reason == CellReason::none) {
    cell_uses_[index] = CellUse::whole;
    ++run_.count_of(cell.type).whole;
    const CellType& type = run_.common.dictionary[cell.type];
    make_gradients(cell);
    for (std::uint64_t left = read | facts_of(cell).not_covered; left != 0; left &= left - 1) {
      place_member(cell, static_cast<std::uint16_t>(std::countr_zero(left)));
    }
    for (std::size_t p = type.ports.size(); p-- > 0;) {
      link_port(cell, static_cast<std::uint32_t>(p));
    }
    return;
  }
  cell_uses_[index] = CellUse::by_node;
  ++run_.count_of(cell.type).by_node;
  run_.count_reason(cell.type, reason);
  cell_batches_[cell.batch].has_single_nodes = true;
  std::vector<NodeGradient>& gradients = tapes_[cell.tape].nodes;
  const std::span<const NodeId> nodes = run_.nodes_of(cell);
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
  const CellBatch& batch = run_.cell_batches[cell.batch];
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
  std::uint64_t reaches = 0;
  for (std::uint16_t m = 0; m < type.pattern.size(); ++m) {
    const std::uint64_t bit = std::uint64_t{1} << m;
    const CellMember& member = type.members[m];
    facts.runs_whole = facts.runs_whole && member.parts.size() <= kMostParts;
    if (inputs_of_type(member_of(example, m)).collects) {
      reaches |= bit;
      describe_contributions(example, m, facts);
    }
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

// Gradients of ports are collected elsewhere, or summed with those of others in between.
CellReason Backward::why_not_ports(const Cell& cell) const {
  const CellType& type = run_.common.dictionary[cell.type];
  const Tape& tape = *run_.tapes[cell.tape].tape;
  const std::span<const ValueId> ports = run_.ports_of(cell);
  for (std::size_t p = 0; p < ports.size(); ++p) {
    const Value& value = tape.value(ports[p]);
    if (!is_wanted(value)) continue;
    if (value.identity != 0) return CellReason::parameter;
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
  begin_groups(cell, m);
  return group_contributions(ref) ? CellReason::none : CellReason::order;
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
  if (run_.common.dictionary[cell.type].members[m].parts.empty()) {
    choose_contributions(ref);
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

void Backward::link_port(const Cell& cell, std::uint32_t p) {
  const CellPort& port = run_.common.dictionary[cell.type].ports[p];
  const std::uint32_t edge_index = edge_of(cell, port);
  const Value& value = run_.tapes[cell.tape].tape->value(run_.ports_of(cell)[p]);
  EdgeGradient& edge = tapes_[cell.tape].edges[edge_index];
  edge.place = nullptr;
  if (!is_wanted(value)) return;
  edge.copies = port.readers;
  edge.in_order = true;
  edge.batch = run_.cell_batches[cell.batch].first_batch;
  insert_edge({cell.tape, value.node}, edge_index);
}

bool Backward::is_last_of_cells(std::uint32_t b) const {
  const std::uint32_t cells = run_.batches[b].cells;
  if (cells == kNone) return false;
  const CellBatch& batch = run_.cell_batches[cells];
  return b + 1 == batch.first_batch + run_.common.dictionary[batch.type].steps.size();
}

bool Backward::has_single_nodes(std::uint32_t b) const {
  const std::uint32_t cells = run_.batches[b].cells;
  return cells == kNone || cell_batches_[cells].has_single_nodes;
}

void Backward::run_cells(std::uint32_t index) {
  const CellBatch& cells = run_.cell_batches[index];
  whole_cells_.clear();
  for (std::uint32_t c : run_.cells_of(cells)) {
    if (cell_uses_[c] == CellUse::whole) whole_cells_.push_back(run_.cells[c].place);
  }
  if (whole_cells_.empty()) return;
  find_port_edges(cells);
  make_slots(cells);
  for (std::uint16_t step : run_.common.dictionary[cells.type].backward) {
    run_cell_step(cells, step);
  }
  add_slots_of_ports(cells);
}

void Backward::find_port_edges(const CellBatch& cells) {
  const CellType& type = run_.common.dictionary[cells.type];
  const std::span<const std::uint32_t> all = run_.cells_of(cells);
  const std::size_t n = whole_cells_.size();
  port_edges_.resize(type.ports.size() * n);
  for (std::size_t i = 0; i < n; ++i) {
    const Cell& cell = run_.cells[all[whole_cells_[i]]];
    EdgeGradient* const edges = tapes_[cell.tape].edges.data();
    for (std::size_t p = 0; p < type.ports.size(); ++p) {
      port_edges_[p * n + i] = edges + edge_of(cell, type.ports[p]);
    }
  }
}

// Room for what all cells of the batch contribute through an input, cell by cell.
void Backward::make_slots(const CellBatch& cells) {
  const CellType& type = run_.common.dictionary[cells.type];
  cell_slots_.reset();
  slots_.clear();
  for (std::uint32_t e : type.slots) {
    slots_.push_back(cell_slots_.allocate_array<std::byte>(cells.cells * bytes_of_input(type, e)));
  }
}

std::size_t Backward::bytes_of_input(const CellType& type, std::uint32_t e) const {
  const std::vector<std::uint32_t>& first = type.pattern.first_input;
  const auto member = std::upper_bound(first.begin(), first.end(), e) - first.begin() - 1;
  const Signature& signature =
      run_.types()[type.pattern.members[static_cast<std::size_t>(member)]].signature;
  return signature.inputs[e - first[static_cast<std::size_t>(member)]].size() *
         size_of(signature.dtype);
}

// What waits in slots for the gradient of a member is added, in the order of recording.
void Backward::add_slots_of_member(const CellBatch& cells, std::uint16_t m) {
  const CellType& type = run_.common.dictionary[cells.type];
  for (std::size_t i = 0; i < type.slots.size(); ++i) {
    const CellInput& input = type.pattern.inputs[type.slots[i]];
    if (input.from != From::member || input.index != m) continue;
    const std::size_t bytes = bytes_of_input(type, type.slots[i]);
    const CellMember& member = type.members[m];
    const std::uint32_t index = cells.first_batch + member.step;
    const Batch& batch = run_.batches[index];
    const std::size_t whole = batch.out_bytes / batch.items;
    const DType dtype = run_.types()[batch.type].signature.dtype;
    std::byte* const first = batch_gradients_[index] + member.place * cells.cells * whole +
                             input.offset * size_of(dtype);
    if (bytes == whole && whole_cells_.size() == cells.cells) {
      const void* addend = slots_[i];
      run_.queue->add_all(dtype, first, cells.cells * bytes / size_of(dtype),
                          {&addend, nullptr, 1});
      continue;
    }
    for (std::uint32_t place : whole_cells_) {
      const void* addend = slots_[i] + place * bytes;
      run_.queue->add_all(dtype, first + place * whole, bytes / size_of(dtype),
                          {&addend, nullptr, 1});
    }
  }
}

// The same for ports whose gradients are summed in place.
void Backward::add_slots_of_ports(const CellBatch& cells) {
  const CellType& type = run_.common.dictionary[cells.type];
  for (std::size_t i = 0; i < type.slots.size(); ++i) {
    const CellInput& input = type.pattern.inputs[type.slots[i]];
    if (input.from != From::port) continue;
    const std::size_t bytes = bytes_of_input(type, type.slots[i]);
    const DType dtype = run_.types()[type.pattern.members[0]].signature.dtype;
    for (std::size_t c = 0; c < whole_cells_.size(); ++c) {
      const EdgeGradient& edge = *port_edges_[input.index * whole_cells_.size() + c];
      if (edge.place == nullptr || edge.contribution > Contribution::added) continue;
      const void* addend = slots_[i] + whole_cells_[c] * bytes;
      run_.queue->add_all(dtype, edge.place, bytes / size_of(dtype), {&addend, nullptr, 1});
    }
  }
}

void Backward::run_cell_step(const CellBatch& cells, std::uint16_t s) {
  const CellStep& step = run_.common.dictionary[cells.type].steps[s];
  const std::span<const std::uint32_t> all = run_.cells_of(cells);
  const std::uint32_t index = cells.first_batch + s;
  const NodeType& type = run_.types()[step.type];
  const BatchOfCells& known = cell_batches_[run_.batches[index].cells];
  positions_.clear();
  for (std::uint32_t q = 0; q < step.members.size(); ++q) {
    const std::uint16_t m = step.members[q];
    if (!slots_.empty()) add_slots_of_member(cells, m);
    const bool sums = (known.summed >> m & 1) != 0;
    for (std::uint32_t place : whole_cells_) {
      positions_.push_back(q * cells.cells + place);
      if (!sums) continue;
      const NodeRef ref = member_of(run_.cells[all[place]], m);
      if (tapes_[ref.tape].nodes[ref.node].has_slots) sum_slots(ref);
    }
  }
  members_.assign(1, member_of(run_.cells[all[whole_cells_[0]]], step.members[0]));
  lists_.reset();
  auto* dx = lists_.allocate_array<Destination>(type.inputs);
  for (unsigned j = 0; j < type.inputs; ++j) dx[j] = cell_destination(cells, step, j);
  call_kernel(index, type, dx);
}

// Where the contributions through input j go; nowhere if no cell wants them from the kernel.
Destination Backward::cell_destination(const CellBatch& cells, const CellStep& step, unsigned j) {
  const CellType& type = run_.common.dictionary[cells.type];
  const std::size_t n = whole_cells_.size();
  if (type.pattern.inputs_of(step.members[0])[j].from == From::argument) return {};
  auto** places = lists_.allocate_array<void*>(step.members.size() * n);
  auto* add = lists_.allocate_array<std::uint8_t>(step.members.size() * n);
  bool wanted = false;
  for (std::size_t q = 0; q < step.members.size(); ++q) {
    const std::uint32_t input = type.pattern.first_input[step.members[q]] + j;
    const bool from_port = type.pattern.inputs[input].from == From::port;
    wanted |= from_port ? add_places_in_ports(cells, input, places + q * n, add + q * n)
                        : add_places_in_member(cells, input, places + q * n, add + q * n);
  }
  if (!wanted) return {};
  return {places, add};
}

bool Backward::add_places_in_member(const CellBatch& cells, std::uint32_t e, void** places,
                                    std::uint8_t* add) {
  const CellType& type = run_.common.dictionary[cells.type];
  const CellInput& input = type.pattern.inputs[e];
  const std::size_t n = whole_cells_.size();
  if (input.blocks_gradient) {
    std::fill_n(places, n, nullptr);
    std::fill_n(add, n, std::uint8_t{0});
    return false;
  }
  if (type.gradients[e].slot != CellGradient::kNoSlot) {
    const std::size_t bytes = bytes_of_input(type, e);
    for (std::size_t i = 0; i < n; ++i) {
      places[i] = slots_[type.gradients[e].slot] + whole_cells_[i] * bytes;
    }
    std::fill_n(add, n, std::uint8_t{0});
    return true;
  }
  const CellMember& source = type.members[input.index];
  const std::uint32_t index = cells.first_batch + source.step;
  const Batch& batch = run_.batches[index];
  const std::size_t bytes = batch.out_bytes / batch.items;
  const std::size_t element = size_of(run_.types()[batch.type].signature.dtype);
  std::byte* const first =
      batch_gradients_[index] + source.place * cells.cells * bytes + input.offset * element;
  for (std::size_t i = 0; i < n; ++i) places[i] = first + whole_cells_[i] * bytes;
  std::fill_n(add, n, static_cast<std::uint8_t>(type.gradients[e].adds));
  const bool begun = (cell_batches_[run_.batches[index].cells].begun >> input.index & 1) != 0;
  if (!begun || type.gradients[e].adds) return true;
  const std::span<const std::uint32_t> all = run_.cells_of(cells);
  for (std::size_t i = 0; i < n; ++i) {
    const NodeRef ref = member_of(run_.cells[all[whole_cells_[i]]], input.index);
    const unsigned begun_parts = tapes_[ref.tape].nodes[ref.node].begun_parts;
    add[i] = static_cast<std::uint8_t>(begun_parts >> type.gradients[e].part & 1u);
  }
  return true;
}

bool Backward::add_places_in_ports(const CellBatch& cells, std::uint32_t e, void** places,
                                   std::uint8_t* add) {
  const CellType& type = run_.common.dictionary[cells.type];
  const CellGradient& gradient = type.gradients[e];
  const std::size_t bytes = bytes_of_input(type, e);
  EdgeGradient* const* edges =
      port_edges_.data() + type.pattern.inputs[e].index * whole_cells_.size();
  bool wanted = false;
  for (std::size_t i = 0; i < whole_cells_.size(); ++i) {
    const EdgeGradient& edge = *edges[i];
    places[i] = edge.place;
    add[i] = 0;
    if (edge.place == nullptr) continue;
    wanted = true;
    if (edge.contribution > Contribution::added) {
      places[i] = edge.place + gradient.rank * bytes;
    } else if (gradient.slot != CellGradient::kNoSlot) {
      places[i] = slots_[gradient.slot] + whole_cells_[i] * bytes;
    } else {
      add[i] = edge.contribution == Contribution::added || gradient.adds;
    }
  }
  return wanted;
}

void Backward::describe_contributions(const Cell& example, std::uint16_t m, CellFacts& facts) {
  const CellType& type = run_.common.dictionary[example.type];
  const Signature& signature = run_.types()[type.pattern.members[m]].signature;
  CellContribution contribution;
  contribution.member = m;
  contribution.step = type.members[m].step;
  contribution.place = type.members[m].place;
  contribution.is_deferred = signature.deferred_size > 0;
  contribution.integers = signature.integers;
  contribution.bytes =
      (contribution.is_deferred ? signature.deferred_size : signature.output_size) *
      size_of(signature.dtype);
  const SharedContributions::TypeContributions& of_type = shared_.of_type(member_of(example, m));
  contribution.is_complete = of_type.complete;
  if (!of_type.complete) return facts.contributions.push_back(contribution);
  for (const SharedContributions::TypeContribution& what : of_type.all) {
    contribution.what = what;
    facts.contributions.push_back(contribution);
  }
}

// At the first member, for all; but one by one where other nodes contribute in between.
void Backward::contribute_members(std::uint32_t index, std::uint16_t member) {
  const Cell& cell = run_.cells[index];
  if (!cell.others_between && member > 0) return;
  for (const CellContribution& contribution : cell_facts_[cell.type].contributions) {
    if (!cell.others_between || contribution.member == member) contribute(cell, contribution);
  }
}

void Backward::contribute(const Cell& cell, const CellContribution& contribution) {
  if (!contribution.is_complete) {
    const NodeRef ref = member_of(cell, contribution.member);
    return contribute_node(ref, run_.tape(ref).inputs_of(ref.node));
  }
  const CellBatch& cells = run_.cell_batches[cell.batch];
  const std::uint32_t index = cells.first_batch + contribution.step;
  const Batch& batch = run_.batches[index];
  const std::size_t item = std::size_t{contribution.place} * cells.cells + cell.place;
  const std::byte* from =
      contribution.is_deferred ? batch_deferred_[index] : batch_gradients_[index];
  const void* factor = nullptr;
  std::uint32_t row = 0;
  if (contribution.what.place.kind == SharedGradient::outer_product) {
    factor = batch.inputs[contribution.what.input + 1].at<std::byte>(item);
  } else if (contribution.what.place.kind == SharedGradient::rows) {
    row = batch.integers[item * contribution.integers];
  }
  shared_.add(contribution.what, from + item * contribution.bytes, factor, row);
}

}  // namespace dynet_like
