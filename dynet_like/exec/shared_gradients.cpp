// Adding up the gradients of shared values.
#include "dynet_like/exec/shared_gradients.h"

#include <algorithm>
#include <cstring>

#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace {

bool is_parameter(const Op* op) { return op == &ops::parameter || op == &ops::lookup_parameter; }

// Where a node's value lies, also when its tape's values were released but all tapes share it.
const std::byte* value_of(const RunState& run, NodeRef ref) {
  if (run.state(ref).value != nullptr) return run.state(ref).value;
  const Tape& tape = run.tape(ref);
  if (is_parameter(tape.type_of(ref.node).op)) return tape.storage_of(ref.node).values.data();
  return run.shared[run.identity_of(ref)].value;
}

}  // namespace

SharedGradients::Target& SharedGradients::target_of(NodeRef producer) {
  const Identity identity = run_.identity_of(producer);
  if (target_of_identity_.size() <= identity) {
    target_of_identity_.resize(run_.types().identity_count(), kNone);
  }
  std::uint32_t& index = target_of_identity_[identity];
  if (index == kNone) {
    index = static_cast<std::uint32_t>(used_++);
    if (targets_.size() < used_) targets_.emplace_back();
    targets_[index].node = producer;
  }
  return targets_[index];
}

void SharedGradients::seed(NodeRef ref, const Value& value) {
  const Shape& shape = run_.types().shape(value.shape);
  const std::size_t bytes = shape.size * size_of(shape.dtype);
  auto* ones = run_.gradients.allocate_array<std::byte>(bytes);
  for (std::size_t i = 0; i < shape.size; ++i) {
    Tensor(shape.dim, shape.dtype, ones).set(i, 1.0);
  }
  Target& target = target_of(ref);
  for (std::uint32_t item = 0; item < value.items; ++item) {
    target.contributions.push_back(
        {SharedGradient::sum, 0, value.offset + item * value.stride, shape.size, 1, ones, nullptr});
  }
}

void SharedGradients::contribute(const SharedEdge& edge, const std::byte* dy) {
  const Tape& tape = run_.tape(edge.consumer);
  const NodeType& type = tape.type_of(edge.consumer.node);
  const std::span<const ValueId> inputs = tape.inputs_of(edge.consumer.node);
  const Value& value = tape.value(inputs[edge.input]);
  const Signature& signature = type.signature;
  const SharedGradient kind = type.op->shared_gradient(signature, edge.input);
  const std::uint32_t size = tape.types().shape(value.shape).size;
  const auto output_size = static_cast<std::uint32_t>(signature.output_size);
  const std::size_t element = size_of(signature.dtype);
  const std::size_t dy_bytes = signature.output_size * element;
  std::vector<Contribution>& to = target_of({edge.consumer.tape, value.node}).contributions;
  const std::uint32_t items = run_.output(edge.consumer).items;
  for (std::uint32_t item = 0; item < items; ++item, dy += dy_bytes) {
    const std::uint32_t offset = value.offset + (value.items == 1 ? 0 : item * value.stride);
    if (kind == SharedGradient::dense) {
      to.push_back(
          {SharedGradient::sum, 0, offset, size, 1, edge.slots + item * size * element, nullptr});
    } else if (kind == SharedGradient::rows) {
      const std::uint32_t row = tape.integers_of(edge.consumer.node)[item];
      to.push_back({kind, row, 0, output_size, 1, dy, nullptr});
    } else if (kind == SharedGradient::sum) {
      for (std::uint32_t at = 0; at < output_size; at += size) {
        to.push_back({kind, 0, offset, size, 1, dy + at * element, nullptr});
      }
    } else {
      const Value& x = tape.value(inputs[edge.input + 1]);
      const std::uint32_t rows = signature.output.rows(), inner = size / rows;
      const std::byte* place = value_of(run_, {edge.consumer.tape, x.node});
      place += (x.offset + (x.items == 1 ? 0 : item * x.stride)) * element;
      for (std::uint32_t column = 0; column < signature.output.cols(); ++column) {
        to.push_back({kind, 0, offset, rows, inner, dy + std::size_t{column} * rows * element,
                      place + std::size_t{column} * inner * element});
      }
    }
  }
}

void SharedGradients::flush(Gradients& gradients) {
  for (std::size_t i = 0; i < used_; ++i) flush(targets_[i], gradients);
}

void SharedGradients::flush(Target& target, Gradients& gradients) {
  std::vector<Contribution>& all = target.contributions;
  if (all.empty()) return;
  const Tape& tape = run_.tape(target.node);
  const NodeType& type = tape.type_of(target.node.node);
  const DType dtype = type.signature.dtype;
  std::byte* sum = nullptr;
  ParameterStorage* storage = nullptr;
  std::vector<std::byte> whole_table;
  if (!is_parameter(type.op)) {
    sum = derived_gradient(target.node);
  } else {
    storage = &tape.storage_of(target.node.node);
    if (std::find(touched_.begin(), touched_.end(), storage) == touched_.end()) {
      touched_.push_back(storage);
    }
    if (!storage->is_table) sum = static_cast<std::byte*>(gradients.dense(*storage));
  }
  if (storage != nullptr && storage->is_table) {
    const bool as_whole = all.front().kind != SharedGradient::rows;
    if (as_whole) whole_table.resize(storage->size() * size_of(dtype));
    sum = whole_table.data();
  }
  for (std::size_t begin = 0, end; begin < all.size(); begin = end) {
    if (all[begin].kind == SharedGradient::rows) {
      end = begin + 1;
      const void* dy = all[begin].dy;
      std::byte* entry = gradients.rows(*storage).entry(*storage, all[begin].row);
      run_.device->add_all(dtype, entry, all[begin].rows, {&dy, nullptr, 1});
      continue;
    }
    for (end = begin + 1; end < all.size() && all[end].joins(all[begin]);) ++end;
    add(dtype, sum, std::span(all).subspan(begin, end - begin));
  }
  all.clear();
  if (whole_table.empty()) return;
  const std::size_t bytes = storage->entry_size() * size_of(dtype);
  for (std::uint32_t row = 0; row < storage->rows(); ++row) {
    const void* from = whole_table.data() + row * bytes;
    run_.device->add_all(dtype, gradients.rows(*storage).entry(*storage, row),
                         storage->entry_size(), {&from, nullptr, 1});
  }
}

void SharedGradients::add(DType dtype, std::byte* sum, std::span<const Contribution> run) {
  dy_.clear();
  x_.clear();
  for (const Contribution& contribution : run) {
    dy_.push_back(contribution.dy);
    x_.push_back(contribution.x);
  }
  const Contribution& first = run[0];
  sum += first.offset * size_of(dtype);
  if (first.kind == SharedGradient::outer_product) {
    run_.device->add_outer_products(dtype, sum, first.rows, first.columns,
                                    {dy_.data(), x_.data(), dy_.size()});
  } else {
    run_.device->add_all(dtype, sum, first.rows, {dy_.data(), nullptr, dy_.size()});
  }
}

std::byte* SharedGradients::derived_gradient(NodeRef ref) {
  SharedValue& shared = run_.shared[run_.identity_of(ref)];
  if (!shared.has_gradient) {
    const NodeType& type = run_.tape(ref).type_of(ref.node);
    const std::size_t bytes =
        type.signature.output_size * run_.output(ref).items * size_of(type.signature.dtype);
    if (shared.gradient == nullptr) {
      shared.gradient = run_.shared_values.allocate_array<std::byte>(bytes);
    }
    std::memset(shared.gradient, 0, bytes);
    shared.has_gradient = true;
  }
  return shared.gradient;
}

void SharedGradients::begin() {
  for (SharedValue& shared : run_.shared) shared.has_gradient = false;
}

// From the last to the first, since a value's identity is larger than those it follows from.
void SharedGradients::finish(Gradients& gradients) {
  for (std::size_t i = run_.shared.size(); i-- > 0;) {
    if (run_.shared[i].has_gradient) run_backward(run_.shared[i], gradients);
  }
  for (ParameterStorage* storage : touched_) {
    if (run_.on_gradient_complete) run_.on_gradient_complete(*storage);
  }
  touched_.clear();
  used_ = 0;
  std::fill(target_of_identity_.begin(), target_of_identity_.end(), kNone);
}

void SharedGradients::run_backward(const SharedValue& shared, Gradients& gradients) {
  const NodeRef ref = shared.representative;
  const Tape& tape = run_.tape(ref);
  const Batch& batch = run_.batches[shared.batch];
  const NodeType& type = tape.type_of(ref.node);
  const Signature& signature = type.signature;
  const std::size_t element = size_of(signature.dtype);
  const std::uint32_t items = run_.output(ref).items;
  const std::size_t first = (shared.value - batch.out) / (signature.output_size * element);

  std::vector<Operand> in;
  std::vector<std::vector<void*>> places(type.inputs);
  std::vector<Destination> dx(type.inputs);
  std::vector<SharedEdge> edges;
  const std::vector<std::uint8_t> add(items, 0);
  bool wanted = false;
  for (unsigned j = 0; j < type.inputs; ++j) {
    in.push_back(batch.inputs[j]);
    if (in[j].items != nullptr) in[j].items += first;
    const Value& value = tape.value(tape.inputs_of(ref.node)[j]);
    if (!value.reaches_parameter) continue;
    edges.push_back({ref, j, nullptr});
    if (type.op->shared_gradient(signature, j) != SharedGradient::dense) continue;
    const std::size_t bytes = tape.types().shape(value.shape).size * element;
    auto* slots = run_.gradients.allocate_array<std::byte>(items * bytes);
    for (std::uint32_t item = 0; item < items; ++item) places[j].push_back(slots + item * bytes);
    dx[j] = {places[j].data(), add.data()};
    edges.back().slots = slots;
    wanted = true;
  }
  std::vector<const void*> out, saved, dy;
  for (std::uint32_t item = 0; item < items; ++item) {
    const std::size_t at = item * signature.output_size * element;
    out.push_back(shared.value + at);
    dy.push_back(shared.gradient + at);
    saved.push_back(batch.saved + (first + item) * signature.saved_size * element);
  }
  BackwardCall call{&signature, items,   in.data(), {},          {},     {dy.data(), nullptr},
                    dx.data(),  nullptr, nullptr,   run_.random, nullptr};
  if (!type.op->needs_inputs()) call.in = nullptr;
  if (type.op->needs_output()) call.out.items = out.data();
  if (batch.saved != nullptr) call.saved.items = saved.data();
  if (batch.integers != nullptr)
    call.integers = batch.integers + first * type.op->integers_per_item;
  if (batch.reals != nullptr) {
    call.reals =
        static_cast<const std::byte*>(batch.reals) + first * type.op->reals_per_item * element;
  }
  if (wanted) {
    run_.device->backward(run_.kernels(batch.type).backward[static_cast<int>(signature.dtype)],
                          call);
    ++run_.counts[batch.type].backward_calls;
  }
  for (const SharedEdge& edge : edges) contribute(edge, shared.gradient);
  flush(gradients);
}

}  // namespace dynet_like
