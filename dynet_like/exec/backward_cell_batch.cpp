// Running cells backward, and what they contribute to shared values.
#include <algorithm>

#include "dynet_like/exec/backward.h"
#include "dynet_like/exec/backward_call.h"

namespace dynet_like::detail {

namespace {

using From = CellInput::From;

}  // namespace

bool Backward::is_last_of_cells(std::uint32_t b) const {
  const std::uint32_t cells = run_.batches[b].cells;
  if (cells == kNone) return false;
  const CellBatch& batch = run_.cells.batches[cells];
  return b + 1 == batch.first_batch + run_.common.dictionary[batch.type].steps.size();
}

bool Backward::has_single_nodes(std::uint32_t b) const {
  const std::uint32_t cells = run_.batches[b].cells;
  return cells == kNone || cell_batches_[cells].has_single_nodes;
}

void Backward::run_cells(std::uint32_t index) {
  const CellBatch& cells = run_.cells.batches[index];
  whole_cells_.clear();
  for (std::uint32_t c : run_.cells.cells_of(cells)) {
    if (cell_uses_[c] == CellUse::whole) whole_cells_.push_back(run_.cells.all[c].place);
  }
  if (whole_cells_.empty()) return;
  find_port_edges(cells);
  make_slots(cells);
  const CellType& type = run_.common.dictionary[cells.type];
  for (std::uint16_t step : type.backward) {
    const std::uint16_t joint = type.steps[step].joint;
    if (joint == CellStep::kAlone) {
      run_cell_step(cells, step);
    } else if (type.is_first_of_call(step)) {
      run_cell_joint(cells, type.joints[joint]);
    }
  }
  add_slots_of_ports(cells);
  list_contributions(index);
}

void Backward::find_port_edges(const CellBatch& cells) {
  const CellType& type = run_.common.dictionary[cells.type];
  const std::span<const std::uint32_t> all = run_.cells.cells_of(cells);
  const std::size_t n = whole_cells_.size();
  port_edges_.resize(type.ports.size() * n);
  for (std::size_t i = 0; i < n; ++i) {
    const Cell& cell = run_.cells.all[all[whole_cells_[i]]];
    EdgeGradient* const edges = tapes_[cell.tape].edges.data();
    for (std::size_t p = 0; p < type.ports.size(); ++p) {
      port_edges_[p * n + i] = edges + edge_of(cell, type.ports[p].member, type.ports[p].input);
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
    const DType dtype = run_.types()[batch.type].signature.dtype;
    std::byte* const first = batch_gradients_[index] + member.place * cells.cells * batch.stride +
                             input.offset * size_of(dtype);
    if (bytes == batch.stride && whole_cells_.size() == cells.cells) {
      const void* addend = slots_[i];
      run_.queue->add_all(dtype, first, cells.cells * bytes / size_of(dtype),
                          {&addend, nullptr, 1});
      continue;
    }
    for (std::uint32_t place : whole_cells_) {
      const void* addend = slots_[i] + place * bytes;
      run_.queue->add_all(dtype, first + place * batch.stride, bytes / size_of(dtype),
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
  complete_gradients(cells, step);
  lists_.reset();
  call_kernel(cells.first_batch + s, run_.types()[step.type], cell_destinations(cells, step));
}

// One call for products of the same right sides: what they contribute to these is added product by
// product.
void Backward::run_cell_joint(const CellBatch& cells, const CellJoint& joint) {
  const std::span<const CellStep> steps =
      run_.common.dictionary[cells.type].joined_with(joint.first_step);
  const std::uint32_t first = cells.first_batch + joint.first_step;
  lists_.reset();
  std::vector<JoinedPart> parts;
  for (std::uint32_t s = 0; s < steps.size(); ++s) {
    complete_gradients(cells, steps[s]);
    const NodeType& type = run_.types()[steps[s].type];
    const Destination* const dx = cell_destinations(cells, steps[s]);
    const auto is_wanted = [](const Destination& to) { return to.wanted(); };
    if (std::none_of(dx, dx + type.inputs, is_wanted)) continue;
    auto* in = lists_.allocate_array<Operand>(type.inputs);
    for (unsigned j = 0; j < type.inputs; ++j) {
      // No right sides: what weights get is collected.
      in[j] = {nullptr, run_.batches[first + s].inputs[j].shared, nullptr};
      if (in[j].shared != nullptr) in[j].packed = transpose(type, j, dx);
    }
    parts.push_back({&type.signature, steps[s].first_row, in, dx});
  }
  if (parts.empty()) return;
  const Batch& batch = run_.batches[first];
  BackwardCall call;
  call.type = &joint.signature;
  call.n = positions_.size();
  call.dy.items = places_of(lists_, positions_, batch_gradients_[first], batch.stride);
  call.parts = parts;
  run_backward_call(run_, *run_.queue, batch.type, call);
}

// Adds what waits for the gradients of the step's members, and finds where they lie.
void Backward::complete_gradients(const CellBatch& cells, const CellStep& step) {
  const std::span<const std::uint32_t> all = run_.cells.cells_of(cells);
  const std::uint64_t summed = cell_batches_[run_.batches[cells.first_batch].cells].summed;
  positions_.clear();
  for (std::uint32_t q = 0; q < step.members.size(); ++q) {
    const std::uint16_t m = step.members[q];
    if (!slots_.empty()) add_slots_of_member(cells, m);
    const bool sums = (summed >> m & 1) != 0;
    for (std::uint32_t place : whole_cells_) {
      positions_.push_back(q * cells.cells + place);
      if (!sums) continue;
      const NodeRef ref = member_of(run_.cells.all[all[place]], m);
      if (tapes_[ref.tape].nodes[ref.node].has_slots) sum_slots(ref);
    }
  }
  members_.assign(1, member_of(run_.cells.all[all[whole_cells_[0]]], step.members[0]));
}

const Destination* Backward::cell_destinations(const CellBatch& cells, const CellStep& step) {
  const NodeType& type = run_.types()[step.type];
  auto* dx = lists_.allocate_array<Destination>(type.inputs);
  for (unsigned j = 0; j < type.inputs; ++j) dx[j] = cell_destination(cells, step, j);
  return dx;
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
  const std::size_t element = size_of(run_.types()[batch.type].signature.dtype);
  std::byte* const first =
      batch_gradients_[index] + source.place * cells.cells * batch.stride + input.offset * element;
  for (std::size_t i = 0; i < n; ++i) places[i] = first + whole_cells_[i] * batch.stride;
  std::fill_n(add, n, static_cast<std::uint8_t>(type.gradients[e].adds));
  const bool begun = (cell_batches_[run_.batches[index].cells].begun >> input.index & 1) != 0;
  if (!begun || type.gradients[e].adds) return true;
  const std::span<const std::uint32_t> all = run_.cells.cells_of(cells);
  for (std::size_t i = 0; i < n; ++i) {
    const NodeRef ref = member_of(run_.cells.all[all[whole_cells_[i]]], input.index);
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

void Backward::list_contributions(std::uint32_t index) {
  const CellBatch& cells = run_.cells.batches[index];
  const CellFacts& facts = cell_facts_[cells.type];
  const std::span<const std::uint32_t> all = run_.cells.cells_of(cells);
  const bool any_apart = std::any_of(whole_cells_.begin(), whole_cells_.end(),
                                     [&](std::uint32_t c) { return contributes_apart(all[c]); });
  BatchOfCells& batch = cell_batches_[index];
  batch.first_together = list_contributions(cells, facts.together);
  if (any_apart) batch.first_contribution = list_contributions(cells, facts.contributions);
}

// Where the contributions of these cells lie. Returns the place of the first.
std::uint32_t Backward::list_contributions(const CellBatch& cells,
                                           std::span<const CellContribution> all) {
  const auto first = static_cast<std::uint32_t>(batch_contributions_.size());
  for (const CellContribution& contribution : all) {
    const SharedContributions::TypeContribution& what = contribution.what;
    const std::uint32_t step = cells.first_batch + contribution.step;
    const std::size_t first_item = std::size_t{contribution.place} * cells.cells;
    const Batch& batch = run_.batches[step];
    BatchContribution of_batch;
    of_batch.stride = contribution.is_deferred ? contribution.deferred_bytes : batch.stride;
    of_batch.dy = (contribution.is_deferred ? batch_deferred_[step] : batch_gradients_[step]) +
                  first_item * of_batch.stride;
    const bool is_known = contribution.is_complete && !contribution.of_port;
    if (is_known && what.place.kind == SharedGradient::outer_product) {
      of_batch.factor = batch.inputs[what.input + 1];
      if (of_batch.factor.items != nullptr) of_batch.factor.items += first_item;
    } else if (is_known && what.place.kind == SharedGradient::rows) {
      of_batch.rows = batch.integers + first_item * contribution.integers;
    }
    batch_contributions_.push_back(of_batch);
  }
  return first;
}

// At the first member, for all; but one by one where other nodes contribute in between.
void Backward::contribute_members(std::uint32_t index, std::uint16_t member) {
  const Cell& cell = run_.cells.all[index];
  const CellFacts& facts = cell_facts_[cell.type];
  const BatchOfCells& batch = cell_batches_[cell.batch];
  const bool apart = contributes_apart(index);
  const BatchContribution* of_batch =
      batch_contributions_.data() + (apart ? batch.first_contribution : batch.first_together);
  for (const CellContribution& contribution : apart ? facts.contributions : facts.together) {
    const BatchContribution& all = *of_batch++;
    if (cell.others_between && contribution.member != member) continue;
    const std::byte* const dy = all.dy + cell.place * all.stride;
    const std::byte* const factor = all.factor.at<std::byte>(cell.place);
    if (contribution.of_port) {
      if ((read_shared_[index] >> contribution.member & 1) != 0)
        contribute_port(cell, contribution);
    } else if (!contribution.is_complete) {
      const NodeRef ref = member_of(cell, contribution.member);
      contribute_node(ref, run_.tape(ref).inputs_of(ref.node));
    } else if (contribution.list != kNone) {
      shared_.add_joined(contribution.list, dy, factor);
    } else {
      const std::size_t integer = std::size_t{cell.place} * contribution.integers;
      shared_.add(contribution.what, dy, factor, all.rows == nullptr ? 0 : all.rows[integer]);
    }
  }
}

void Backward::contribute_port(const Cell& cell, const CellContribution& contribution) {
  const NodeRef ref = member_of(cell, contribution.member);
  const std::uint32_t input = contribution.what.input;
  const std::uint32_t edge = run_.tape(ref).node(ref.node).first_edge + input;
  const Value& value = run_.tape(ref).value(run_.tape(ref).edges()[edge]);
  if (value.identity == 0 || !value.reaches_parameter) return;
  shared_.contribute({ref, input, tapes_[ref.tape].edges[edge].place}, contribution_of(ref));
}

}  // namespace dynet_like::detail
