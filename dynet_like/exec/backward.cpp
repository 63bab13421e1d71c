// Which nodes take part in a backward pass, and how their gradients are summed.
#include "dynet_like/exec/backward.h"

#include <algorithm>
#include <cstring>

namespace dynet_like {

namespace {

// Larger fan-outs are not worth the search for overlaps.
constexpr std::uint32_t kMostRanges = 16;

std::size_t output_size(const Tape& tape, NodeId node) {
  return tape.type_of(node).signature.output_size;
}

bool covers(const Tape& tape, const Value& value, NodeId node) {
  const Value& whole = tape.value(tape.node(node).value);
  const std::size_t size = tape.types().shape(value.shape).size;
  return value.offset == 0 && size * value.items == output_size(tape, node) * whole.items &&
         (value.items == 1 || value.stride == size);
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

void Backward::run(std::span<const ValueRef> roots, Gradients& gradients, bool full) {
  full_ = full;
  run_.gradients.reset();
  batch_gradients_.assign(run_.batches.size(), nullptr);
  batch_deferred_.assign(run_.batches.size(), nullptr);
  used_ = run_.tapes.size();
  if (tapes_.size() < used_) tapes_.resize(used_);
  for (std::size_t t = 0; t < used_; ++t) {
    tapes_[t].nodes.assign(run_.tapes[t].nodes.size(), NodeGradient{});
    tapes_[t].edges.assign(run_.tapes[t].tape->edges().size(), EdgeGradient{});
    tapes_[t].shared_edges.clear();
    tapes_[t].shared_roots.clear();
  }
  seed(roots);
  for (std::uint32_t t = 0; t < used_; ++t) mark_tape(t);
  for (std::size_t b = run_.batches.size(); b-- > 0;) {
    if (batch_gradients_[b] != nullptr) run_batch(static_cast<std::uint32_t>(b));
  }
  for (std::uint32_t t = 0; t < used_; ++t) {
    // Sources have no batch in which their slots could have been summed.
    for (NodeId node = 0; full && node < tapes_[t].nodes.size(); ++node) {
      if (tapes_[t].nodes[node].active && run_.tapes[t].nodes[node].batch == kNone) {
        sum_slots({t, node});
      }
    }
    for (const Value& root : tapes_[t].shared_roots) {
      shared_.seed(run_.identity_of({t, root.node}), root);
    }
    const auto& edges = tapes_[t].shared_edges;
    for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
      shared_.contribute(*edge, contribution_of(edge->consumer));
    }
  }
  shared_.flush(gradients);
}

void Backward::seed(std::span<const ValueRef> roots) {
  for (const ValueRef& root : roots) {
    const Tape& tape = *run_.tapes[root.tape].tape;
    const Value& value = tape.value(root.value);
    const NodeRef ref{root.tape, value.node};
    if (value.identity != 0) {
      if (is_wanted(value)) tapes_[root.tape].shared_roots.push_back(value);
      continue;
    }
    if (value.blocks_gradient) continue;
    NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
    const std::size_t element = size_of(tape.shape_of(root.value).dtype);
    const std::size_t all = output_size(tape, ref.node) * run_.output(ref).items;
    if (!node.seeded) {
      node.active = node.seeded = true;
      node.summing = Summing::slots;
      node.gradient = gradient_block(ref);
      std::memset(node.gradient, 0, all * element);
    }
    const std::size_t size = tape.shape_of(root.value).size;
    const void* addend = make_ones(run_, tape.shape_of(root.value));
    for (std::uint32_t item = 0; item < value.items; ++item) {
      std::byte* to = node.gradient + (value.offset + item * value.stride) * element;
      run_.device->add_all(tape.shape_of(root.value).dtype, to, size, {&addend, nullptr, 1});
    }
  }
}

// A block for the whole batch of the node, of which the node has its part; sources have their own.
std::byte* Backward::gradient_block(NodeRef ref) {
  const NodeState& state = run_.state(ref);
  if (state.batch == kNone) {
    const Tape& tape = run_.tape(ref);
    const std::size_t size = output_size(tape, ref.node) * run_.output(ref).items;
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
    choose_summing(ref);
    const std::uint32_t first_edge = tape.node(node).first_edge;
    const std::span<const ValueId> inputs = tape.inputs_of(node);
    for (std::size_t j = inputs.size(); j-- > 0;) {
      link(ref, first_edge + static_cast<std::uint32_t>(j), inputs[j]);
    }
  }
}

void Backward::link(NodeRef consumer, std::uint32_t edge_index, ValueId input) {
  const Tape& tape = run_.tape(consumer);
  const Value& value = tape.value(input);
  if (!is_wanted(value)) return;
  EdgeGradient& edge = tapes_[consumer.tape].edges[edge_index];
  const std::uint32_t consumer_items = run_.output(consumer).items;
  if (value.identity != 0) {
    const NodeType& type = tape.type_of(consumer.node);
    const std::uint32_t j = edge_index - tape.node(consumer.node).first_edge;
    if (type.op->shared_gradient(type.signature, j) == SharedGradient::dense) {
      edge.copies = consumer_items;
      const Shape& shape = tape.types().shape(value.shape);
      edge.slots = run_.gradients.allocate_array<std::byte>(consumer_items * shape.size *
                                                            size_of(shape.dtype));
    }
    tapes_[consumer.tape].shared_edges.push_back({consumer, j, edge.slots});
    return;
  }
  NodeGradient& producer = tapes_[consumer.tape].nodes[value.node];
  edge.next = producer.first_consumer;
  edge.copies = value.items == 1 ? consumer_items : 1;
  producer.first_consumer = edge_index;
  producer.contributions += edge.copies;
  producer.active = true;
}

void Backward::choose_summing(NodeRef ref) {
  NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  if (node.contributions == 0) return;
  const Tape& tape = run_.tape(ref);
  const std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  bool all_cover = true, stretched = false;
  std::uint32_t consumers = 0;
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    all_cover = all_cover && covers(tape, tape.value(tape.edges()[e]), ref.node);
    stretched = stretched || edges[e].copies > 1;
    ++consumers;
  }
  node.covered = all_cover;
  if (node.seeded || stretched || (all_cover && consumers > 2)) return add_slots(ref);
  if (all_cover) {
    node.summing = consumers == 1 ? Summing::in_place : Summing::pair;
    return;
  }
  // Parts of the node: in place if no two of them overlap.
  const Value& whole = run_.output(ref);
  Range ranges[kMostRanges];
  std::size_t covered = 0;
  bool disjoint = consumers <= kMostRanges;
  for (std::uint32_t e = node.first_consumer, i = 0; disjoint && e != kNone;
       e = edges[e].next, ++i) {
    disjoint = range_of(tape, tape.value(tape.edges()[e]), whole.items > 1, ranges[i]);
    for (std::uint32_t before = 0; disjoint && before < i; ++before) {
      disjoint = ranges[i].end <= ranges[before].begin || ranges[before].end <= ranges[i].begin;
    }
    covered += ranges[i].end - ranges[i].begin;
  }
  if (!disjoint) return add_slots(ref);
  const std::size_t size = output_size(tape, ref.node);
  if (covered < size) {
    std::memset(node.gradient, 0,
                size * whole.items * size_of(tape.type_of(ref.node).signature.dtype));
  }
}

void Backward::add_slots(NodeRef ref) {
  NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  const Tape& tape = run_.tape(ref);
  std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  node.summing = Summing::slots;
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    const Value& value = tape.value(tape.edges()[e]);
    const Shape& shape = tape.types().shape(value.shape);
    edges[e].slots = run_.gradients.allocate_array<std::byte>(
        std::max(edges[e].copies, value.items) * shape.size * size_of(shape.dtype));
  }
}

void Backward::sum_slots(NodeRef ref) {
  const NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  if (node.summing != Summing::slots || node.contributions == 0) return;
  const Tape& tape = run_.tape(ref);
  const std::vector<EdgeGradient>& edges = tapes_[ref.tape].edges;
  const DType dtype = tape.type_of(ref.node).signature.dtype;
  const std::size_t element = size_of(dtype);
  const std::size_t all = output_size(tape, ref.node) * run_.output(ref).items;
  if (node.covered) {
    addends_.clear();
    for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
      for (std::uint32_t copy = 0; copy < edges[e].copies; ++copy) {
        addends_.push_back(edges[e].slots + copy * all * element);
      }
    }
    const std::size_t skip = node.seeded ? 0 : 1;
    if (!node.seeded) std::memcpy(node.gradient, addends_[0], all * element);
    run_.device->add_all(dtype, node.gradient, all,
                         {addends_.data() + skip, nullptr, addends_.size() - skip});
    return;
  }
  if (!node.seeded) std::memset(node.gradient, 0, all * element);
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    const Value& value = tape.value(tape.edges()[e]);
    const std::size_t size = tape.types().shape(value.shape).size;
    const std::uint32_t parts = std::max(edges[e].copies, value.items);
    for (std::uint32_t part = 0; part < parts; ++part) {
      const std::size_t place = value.offset + (value.items == 1 ? 0 : part * value.stride);
      const void* addend = edges[e].slots + part * size * element;
      run_.device->add_all(dtype, node.gradient + place * element, size, {&addend, nullptr, 1});
    }
  }
}

const std::byte* Backward::gradient_of(NodeRef ref) const {
  if (ref.tape >= used_ || ref.node >= tapes_[ref.tape].nodes.size()) return nullptr;
  const NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
  return node.active ? node.gradient : nullptr;
}

}  // namespace dynet_like
