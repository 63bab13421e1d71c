// The life of values: asked for, released, reverted, forgotten.
#include "dynet_like/exec/executor.h"

#include <algorithm>
#include <cstring>

#include "dynet_like/ops/structured.h"

namespace dynet_like {

std::uint32_t Executor::add_tape(Tape& tape) {
  run_.tapes.push_back({&tape, {}});
  if (!spare_.empty()) {
    run_.tapes.back().nodes = std::move(spare_.back());
    spare_.pop_back();
  }
  return static_cast<std::uint32_t>(run_.tapes.size() - 1);
}

Tensor Executor::value(ValueRef ref) {
  const Tape& tape = *run_.tapes[ref.tape].tape;
  const NodeId node = tape.value(ref.value).node;
  const std::vector<NodeState>& nodes = run_.tapes[ref.tape].nodes;
  if (node >= nodes.size() || nodes[node].value == nullptr) {
    forward_.compute(std::span(&ref, 1), false);
  }
  if (tape.type_of(node).op == &ops::lookup_parameter) {
    RowRefresher* refresher = tape.storage_of(node).refresher.get();
    if (refresher != nullptr) refresher->refresh_all();
  }
  return contiguous(ref, run_.tapes[ref.tape].nodes[node].value, value_copies_);
}

// A tensor is contiguous: items of a view with gaps between them are copied together, once.
Tensor Executor::contiguous(ValueRef ref, const std::byte* node, Copies& copies) {
  const Tape& tape = *run_.tapes[ref.tape].tape;
  const Value& value = tape.value(ref.value);
  const Shape& shape = tape.shape_of(ref.value);
  const std::size_t element = size_of(shape.dtype);
  const std::byte* begin = node + value.offset * element;
  if (tape.is_contiguous(ref.value)) {
    return Tensor(tape.dim_of(ref.value), shape.dtype, const_cast<std::byte*>(begin));
  }
  std::vector<std::byte>& copy = copies[{ref.tape, ref.value}];
  copy.resize(value.items * shape.size * element);
  for (std::uint32_t item = 0; item < value.items; ++item) {
    std::memcpy(copy.data() + item * shape.size * element, begin + item * value.stride * element,
                shape.size * element);
  }
  return Tensor(tape.dim_of(ref.value), shape.dtype, copy.data());
}

Tensor Executor::gradient(ValueRef ref, const Gradients& gradients) {
  const Tape& tape = *run_.tapes[ref.tape].tape;
  const Value& value = tape.value(ref.value);
  const NodeRef node{ref.tape, value.node};
  const std::byte* gradient = nullptr;
  const Op* op = tape.type_of(value.node).op;
  if (value.blocks_gradient) {
    gradient = nullptr;
  } else if (op == &ops::parameter) {
    gradient = static_cast<const std::byte*>(gradients.find_dense(tape.storage_of(value.node)));
  } else if (op == &ops::lookup_parameter) {
    gradient = whole_table(tape.storage_of(value.node), gradients);
  } else if (value.identity != 0) {
    const Identity identity = run_.identity_of(node);
    if (identity < run_.shared.size() && run_.shared[identity].has_gradient) {
      gradient = run_.shared[identity].gradient;
    }
  } else {
    gradient = backward_.gradient_of(node);
  }
  if (gradient != nullptr) return contiguous(ref, gradient, gradient_copies_);
  const Shape& shape = tape.shape_of(ref.value);
  std::vector<std::byte>& zeros = gradient_copies_[{ref.tape, ref.value}];
  zeros.assign(std::size_t{shape.size} * value.items * size_of(shape.dtype), std::byte{0});
  return Tensor(tape.dim_of(ref.value), shape.dtype, zeros.data());
}

const std::byte* Executor::whole_table(const ParameterStorage& table, const Gradients& gradients) {
  const Gradients::Rows* rows = gradients.find_rows(table);
  if (rows == nullptr) return nullptr;
  const std::size_t bytes = table.entry_size() * size_of(table.dtype);
  table_gradient_.assign(table.rows() * bytes, std::byte{0});
  for (std::uint32_t row : rows->rows) {
    std::memcpy(table_gradient_.data() + row * bytes, rows->find(table, row), bytes);
  }
  return table_gradient_.data();
}

bool Executor::parameters_changed() const {
  return std::any_of(run_.read_parameters.begin(), run_.read_parameters.end(),
                     [](const auto& read) { return read.first->version != read.second; });
}

void Executor::release() {
  ++releases_;
  count_released_bounds(run_);
  std::vector<Batch> kept;
  std::vector<std::uint32_t> new_index(run_.batches.size(), kNone);
  for (std::size_t b = 0; b < run_.batches.size(); ++b) {
    if (!run_.batches[b].shared) continue;
    new_index[b] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(run_.batches[b]);
    kept.back().members = 0;  // what backward needs of them is in the shared values
  }
  for (SharedValue& shared : run_.shared) {
    if (shared.batch != kNone) shared.batch = new_index[shared.batch];
  }
  for (TapeState& tape : run_.tapes) {
    std::fill(tape.nodes.begin(), tape.nodes.end(), NodeState{});
  }
  run_.batches = std::move(kept);
  run_.members.clear();
  run_.values.reset();
  run_.inputs.reset();
  run_.lists.reset();
  run_.gradients.reset();
  forget_gradients();
  value_copies_.clear();
}

void Executor::forget_gradients() {
  backward_.forget();
  gradient_copies_.clear();
}

void Executor::invalidate() {
  release();
  for (TapeState& tape : run_.tapes) tape.nodes.clear();
  run_.batches.clear();
  run_.shared.clear();
  run_.shared_values.reset();
  run_.read_parameters.clear();
  run_.reads_lazy_tables = false;
}

Executor::Mark Executor::mark() const {
  return {releases_, run_.batches.size(), run_.members.size(), run_.values.arena().mark(),
          run_.lists.mark()};
}

// Batches since the mark lose the nodes that are reverted. If nothing else ran since then, their
// memory is given back; shared values stay, they have memory of their own.
void Executor::revert(std::uint32_t tape, std::size_t nodes, const Mark& since) {
  TapeState& state = run_.tapes[tape];
  Mark mark = since;
  if (mark.releases != releases_) mark = {};
  bool all_reverted = true;
  for (std::size_t m = mark.members; m < run_.members.size(); ++m) {
    NodeRef& member = run_.members[m];
    if (member.node == kNone) continue;
    if (member.tape == tape && member.node >= nodes) {
      member = {run_.output(member).items, kNone};
    } else {
      all_reverted = false;
    }
  }
  for (std::size_t b = mark.batches; b < run_.batches.size(); ++b) {
    all_reverted = all_reverted && !run_.batches[b].shared;
  }
  if (all_reverted) {
    run_.batches.resize(mark.batches);
    run_.members.resize(mark.members);
    run_.values.rewind(mark.values);
    run_.lists.rewind(mark.lists);
  }
  state.nodes.resize(std::min(state.nodes.size(), nodes));
  std::erase_if(value_copies_, [&](const auto& copy) { return copy.first.first == tape; });
  forget_gradients();
}

void Executor::clear() {
  invalidate();
  for (TapeState& tape : run_.tapes) spare_.push_back(std::move(tape.nodes));
  run_.tapes.clear();
  run_.kernels_of_type.clear();
  run_.counts.clear();
  run_.released_bounds.clear();
  run_.copied_bytes = 0;
  run_.plan_seconds = run_.kernel_seconds = 0;
  run_.take_step();
}

std::size_t Executor::bytes_needed(std::uint32_t tape_index, bool with_gradients) const {
  const Tape& tape = *run_.tapes[tape_index].tape;
  std::size_t bytes = 0;
  for (NodeId node = 0; node < tape.size(); ++node) {
    const NodeType& type = tape.type_of(node);
    if (type.op == &ops::parameter || type.op == &ops::lookup_parameter) continue;
    const std::size_t items = tape.value(tape.node(node).value).items;
    const std::size_t element = size_of(type.signature.dtype);
    bytes += items * (type.signature.output_size + type.signature.saved_size) * element;
    bytes += items * type.inputs * sizeof(void*);
    if (with_gradients) bytes += items * type.signature.output_size * element;
  }
  return bytes;
}

}  // namespace dynet_like
