// Which nodes take part in a backward pass, and how their gradients are summed.
#include "dynet_like/exec/backward.h"

#include <algorithm>

namespace dynet_like {

namespace {

// More different parts of a node are not worth the search for overlaps.
constexpr std::size_t kMostGroups = 16;

std::size_t output_size(const Tape& tape, NodeId node) {
  return tape.type_of(node).signature.output_size;
}

struct Range {
  std::size_t begin, end;
};

// Elements that a value covers, counted inside one item of its node if it has as many items.
bool range_of(const Tape& tape, const Value& value, bool per_item, Range& range) {
  const std::size_t size = tape.types().shape(value.shape).size;
  const Value& whole = tape.value(tape.node(value.node).value);
  const bool contiguous = value.items == 1 || value.stride == size;
  const bool fits =
      per_item ? value.items == whole.items && value.stride == whole.stride : contiguous;
  range = {value.offset, value.offset + size * (per_item ? 1 : value.items)};
  return fits;
}

}  // namespace

void Backward::run(std::span<const ValueRef> roots, bool full) {
  full_ = full;
  used_ = false;  // until it has ended
  run_.gradients.reset();
  shared_.clear();
  types_.assign(run_.types().type_count(), {});
  batch_gradients_.assign(run_.batches.size(), nullptr);
  batch_deferred_.assign(run_.batches.size(), nullptr);
  if (tapes_.size() < run_.end_tape) tapes_.resize(run_.end_tape);
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    tapes_[t].nodes.assign(run_.tapes[t].nodes.size(), NodeGradient{});
    tapes_[t].edges.resize(run_.tapes[t].tape->edges().size());
    tapes_[t].shared_roots.clear();
  }
  seed(roots);
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) mark_tape(t);
  for (std::size_t b = run_.batches.size(); b-- > 0;) {
    if (batch_gradients_[b] != nullptr) run_batch(static_cast<std::uint32_t>(b));
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
      shared_.seed(run_.identity_of({t, root.node}), root);
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
      node.active = node.seeded = true;
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
    return run_.gradients.allocate_array<std::byte>(
        size * size_of(tape.type_of(ref.node).signature.dtype));
  }
  const Batch& batch = run_.batches[state.batch];
  std::byte*& block = batch_gradients_[state.batch];
  if (block == nullptr) block = run_.gradients.allocate_array<std::byte>(batch.out_bytes);
  return block + (state.value - batch.out);
}

// What a node contributes to shared arguments: its gradient, or what its kernel has left for them.
const std::byte* Backward::contribution_of(NodeRef ref) const {
  const NodeState& state = run_.state(ref);
  const std::byte* deferred = batch_deferred_[state.batch];
  if (deferred == nullptr) return tapes_[ref.tape].nodes[ref.node].gradient;
  const Signature& signature = run_.tape(ref).type_of(ref.node).signature;
  const Batch& batch = run_.batches[state.batch];
  const std::size_t item =
      (state.value - batch.out) / (signature.output_size * size_of(signature.dtype));
  return deferred + item * signature.deferred_size * size_of(signature.dtype);
}

// From the last node to the first, so that all consumers of a node come before it.
void Backward::mark_tape(std::uint32_t tape_index) {
  const Tape& tape = *run_.tapes[tape_index].tape;
  std::vector<NodeGradient>& nodes = tapes_[tape_index].nodes;
  for (auto node = static_cast<NodeId>(nodes.size()); node-- > 0;) {
    if (!nodes[node].active) continue;
    const NodeRef ref{tape_index, node};
    if (nodes[node].gradient == nullptr) nodes[node].gradient = gradient_block(ref);
    choose_contributions(ref);
    const std::uint32_t first_edge = tape.node(node).first_edge;
    const std::span<const ValueId> inputs = tape.inputs_of(node);
    const TypeInputs& of_type = inputs_of_type(ref);
    nodes[node].reads_shared = of_type.collects;
    for (std::size_t j = inputs.size(); j-- > 0;) {
      if (of_type.is_collected(j)) continue;
      link(ref, first_edge + static_cast<std::uint32_t>(j), inputs[j]);
    }
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
      edge.place = run_.gradients.allocate_array<std::byte>(consumer_items * shape.size *
                                                            size_of(shape.dtype));
    }
    return;
  }
  NodeGradient& producer = tapes_[consumer.tape].nodes[value.node];
  edge.next = producer.first_consumer;
  edge.copies = value.items == 1 ? consumer_items : 1;
  edge.batch = state.batch;
  producer.first_consumer = edge_index;
  producer.active = true;
}

// All consumers of the node are linked.
void Backward::choose_contributions(NodeRef ref) {
  NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  if (node.first_consumer == kNone) return;
  const Tape& tape = run_.tape(ref);
  std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  EdgeGradient& first = edges[node.first_consumer];
  const bool whole = tape.edges()[node.first_consumer] == tape.node(ref.node).value;
  if (first.next == kNone && whole && first.copies == 1 && !node.seeded) {
    first.place = node.gradient;
    first.contribution = Contribution::written;
    return;
  }
  if (!node.seeded && group_contributions(ref)) return place_in_groups(ref);
  // Parts overlap: everything is added to zeros, or to what is there.
  if (!node.seeded) clear_gradient(ref);
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    place_in_slots(ref, e, Contribution::added_slot);
  }
}

// Finds the parts of the node that contributions cover; false if different ones overlap.
bool Backward::group_contributions(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  const bool per_item = run_.items_of(ref) > 1;
  std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  groups_.clear();
  for (std::uint32_t e = tapes_[ref.tape].nodes[ref.node].first_consumer; e != kNone;
       e = edges[e].next) {
    Range range;
    if (!range_of(tape, tape.value(tape.edges()[e]), per_item, range)) return false;
    std::size_t g = 0;
    for (; g < groups_.size(); ++g) {
      if (groups_[g].begin == range.begin && groups_[g].end == range.end) break;
      if (groups_[g].begin < range.end && range.begin < groups_[g].end) return false;
    }
    if (g == kMostGroups) return false;
    if (g == groups_.size()) groups_.push_back({range.begin, range.end, e});
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
  const NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  const Tape& tape = run_.tape(ref);
  const std::size_t element = size_of(tape.type_of(ref.node).signature.dtype);
  std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  std::size_t covered = 0;
  for (const Group& group : groups_) covered += group.end - group.begin;
  if (covered < output_size(tape, ref.node)) clear_gradient(ref);
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    EdgeGradient& edge = edges[e];
    const Group& group = groups_[edge.group];
    // Two that one call would write need slots.
    const bool pair = group.copies == 2 && group.first_batch != group.last_batch;
    if (group.copies == 1 || pair) {
      // Batches run backward from the last to the first.
      edge.place = node.gradient + group.begin * element;
      edge.contribution =
          edge.batch == group.last_batch ? Contribution::written : Contribution::added;
    } else {
      const bool is_first = group.first_edge == e;
      place_in_slots(ref, e, is_first ? Contribution::slot : Contribution::added_slot);
    }
  }
}

void Backward::place_in_slots(NodeRef ref, std::uint32_t edge_index, Contribution contribution) {
  const Tape& tape = run_.tape(ref);
  const Value& value = tape.value(tape.edges()[edge_index]);
  const Shape& shape = tape.types().shape(value.shape);
  EdgeGradient& edge = tapes_[ref.tape].edges[edge_index];
  edge.place = run_.gradients.allocate_array<std::byte>(std::max(edge.copies, value.items) *
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
    if (!nodes[node].reads_shared) continue;
    const NodeRef ref{tape_index, node};
    const std::byte* contribution = contribution_of(ref);
    const bool by_type = !nodes[node].reads_unnamed && run_.items_of(ref) == 1;
    if (by_type && shared_.contribute_by_type(ref, contribution)) continue;
    const std::span<const ValueId> inputs = tape.inputs_of(node);
    for (std::uint32_t j = 0; j < inputs.size(); ++j) {
      const Value& value = tape.value(inputs[j]);
      if (value.identity == 0 || !value.reaches_parameter) continue;
      const std::byte* slots = tapes_[tape_index].edges[tape.node(node).first_edge + j].place;
      shared_.contribute({ref, j, slots}, contribution);
    }
  }
}

const std::byte* Backward::gradient_of(NodeRef ref) const {
  if (!used_ || ref.tape >= tapes_.size() || ref.node >= tapes_[ref.tape].nodes.size()) {
    return nullptr;
  }
  const NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  return node.active ? node.gradient : nullptr;
}

}  // namespace dynet_like
