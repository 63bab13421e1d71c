// The calls of cells that run backward as a whole, and the slots of their contributions.
#include "dynet_like/exec/backward_cells.h"

#include <algorithm>

#include "dynet_like/exec/backward_call.h"

namespace dynet_like::detail {

namespace {

using From = CellInput::From;

}  // namespace

std::span<const std::uint32_t> BackwardCells::run(std::uint32_t index) {
  const CellBatch& cells = run_.cells.batches[index];
  whole_cells_.clear();
  for (std::uint32_t c : run_.cells.cells_of(cells)) {
    if (plan().use(c) == CellGradients::Use::whole) {
      whole_cells_.push_back(run_.cells.all[c].place);
    }
  }
  if (whole_cells_.empty()) return {};
  const CellType& type = run_.common.dictionary[cells.type];
  TimelineScope scope(run_.track(), run_.common.label_of_cell(cells.type, true));
  scope.count(whole_cells_.size(), whole_cells_.size() * type.pattern.size());
  const KernelTime time(run_, run_.counts.cell(cells.type).seconds);
  find_port_edges(cells);
  make_slots(cells);
  for (std::uint16_t step : type.backward) run_step(cells, step);
  add_slots_of_ports(cells);
  return whole_cells_;
}

void BackwardCells::find_port_edges(const CellBatch& cells) {
  const CellType& type = run_.common.dictionary[cells.type];
  const std::span<const std::uint32_t> all = run_.cells.cells_of(cells);
  const std::size_t n = whole_cells_.size();
  port_edges_.resize(type.ports.size() * n);
  for (std::size_t i = 0; i < n; ++i) {
    const Cell& cell = run_.cells.all[all[whole_cells_[i]]];
    const EdgeGradient* const edges = pass_.plan.nodes.edges(cell.tape);
    for (std::size_t p = 0; p < type.ports.size(); ++p) {
      port_edges_[p * n + i] =
          edges + plan().edge_of(cell, type.ports[p].member, type.ports[p].input);
    }
  }
}

// Room for what all cells of the batch contribute through an input, cell by cell.
void BackwardCells::make_slots(const CellBatch& cells) {
  const CellType& type = run_.common.dictionary[cells.type];
  slot_memory_.reset();
  slots_.clear();
  for (std::uint32_t e : type.slots) {
    slots_.push_back(slot_memory_.allocate_array<std::byte>(cells.cells * bytes_of_input(type, e)));
  }
}

std::size_t BackwardCells::bytes_of_input(const CellType& type, std::uint32_t e) const {
  const std::vector<std::uint32_t>& first = type.pattern.first_input;
  const auto member = std::upper_bound(first.begin(), first.end(), e) - first.begin() - 1;
  const Signature& signature =
      run_.types()[type.pattern.members[static_cast<std::size_t>(member)]].signature;
  return signature.inputs[e - first[static_cast<std::size_t>(member)]].size() *
         size_of(signature.dtype);
}

// What waits in slots for the gradient of a member is added, in the order of recording.
void BackwardCells::add_slots_of_member(const CellBatch& cells, std::uint16_t m) {
  const CellType& type = run_.common.dictionary[cells.type];
  for (std::size_t i = 0; i < type.slots.size(); ++i) {
    const CellInput& input = type.pattern.inputs[type.slots[i]];
    if (input.from != From::member || input.index != m) continue;
    const std::size_t bytes = bytes_of_input(type, type.slots[i]);
    const CellMember& member = type.members[m];
    const std::uint32_t index = cells.first_batch + member.step;
    const Batch& batch = run_.batches[index];
    const DType dtype = run_.types()[batch.type].signature.dtype;
    std::byte* const first = pass_.gradients_of(index) + member.place * cells.cells * batch.stride +
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
void BackwardCells::add_slots_of_ports(const CellBatch& cells) {
  const CellType& type = run_.common.dictionary[cells.type];
  for (std::size_t i = 0; i < type.slots.size(); ++i) {
    const CellInput& input = type.pattern.inputs[type.slots[i]];
    if (input.from != From::port) continue;
    const std::size_t bytes = bytes_of_input(type, type.slots[i]);
    const DType dtype = run_.types()[type.pattern.members[0]].signature.dtype;
    for (std::size_t c = 0; c < whole_cells_.size(); ++c) {
      const EdgeGradient& edge = *port_edges_[input.index * whole_cells_.size() + c];
      if (edge.place == kNowhere || edge.contribution > Contribution::added) continue;
      const void* addend = slots_[i] + whole_cells_[c] * bytes;
      run_.queue->add_all(dtype, pass_.at(edge.place), bytes / size_of(dtype),
                          {&addend, nullptr, 1});
    }
  }
}

void BackwardCells::run_step(const CellBatch& cells, std::uint16_t s) {
  const CellStep& step = run_.common.dictionary[cells.type].steps[s];
  complete_gradients(cells, step);
  pass_.lists.reset();
  pass_.call_kernel(cells.first_batch + s, destinations(cells, step));
}

// Adds what waits for the gradients of the step's members, and finds where they lie.
void BackwardCells::complete_gradients(const CellBatch& cells, const CellStep& step) {
  const std::span<const std::uint32_t> all = run_.cells.cells_of(cells);
  const std::uint64_t summed = plan().of_batch(run_.batches[cells.first_batch].cells).summed;
  pass_.positions.clear();
  for (std::uint32_t q = 0; q < step.members.size(); ++q) {
    const std::uint16_t m = step.members[q];
    if (!slots_.empty()) add_slots_of_member(cells, m);
    const bool sums = (summed >> m & 1) != 0;
    for (std::uint32_t place : whole_cells_) {
      pass_.positions.push_back(q * cells.cells + place);
      if (!sums) continue;
      const NodeRef ref = plan().member_of(run_.cells.all[all[place]], m);
      if (pass_.plan.nodes.at(ref).has_slots) pass_.sum_slots(ref);
    }
  }
  pass_.members.assign(1, plan().member_of(run_.cells.all[all[whole_cells_[0]]], step.members[0]));
}

const Destination* BackwardCells::destinations(const CellBatch& cells, const CellStep& step) {
  const NodeType& type = run_.types()[step.type];
  auto* dx = pass_.lists.allocate_array<Destination>(type.inputs);
  for (unsigned j = 0; j < type.inputs; ++j) dx[j] = destination(cells, step, j);
  return dx;
}

// Where the contributions through input j go; nowhere if no cell wants them from the kernel.
Destination BackwardCells::destination(const CellBatch& cells, const CellStep& step, unsigned j) {
  const CellType& type = run_.common.dictionary[cells.type];
  const std::size_t n = whole_cells_.size();
  if (type.pattern.inputs_of(step.members[0])[j].from == From::argument) return {};
  auto** places = pass_.lists.allocate_array<void*>(step.members.size() * n);
  auto* add = pass_.lists.allocate_array<std::uint8_t>(step.members.size() * n);
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

bool BackwardCells::add_places_in_member(const CellBatch& cells, std::uint32_t e, void** places,
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
  std::byte* const first = pass_.gradients_of(index) + source.place * cells.cells * batch.stride +
                           input.offset * element;
  for (std::size_t i = 0; i < n; ++i) places[i] = first + whole_cells_[i] * batch.stride;
  std::fill_n(add, n, static_cast<std::uint8_t>(type.gradients[e].adds));
  const bool begun = (plan().of_batch(run_.batches[index].cells).begun >> input.index & 1) != 0;
  if (!begun || type.gradients[e].adds) return true;
  const std::span<const std::uint32_t> all = run_.cells.cells_of(cells);
  for (std::size_t i = 0; i < n; ++i) {
    const NodeRef ref = plan().member_of(run_.cells.all[all[whole_cells_[i]]], input.index);
    const unsigned begun_parts = pass_.plan.nodes.at(ref).begun_parts;
    add[i] = static_cast<std::uint8_t>(begun_parts >> type.gradients[e].part & 1u);
  }
  return true;
}

bool BackwardCells::add_places_in_ports(const CellBatch& cells, std::uint32_t e, void** places,
                                        std::uint8_t* add) {
  const CellType& type = run_.common.dictionary[cells.type];
  const CellGradient& gradient = type.gradients[e];
  const std::size_t bytes = bytes_of_input(type, e);
  const EdgeGradient* const* edges =
      port_edges_.data() + type.pattern.inputs[e].index * whole_cells_.size();
  bool wanted = false;
  for (std::size_t i = 0; i < whole_cells_.size(); ++i) {
    const EdgeGradient& edge = *edges[i];
    places[i] = pass_.at(edge.place);
    add[i] = 0;
    if (edge.place == kNowhere) continue;
    wanted = true;
    if (edge.contribution > Contribution::added) {
      places[i] = pass_.at(edge.place) + gradient.rank * bytes;
    } else if (gradient.slot != CellGradient::kNoSlot) {
      places[i] = slots_[gradient.slot] + whole_cells_[i] * bytes;
    } else {
      add[i] = edge.contribution == Contribution::added || gradient.adds;
    }
  }
  return wanted;
}

}  // namespace dynet_like::detail
