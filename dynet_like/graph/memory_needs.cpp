// Adds up the memory that each node needs, and the memory that each batch needs.
#include "dynet_like/graph/memory_needs.h"

#include <algorithm>
#include <bit>

#include "dynet_like/device/kernel.h"
#include "dynet_like/exec/run_rows.h"
#include "dynet_like/program/recursion_op.h"

namespace dynet_like::detail {

namespace {

// Every allocation is rounded up to whole cache lines.
constexpr std::size_t kLine = 64;
constexpr std::size_t rounded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// These policies make at most one batch per type and depth, in each lane. Others may make one batch
// per node.
bool has_batch_per_level(batching::Policy policy) {
  return policy == batching::Policy::automatic || policy == batching::Policy::depth;
}

}  // namespace

void MemoryNeeds::start_anew() {
  nodes_ = batches_ = 0;
  levels_.clear();
  early_.clear();
}

unsigned MemoryNeeds::lanes() const { return std::max(1u, options_.threads); }

std::size_t MemoryNeeds::bytes() const {
  const bool per_level = has_batch_per_level(options_.policy);
  return shared_ + nodes_ + batches_ * (per_level ? lanes() : 1) + bytes_of_early();
}

// Products run early only if a batch has fewer than kNarrow nodes on average.
std::size_t MemoryNeeds::bytes_of_early() const {
  std::size_t bytes = 0;
  for (const auto& [type, of] : early_) {
    const std::size_t narrow = kNarrow * of.levels * lanes();
    const bool per_level = has_batch_per_level(options_.policy);
    const std::size_t nodes = per_level ? std::min(of.nodes, narrow) : of.nodes;
    bytes += nodes * of.bytes + lanes() * of.bytes_of_lane;
  }
  return bytes;
}

void MemoryNeeds::count_early(const Tape& tape, NodeId node, bool begins_level) {
  const NodeType& type = tape.type_of(node);
  if (type.op->early == nullptr || !options_.device->is_cpu() || tape.items_of(node) > 1) return;
  constexpr std::uint64_t kAllInputs = ~std::uint64_t{0};
  const EarlyProducts most = type.op->early(type.signature, kAllInputs);
  if (most.inputs == 0) return;
  Early& of = early_[tape.node(node).type];
  const auto inputs = static_cast<std::size_t>(std::popcount(most.inputs));
  of.bytes = most.size * size_of(type.signature.dtype) + inputs * sizeof(void*);
  of.bytes_of_lane = bytes_of_batch(type);
  ++of.nodes;
  of.levels += begins_level ? 1 : 0;
}

void MemoryNeeds::add(const Tape& tape) {
  const bool per_level = has_batch_per_level(options_.policy);
  if (!options_.inference) count_consumers(tape);
  depth_.assign(tape.size(), 0);
  for (NodeId node = 0; node < tape.size(); ++node) {
    const NodeType& type = tape.type_of(node);
    const Value& value = tape.value(tape.node(node).value);
    if (type.op->role == Role::input) {
      nodes_ += rounded(tape.input_of(node).size * size_of(tape.dtype()));
      if (!options_.inference) nodes_ += bytes_of_node(tape, node, type);
    } else if (type.op->is_stored()) {
      continue;
    } else if (value.identity != 0) {
      if (!known_shared_.insert(value.identity).second) continue;
      shared_ += bytes_of_node(tape, node, type) + bytes_of_batch(type);
    } else {
      nodes_ += bytes_of_node(tape, node, type);
      depth_[node] = depth_below(tape, node) + 1;
      const bool begins_level = levels_.emplace(tape.node(node).type, depth_[node]).second;
      if (!per_level || begins_level) batches_ += bytes_of_batch(type);
      count_early(tape, node, begins_level);
    }
    if (!options_.inference) nodes_ += bytes_of_contributions(tape, node, type);
  }
}

std::uint32_t MemoryNeeds::depth_below(const Tape& tape, NodeId node) const {
  std::uint32_t depth = 0;
  for (ValueId input : tape.inputs_of(node))
    depth = std::max(depth, depth_[tape.value(input).node]);
  return depth;
}

std::size_t MemoryNeeds::bytes_of_node(const Tape& tape, NodeId node, const NodeType& type) const {
  const Signature& signature = type.signature;
  const std::size_t element = size_of(signature.dtype);
  std::size_t bytes = (signature.output_size + signature.saved_size) * element;
  for (std::size_t j = 0; j < type.inputs; ++j) {
    if (signature.shared[j] == 0) bytes += sizeof(void*);
  }
  if (type.op->role == Role::recursion) return bytes_of_recursion(tape, node, bytes);
  bytes += signature.integers * sizeof(std::uint32_t) + type.op->numbers.reals * element;
  if (!options_.inference) bytes += (signature.output_size + signature.deferred_size) * element;
  return bytes * tape.items_of(node);
}

// Programs keep the values that they compute at every vertex.
std::size_t MemoryNeeds::bytes_of_recursion(const Tape& tape, NodeId node,
                                            std::size_t of_vertex) const {
  const RecursionOp& op = recursion_of(tape.type_of(node).signature);
  const Vertices& vertices = *tape.recursion_of(node).vertices;
  if (!options_.inference) of_vertex += op.state_size * size_of(op.dtype);
  std::size_t bytes = of_vertex * vertices.size();
  for (std::uint32_t kind : vertices.kind) {
    bytes += op.bytes_of_vertex(vertices.kinds[kind], options_.inference);
  }
  return bytes;
}

// What a batch takes beside its nodes, or a step beside its vertices: the argument lists, and the
// rounding of each allocation.
std::size_t MemoryNeeds::bytes_of_batch(const NodeType& type) const {
  if (type.op->role == Role::recursion) return bytes_of_steps(recursion_of(type.signature));
  const Signature& signature = type.signature;
  // Outputs, arguments and what they are, and saved items; numbers; places of inputs.
  std::size_t pieces =
      3 + (signature.saved_size > 0) + (signature.integers > 0) + (type.op->numbers.reals > 0);
  for (std::size_t j = 0; j < type.inputs; ++j) pieces += signature.shared[j] == 0;
  if (!options_.inference) pieces += 1 + (signature.deferred_size > 0);
  return pieces * kLine + type.inputs * (sizeof(Operand) + sizeof(SharedArgument));
}

// Each step also has places of states, and products that run early.
std::size_t MemoryNeeds::bytes_of_steps(const RecursionOp& op) const {
  std::size_t bytes = 2 * kLine;  // outputs and their gradients
  for (const std::shared_ptr<const Program>& program : op.programs) {
    for (const Program::Step& step : program->steps) {
      bytes += bytes_of_batch((*op.types)[step.type]) + 2 * kLine;
    }
  }
  return bytes;
}

void MemoryNeeds::count_consumers(const Tape& tape) {
  consumers_.assign(tape.size(), {});
  for (NodeId node = 0; node < tape.size(); ++node) {
    const TypeId type = tape.node(node).type;
    for (ValueId input : tape.inputs_of(node)) {
      const Value& value = tape.value(input);
      Consumers& consumers = consumers_[value.node];
      if (consumers.contributions == 0) consumers.first_type = type;
      consumers.of_one_type = consumers.of_one_type && consumers.first_type == type;
      consumers.contributions += value.items == 1 ? tape.items_of(node) : 1;
    }
  }
}

// A value with more than two contributions to its gradient stores each of them separately. So does
// one with two that may come from one batch or that may overlap. The vertices of a recursion share
// out the columns of an input; see RecursionOp::bytes_of_vertex.
std::size_t MemoryNeeds::bytes_of_contributions(const Tape& tape, NodeId consumer,
                                                const NodeType& type) const {
  std::size_t bytes = 0;
  const std::uint32_t items = type.op->role == Role::recursion ? 1 : tape.items_of(consumer);
  for (std::size_t j = 0; j < type.inputs; ++j) {
    const Value& value = tape.value(tape.inputs_of(consumer)[j]);
    const Shape& shape = tape.types().shape(value.shape);
    const Consumers& all = consumers_[value.node];
    const bool whole = shape.size == tape.type_of(value.node).signature.output_size;
    const bool is_dense = value.identity != 0 && type.shared_gradients[j] == SharedGradient::dense;
    const bool has_slot = value.identity == 0 && (all.contributions > 2 || !whole ||
                                                  (all.contributions == 2 && all.of_one_type));
    if (is_dense || has_slot) {
      bytes += rounded(std::max(items, value.items) * shape.size * size_of(shape.dtype));
    }
  }
  return bytes;
}

}  // namespace dynet_like::detail
