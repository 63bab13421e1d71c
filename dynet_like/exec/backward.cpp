// Which nodes take part in a backward pass, and how their gradients are summed.
#include "dynet_like/exec/backward.h"

#include <algorithm>

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

void Backward::run(std::span<const ValueRef> roots, bool full) {
  full_ = full;
  used_ = false;  // until it has ended
  gradients_.reset();
  shared_.clear();
  types_.assign(run_.types().type_count(), {});
  batch_gradients_.assign(run_.batches.size(), nullptr);
  batch_deferred_.assign(run_.batches.size(), nullptr);
  batch_contributions_.clear();
  if (tapes_.size() < run_.end_tape) tapes_.resize(run_.end_tape);
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    tapes_[t].nodes.assign(run_.tapes[t].nodes.size(), NodeGradient{});
    tapes_[t].edges.resize(run_.tapes[t].tape->edges().size());
    tapes_[t].shared_roots.clear();
  }
  enter_cells();
  seed(roots);
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) mark_tape(t);
  for (auto b = static_cast<std::uint32_t>(run_.batches.size()); b-- > 0;) {
    if (is_last_of_cells(b)) run_cells(run_.batches[b].cells);
    if (batch_gradients_[b] != nullptr && has_single_nodes(b)) run_batch(b);
  }
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    // Sources have no batch in which their slots could have been summed.
    for (NodeId node = 0; full && node < tapes_[t].nodes.size(); ++node) {
      const NodeGradient& gradient = tapes_[t].nodes[node];
      if (gradient.active && gradient.has_slots && run_.tapes[t].nodes[node].batch == kNone) {
        sum_slots({t, node});
      }
    }
    for (const Value& root : tapes_[t].shared_roots) {
      const Shape& shape = run_.types().shape(root.shape);
      shared_.seed(run_.identity_of({t, root.node}), root,
                   run_.queue->ones(shape.dtype, shape.size));
    }
    contribute_to_shared(t);
  }
  used_ = true;
}

void Backward::seed(std::span<const ValueRef> roots) {
  for (const ValueRef& root : roots) {
    if (root.tape < run_.first_tape || root.tape >= run_.end_tape) continue;
    const Tape& tape = *run_.tapes[root.tape].tape;
    const Value& value = tape.value(root.value);
    const NodeRef ref{root.tape, value.node};
    if (value.identity != 0) {
      if (is_wanted(value)) tapes_[root.tape].shared_roots.push_back(value);
      continue;
    }
    if (value.blocks_gradient) continue;
    NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
    const DType dtype = tape.shape_of(root.value).dtype;
    const std::size_t element = size_of(dtype);
    const std::size_t all = output_size(tape, ref.node) * run_.items_of(ref);
    if (!node.seeded) {
      activate(node);
      node.seeded = true;
      node.has_slots = true;
      node.gradient = gradient_block(ref);
      run_.queue->add_all(dtype, node.gradient, all, {}, SumStart::zero);
    }
    const std::size_t size = tape.shape_of(root.value).size;
    const void* addend = run_.queue->ones(dtype, size);
    for (std::uint32_t item = 0; item < value.items; ++item) {
      std::byte* to = node.gradient + (value.offset + item * value.stride) * element;
      run_.queue->add_all(dtype, to, size, {&addend, nullptr, 1});
    }
  }
}

// A block for the whole batch of the node, of which the node has its part; sources have their own.
std::byte* Backward::gradient_block(NodeRef ref) {
  const NodeState& state = run_.state(ref);
  if (state.batch == kNone) {
    const Tape& tape = run_.tape(ref);
    const std::size_t size = output_size(tape, ref.node) * run_.items_of(ref);
    return gradients_.allocate_array<std::byte>(size *
                                                size_of(tape.type_of(ref.node).signature.dtype));
  }
  make_gradient_of_batch(state.batch);
  return batch_gradients_[state.batch] + (state.value - run_.batches[state.batch].out);
}

// Gradients lie as values do.
void Backward::make_gradient_of_batch(std::uint32_t index) {
  if (batch_gradients_[index] != nullptr) return;
  const std::uint32_t first = index - run_.batches[index].behind_first;
  std::byte*& block = batch_gradients_[first];
  if (block == nullptr) {
    block = gradients_.allocate_array<std::byte>(run_.batches[first].block_bytes);
  }
  batch_gradients_[index] = block + (run_.batches[index].out - run_.batches[first].out);
}

// What a node contributes to shared arguments: its gradient, or what its kernel has left for them.
const std::byte* Backward::contribution_of(NodeRef ref) const {
  const NodeState& state = run_.state(ref);
  const std::byte* deferred = batch_deferred_[state.batch];
  const std::size_t offset = state.value - run_.batches[state.batch].out;
  if (deferred == nullptr) return batch_gradients_[state.batch] + offset;
  const Signature& signature = run_.tape(ref).type_of(ref.node).signature;
  const std::size_t item = offset / (signature.output_size * size_of(signature.dtype));
  return deferred + item * signature.deferred_size * size_of(signature.dtype);
}

// From the last node to the first, so that all consumers of a node come before it.
void Backward::mark_tape(std::uint32_t tape_index) {
  std::vector<NodeGradient>& nodes = tapes_[tape_index].nodes;
  for (auto node = static_cast<NodeId>(nodes.size()); node-- > 0;) {
    const std::uint32_t cell = nodes[node].cell;
    if (cell == kNone) {
      if (nodes[node].active) mark_node({tape_index, node});
    } else if (run_.cells.all[cell].entered_at == node) {
      mark_cell(cell);
    }
  }
}

void Backward::mark_node(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  if (node.gradient == nullptr) node.gradient = gradient_block(ref);
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
const Backward::TypeInputs& Backward::inputs_of_type(NodeRef example) {
  const Tape& tape = run_.tape(example);
  TypeInputs& result = types_[tape.node(example.node).type];
  if (result.known) return result;
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
bool Backward::is_open(NodeRef consumer, std::uint32_t edge) const {
  const Tape& tape = run_.tape(consumer);
  return tape.type_of(consumer.node).op->is_open(edge - tape.node(consumer.node).first_edge);
}

void Backward::link(NodeRef consumer, std::uint32_t edge_index, ValueId input) {
  const Tape& tape = run_.tape(consumer);
  const Value& value = tape.value(input);
  EdgeGradient& edge = tapes_[consumer.tape].edges[edge_index];
  edge.place = nullptr;
  if (!is_wanted(value)) return;
  const NodeState& state = run_.state(consumer);
  const std::uint32_t consumer_items = run_.items_of(consumer);
  if (value.identity != 0) {
    const NodeType& type = tape.type_of(consumer.node);
    NodeGradient& node = tapes_[consumer.tape].nodes[consumer.node];
    const std::uint32_t j = edge_index - tape.node(consumer.node).first_edge;
    node.reads_shared = true;
    edge.contribution = Contribution::written;
    node.reads_unnamed |= type.signature.shared[j] == 0;
    if (type.shared_gradients[j] == SharedGradient::dense) {
      const Shape& shape = tape.types().shape(value.shape);
      edge.place =
          gradients_.allocate_array<std::byte>(consumer_items * shape.size * size_of(shape.dtype));
    }
    return;
  }
  edge.copies = value.items == 1 && !is_open(consumer, edge_index) ? consumer_items : 1;
  edge.in_order = edge.copies == 1;
  const std::uint32_t cells = run_.batches[state.batch].cells;
  edge.batch = cells == kNone ? state.batch : run_.cells.batches[cells].first_batch;
  insert_edge({consumer.tape, value.node}, edge_index);
}

// Consumers stand in recording order. Most come from the last to the first.
void Backward::insert_edge(NodeRef producer, std::uint32_t edge_index) {
  NodeGradient& node = tapes_[producer.tape].nodes[producer.node];
  std::vector<EdgeGradient>& edges = tapes_[producer.tape].edges;
  std::uint32_t* next = &node.first_consumer;
  while (*next < edge_index) next = &edges[*next].next;
  edges[edge_index].next = *next;
  *next = edge_index;
  activate(node);
}

// Whether one consumer reads all of the node once, and nothing else contributes.
bool Backward::has_one_reader(NodeRef ref, const NodeGradient& node) const {
  const EdgeGradient& first = tapes_[ref.tape].edges[node.first_consumer];
  const Tape& tape = run_.tape(ref);
  return first.next == kNone && first.in_order && !node.seeded &&
         covers_node(tape, tape.value(tape.edges()[node.first_consumer]));
}

// All consumers of the node are linked.
void Backward::choose_contributions(NodeRef ref) {
  NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  if (node.first_consumer == kNone) return;
  std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  if (has_one_reader(ref, node)) {
    EdgeGradient& first = edges[node.first_consumer];
    first.place = node.gradient;
    first.contribution = Contribution::written;
    return;
  }
  groups_.clear();
  if (!node.seeded && group_contributions(ref)) return place_in_groups(ref);
  // Parts overlap: everything is added to zeros, or to what is there.
  if (!node.seeded) clear_gradient(ref);
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    place_in_slots(ref, e, Contribution::added_slot);
  }
}

// Whether consumers read a part of every item, with gaps between.
bool Backward::has_parts_per_item(NodeRef ref) const {
  if (run_.items_of(ref) == 1) return false;
  const Tape& tape = run_.tape(ref);
  const std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  for (std::uint32_t e = tapes_[ref.tape].nodes[ref.node].first_consumer; e != kNone;
       e = edges[e].next) {
    if (!tape.is_contiguous(tape.edges()[e])) return true;
  }
  return false;
}

// Finds the parts of the node that contributions cover, besides those that are known already; false
// if different ones overlap.
bool Backward::group_contributions(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  const std::uint32_t first = tapes_[ref.tape].nodes[ref.node].first_consumer;
  const bool per_item = has_parts_per_item(ref);
  std::size_t end_of_all = 0;
  for (const Group& group : groups_) end_of_all = std::max(end_of_all, group.end);
  for (std::uint32_t e = first; e != kNone; e = edges[e].next) {
    Range range;
    if (!range_of(tape, tape.value(tape.edges()[e]), per_item, range)) return false;
    const bool is_behind_all = range.begin >= end_of_all;
    if (!is_behind_all && groups_.size() > kMostSearched) return false;
    end_of_all = std::max(end_of_all, range.end);
    std::size_t g = is_behind_all ? groups_.size() : 0;
    for (; g < groups_.size(); ++g) {
      if (groups_[g].begin == range.begin && groups_[g].end == range.end) break;
      if (groups_[g].begin < range.end && range.begin < groups_[g].end) return false;
    }
    if (g == kMostGroups) return false;
    if (g == groups_.size()) groups_.push_back({range.begin, range.end});
    groups_[g].copies += edges[e].copies;
    groups_[g].first_batch = std::min(groups_[g].first_batch, edges[e].batch);
    groups_[g].last_batch = std::max(groups_[g].last_batch, edges[e].batch);
    edges[e].group = static_cast<std::uint8_t>(g);
  }
  return true;
}

void Backward::clear_gradient(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  const std::size_t size = output_size(tape, ref.node) * run_.items_of(ref);
  run_.queue->add_all(tape.type_of(ref.node).signature.dtype,
                      tapes_[ref.tape].nodes[ref.node].gradient, size, {}, SumStart::zero);
}

void Backward::place_in_groups(NodeRef ref) {
  NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  const Tape& tape = run_.tape(ref);
  std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  std::size_t covered = 0;
  for (const Group& group : groups_) covered += group.end - group.begin;
  const std::uint32_t items = has_parts_per_item(ref) ? 1 : run_.items_of(ref);
  if (covered < output_size(tape, ref.node) * items) clear_gradient(ref);
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    EdgeGradient& edge = edges[e];
    Group& group = groups_[edge.group];
    if (group.readers > 0) {
      place_behind_readers(ref, e);
    } else if (group.copies == 2 && group.first_batch != group.last_batch) {
      // Batches run backward from the last to the first.
      place_in_node(ref, e, edge.batch != group.last_batch);
    } else if (!group.has_slots && edge.in_order && edge.batch < group.added_until) {
      // Those before it in the order of recording have been added when it comes.
      place_in_node(ref, e, group.added_until != kNone);
      group.added_until = edge.batch;
    } else {
      const bool is_first = !group.has_slots && group.added_until == kNone;
      place_in_slots(ref, e, is_first ? Contribution::slot : Contribution::added_slot);
      group.has_slots = true;
    }
  }
}

void Backward::place_in_node(NodeRef ref, std::uint32_t edge_index, bool adds) {
  EdgeGradient& edge = tapes_[ref.tape].edges[edge_index];
  const std::size_t element = size_of(run_.tape(ref).type_of(ref.node).signature.dtype);
  edge.place = tapes_[ref.tape].nodes[ref.node].gradient + groups_[edge.group].begin * element;
  edge.contribution = adds ? Contribution::added : Contribution::written;
}

void Backward::place_in_slots(NodeRef ref, std::uint32_t edge_index, Contribution contribution) {
  const Tape& tape = run_.tape(ref);
  const Value& value = tape.value(tape.edges()[edge_index]);
  const Shape& shape = tape.types().shape(value.shape);
  EdgeGradient& edge = tapes_[ref.tape].edges[edge_index];
  edge.place = gradients_.allocate_array<std::byte>(std::max(edge.copies, value.items) *
                                                    shape.size * size_of(shape.dtype));
  edge.contribution = contribution;
  tapes_[ref.tape].nodes[ref.node].has_slots = true;
}

void Backward::sum_slots(NodeRef ref) {
  const NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  const Tape& tape = run_.tape(ref);
  const DType dtype = tape.type_of(ref.node).signature.dtype;
  const std::size_t element = size_of(dtype);
  const std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  // Slots for one place that follow one another are added in one call.
  std::byte* sum = nullptr;
  std::size_t size = 0;
  SumStart start = SumStart::there;
  addends_.clear();
  const auto flush = [&] {
    if (!addends_.empty()) {
      run_.queue->add_all(dtype, sum, size, {addends_.data(), nullptr, addends_.size()}, start);
    }
    addends_.clear();
    start = SumStart::there;
  };
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    const EdgeGradient& edge = edges[e];
    if (edge.contribution <= Contribution::added) continue;
    const Value& value = tape.value(tape.edges()[e]);
    const std::size_t elements = tape.types().shape(value.shape).size;
    const std::uint32_t parts = std::max(edge.copies, value.items);
    for (std::uint32_t part = 0; part < parts; ++part) {
      const std::size_t offset = value.offset + (value.items == 1 ? 0 : part * value.stride);
      std::byte* place = node.gradient + offset * element;
      const bool is_first =
          edge.contribution == Contribution::slot && (part == 0 || edge.copies == 1);
      if (place != sum || elements != size || is_first) flush();
      sum = place;
      size = elements;
      if (is_first) start = SumStart::first;
      addends_.push_back(edge.place + part * size * element);
    }
  }
  flush();
}

// In recording order.
void Backward::contribute_to_shared(std::uint32_t tape_index) {
  const Tape& tape = *run_.tapes[tape_index].tape;
  const std::vector<NodeGradient>& nodes = tapes_[tape_index].nodes;
  for (NodeId node = 0; node < nodes.size(); ++node) {
    const std::uint32_t cell = nodes[node].cell;
    if (cell != kNone) {
      const std::uint8_t member = nodes[node].member;
      const bool in_turn = member == 0 || run_.cells.all[cell].others_between;
      if (in_turn && cell_uses_[cell] == CellUse::whole) contribute_members(cell, member);
    } else if (nodes[node].reads_shared) {
      const NodeRef ref{tape_index, node};
      const bool by_type = !nodes[node].reads_unnamed && run_.items_of(ref) == 1;
      if (by_type && shared_.contribute_by_type(ref, contribution_of(ref))) continue;
      contribute_node(ref, tape.inputs_of(node));
    }
  }
}

void Backward::contribute_node(NodeRef ref, std::span<const ValueId> inputs) {
  const Tape& tape = run_.tape(ref);
  const std::byte* contribution = contribution_of(ref);
  for (std::uint32_t j = 0; j < inputs.size(); ++j) {
    const Value& value = tape.value(inputs[j]);
    if (value.identity == 0 || !value.reaches_parameter) continue;
    const std::byte* slots = tapes_[ref.tape].edges[tape.node(ref.node).first_edge + j].place;
    shared_.contribute({ref, j, slots}, contribution);
  }
}

const std::byte* Backward::gradient_of(NodeRef ref) const {
  if (!used_ || ref.tape >= tapes_.size() || ref.node >= tapes_[ref.tape].nodes.size()) {
    return nullptr;
  }
  const NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  if (node.cell == kNone) return node.active ? node.gradient : nullptr;
  if (cell_uses_[node.cell] != CellUse::whole) return nullptr;
  const NodeState& state = run_.state(ref);
  return batch_gradients_[state.batch] + (state.value - run_.batches[state.batch].out);
}

}  // namespace dynet_like::detail
