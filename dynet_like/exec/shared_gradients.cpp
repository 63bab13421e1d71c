// Adding up the gradients of shared values.
#include "dynet_like/exec/shared_gradients.h"

#include <algorithm>
#include <cstring>

#include "dynet_like/exec/checks.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

std::byte* make_ones(RunState& run, const Shape& shape) {
  auto* ones = run.gradients.allocate_array<std::byte>(shape.size * size_of(shape.dtype));
  const Tensor tensor(shape.dim, shape.dtype, ones);
  for (std::size_t i = 0; i < shape.size; ++i) tensor.set(i, 1.0);
  return ones;
}

void SharedGradients::begin() {
  for (SharedValue& shared : run_.shared) shared.has_gradient = false;
  for (std::size_t i = 0; i < used_; ++i) targets_[i].clear();
  used_ = 0;
  std::fill(target_of_identity_.begin(), target_of_identity_.end(), kNone);
  touched_.clear();
  for (TypeContributions& type : of_type_) type.known = false;
}

void SharedGradients::Target::clear() {
  runs.clear();
  dy.clear();
  x.clear();
}

std::uint32_t SharedGradients::target_index(Identity identity) {
  if (target_of_identity_.size() <= identity) {
    target_of_identity_.resize(run_.types().identity_count(), kNone);
  }
  std::uint32_t& index = target_of_identity_[identity];
  if (index == kNone) {
    index = static_cast<std::uint32_t>(used_++);
    if (targets_.size() < used_) targets_.emplace_back();
    targets_[index].identity = identity;
  }
  return index;
}

void SharedGradients::seed(Identity identity, const Value& value) {
  const Shape& shape = run_.types().shape(value.shape);
  const std::byte* ones = make_ones(run_, shape);
  for (std::uint32_t item = 0; item < value.items; ++item) {
    const std::uint32_t offset = value.offset + item * value.stride;
    target_of(identity).add({SharedGradient::sum, 0, offset, shape.size, 1}, ones, nullptr);
  }
}

void SharedGradients::contribute(const SharedEdge& edge, const std::byte* dy) {
  const Tape& tape = run_.tape(edge.consumer);
  const NodeId node = edge.consumer.node;
  const NodeType& type = tape.type_of(node);
  const std::span<const ValueId> inputs = tape.inputs_of(node);
  const Value& value = tape.value(inputs[edge.input]);
  const Value* factor =
      edge.input + 1 < inputs.size() ? &tape.value(inputs[edge.input + 1]) : nullptr;
  contribute(
      {&type, run_.output(edge.consumer).items, edge.input, &value,
       run_.identity_of({edge.consumer.tape, value.node}), factor,
       factor == nullptr ? nullptr : run_.tapes[edge.consumer.tape].nodes[factor->node].value,
       type.op->integers_per_item == 0 ? std::span<const std::uint32_t>() : tape.integers_of(node),
       edge.slots},
      dy);
}

// Arguments that a type names are the same for all its nodes, so what is found out for one holds
// for all. Not so for stacked arguments that happen to be parameters.
void SharedGradients::describe(TypeContributions& contributions, NodeRef example) {
  const Tape& tape = run_.tape(example);
  const NodeType& type = tape.type_of(example.node);
  const Signature& signature = type.signature;
  contributions.known = contributions.complete = true;
  contributions.all.clear();
  const std::span<const ValueId> inputs = tape.inputs_of(example.node);
  for (std::uint32_t j = 0; j < inputs.size(); ++j) {
    const Value& value = tape.value(inputs[j]);
    if (signature.shared[j] == 0 || value.identity == 0 || !value.reaches_parameter) continue;
    const SharedGradient kind = type.shared_gradients[j];
    const Dim& dim = signature.inputs[j];
    const bool deferred = signature.deferred_size > 0;
    const auto size = static_cast<std::uint32_t>(dim.size());
    Place place{kind, 0, value.offset, size, 1};
    if (kind == SharedGradient::outer_product) {
      place.rows = dim.rows();
      place.columns = dim.cols();
      contributions.complete &= signature.inputs[j + 1].cols() == 1;
    } else if (kind == SharedGradient::rows) {
      place.rows = static_cast<std::uint32_t>(signature.output_size);
    } else {
      contributions.complete &=
          kind == SharedGradient::sum && (deferred || size == signature.output_size);
    }
    const std::size_t offset = deferred ? type.op->deferred_offset(signature, j) : 0;
    const Identity producer = run_.identity_of({example.tape, value.node});
    contributions.all.push_back(
        {j, target_index(producer), place, offset * size_of(signature.dtype)});
  }
}

bool SharedGradients::contribute_by_type(NodeRef consumer, const std::byte* dy) {
  const Tape& tape = run_.tape(consumer);
  const TypeId id = tape.node(consumer.node).type;
  if (of_type_.size() <= id) of_type_.resize(run_.types().type_count());
  TypeContributions& contributions = of_type_[id];
  if (!contributions.known) describe(contributions, consumer);
  if (!contributions.complete) return false;
  const std::span<const ValueId> inputs = tape.inputs_of(consumer.node);
  for (const TypeContribution& contribution : contributions.all) {
    Target& target = targets_[contribution.target];
    Place place = contribution.place;
    const std::byte* factor = nullptr;
    if (place.kind == SharedGradient::outer_product) {
      const Value& x = tape.value(inputs[contribution.input + 1]);
      factor = run_.tapes[consumer.tape].nodes[x.node].value +
               x.offset * size_of(run_.types()[id].signature.dtype);
    } else if (place.kind == SharedGradient::rows) {
      place.row = tape.integers_of(consumer.node)[0];
    }
    target.add(place, dy + contribution.dy_bytes, factor);
  }
  return true;
}

void SharedGradients::contribute(const Consumer& consumer, const std::byte* dy) {
  const NodeType& type = *consumer.type;
  const Signature& signature = type.signature;
  const Value& value = *consumer.value;
  const SharedGradient kind = type.shared_gradients[consumer.input];
  const std::uint32_t size = run_.types().shape(value.shape).size;
  const std::size_t element = size_of(signature.dtype);
  const bool deferred = signature.deferred_size > 0;
  const std::size_t dy_size = deferred ? signature.deferred_size : signature.output_size;
  if (deferred) dy += type.op->deferred_offset(signature, consumer.input) * element;
  Target& to = target_of(consumer.producer);
  for (std::uint32_t item = 0; item < consumer.items; ++item, dy += dy_size * element) {
    const std::uint32_t offset = value.offset + (value.items == 1 ? 0 : item * value.stride);
    if (kind == SharedGradient::dense) {
      const std::byte* slot = consumer.slots + std::size_t{item} * size * element;
      to.add({SharedGradient::sum, 0, offset, size, 1}, slot, nullptr);
    } else if (kind == SharedGradient::rows) {
      const auto entry = static_cast<std::uint32_t>(dy_size);
      to.add({kind, consumer.integers[item], offset, entry, 1}, dy, nullptr);
    } else if (kind == SharedGradient::sum) {
      const std::size_t end = deferred ? size : dy_size;
      for (std::size_t at = 0; at < end; at += size) {
        to.add({kind, 0, offset, size, 1}, dy + at * element, nullptr);
      }
    } else {
      const Value& x = *consumer.factor;
      const Dim& matrix = signature.inputs[consumer.input];
      const Place place{kind, 0, offset, matrix.rows(), matrix.cols()};
      const std::byte* factor =
          consumer.factor_node + (x.offset + (x.items == 1 ? 0 : item * x.stride)) * element;
      const std::uint32_t columns = signature.inputs[consumer.input + 1].cols();
      for (std::size_t column = 0; column < columns; ++column) {
        to.add(place, dy + column * place.rows * element,
               factor + column * place.columns * element);
      }
    }
  }
}

void SharedGradients::flush(Gradients& gradients) {
  for (std::size_t i = 0; i < used_; ++i) flush(targets_[i], gradients);
}

void SharedGradients::flush(Target& target, Gradients& gradients) {
  if (target.runs.empty()) return;
  SharedValue& shared = run_.shared[target.identity];
  const Signature& signature = run_.types()[shared.type].signature;
  bool fresh = false;
  if (shared.parameter == nullptr) {
    std::byte* sum = derived_gradient(shared, fresh);
    add_all(target, signature.dtype, sum, signature.output_size * shared.items, fresh);
  } else {
    ParameterStorage& parameter = *shared.parameter;
    if (std::find(touched_.begin(), touched_.end(), &parameter) == touched_.end()) {
      touched_.push_back(&parameter);
    }
    if (parameter.is_table) {
      flush_table(target, parameter, gradients);
    } else {
      auto* sum = static_cast<std::byte*>(gradients.dense(parameter, fresh));
      add_all(target, signature.dtype, sum, parameter.size(), fresh);
      check(shared, sum);
    }
  }
  target.clear();
}

// Rows one by one; if the table was used as a whole, too, or in another shape, all rows are brought
// together for it.
void SharedGradients::flush_table(const Target& target, ParameterStorage& table,
                                  Gradients& gradients) {
  const bool as_whole = std::any_of(target.runs.begin(), target.runs.end(), [&](const Run& run) {
    return run.place.kind != SharedGradient::rows || run.place.offset != 0 ||
           run.place.rows != table.entry_size();
  });
  Gradients::Rows& rows = gradients.rows(table);
  if (!as_whole) {
    for (std::size_t r = 0; r < target.runs.size(); ++r) {
      run_.device->add_all(table.dtype, rows.entry(table, target.runs[r].place.row),
                           table.entry_size(), target.addends(r));
    }
    return;
  }
  const std::size_t bytes = table.entry_size() * size_of(table.dtype);
  std::vector<std::byte> whole(table.rows() * bytes);
  for (std::uint32_t row = 0; row < table.rows(); ++row) {
    std::memcpy(whole.data() + row * bytes, rows.entry(table, row), bytes);
  }
  add_all(target, table.dtype, whole.data(), table.size(), false);
  for (std::uint32_t row = 0; row < table.rows(); ++row) {
    std::memcpy(rows.entry(table, row), whole.data() + row * bytes, bytes);
  }
}

// `fresh`: the sum, of `size` elements, holds nothing yet.
void SharedGradients::add_all(const Target& target, DType dtype, std::byte* sum, std::size_t size,
                              bool fresh) {
  for (std::size_t r = 0; r < target.runs.size(); ++r) {
    const Place& place = target.runs[r].place;
    if (fresh && std::size_t{place.rows} * place.columns != size) {
      std::memset(sum, 0, size * size_of(dtype));
      fresh = false;
    }
    const std::size_t at = place.offset + std::size_t{place.row} * place.rows;
    std::byte* to = sum + at * size_of(dtype);
    if (place.kind == SharedGradient::outer_product) {
      run_.device->add_outer_products(dtype,
                                      {to, place.rows, place.columns, target.addends(r), fresh});
    } else {
      run_.device->add_all(dtype, to, place.rows, target.addends(r), fresh);
    }
    fresh = false;
  }
}

// The sum of what consumers contributed; `fresh`: nothing so far, and not even zeros are there.
std::byte* SharedGradients::derived_gradient(SharedValue& shared, bool& fresh) {
  fresh = !shared.has_gradient;
  if (shared.gradient == nullptr) {
    const Signature& signature = run_.types()[shared.type].signature;
    const std::size_t bytes = signature.output_size * shared.items * size_of(signature.dtype);
    shared.gradient = run_.shared_values.allocate_array<std::byte>(bytes);
  }
  shared.has_gradient = true;
  return shared.gradient;
}

// From the last to the first, since a value's identity is larger than those it follows from.
void SharedGradients::finish(Gradients& gradients) {
  for (std::size_t i = run_.shared.size(); i-- > 0;) {
    if (run_.shared[i].has_gradient) run_backward(run_.shared[i], gradients);
  }
  if (!run_.on_gradient_complete) return;
  for (const ParameterStorage* parameter : std::vector(touched_)) {
    run_.on_gradient_complete(*parameter);
  }
}

void SharedGradients::run_backward(const SharedValue& shared, Gradients& gradients) {
  const Batch& batch = run_.batches[shared.batch];
  const NodeType& type = run_.types()[shared.type];
  const Signature& signature = type.signature;
  const std::size_t element = size_of(signature.dtype);
  const std::uint32_t items = shared.items;
  const std::size_t first = (shared.value - batch.out) / (signature.output_size * element);
  check(shared, shared.gradient);

  std::vector<Operand> in;
  std::vector<std::vector<void*>> places(type.inputs);
  std::vector<Destination> dx(type.inputs);
  std::vector<const std::byte*> slots(type.inputs);
  const std::vector<std::uint8_t> add(items, 0);
  bool wanted = false;
  for (unsigned j = 0; j < type.inputs; ++j) {
    in.push_back(batch.inputs[j]);
    in[j].packed = nullptr;
    if (in[j].items != nullptr) in[j].items += first;
    const Value& value = shared.inputs[j].value;
    if (!value.reaches_parameter) continue;
    if (type.shared_gradients[j] != SharedGradient::dense) continue;
    const std::size_t bytes = run_.types().shape(value.shape).size * element;
    auto* memory = run_.gradients.allocate_array<std::byte>(items * bytes);
    for (std::uint32_t item = 0; item < items; ++item) places[j].push_back(memory + item * bytes);
    dx[j] = {places[j].data(), add.data()};
    slots[j] = memory;
    wanted = true;
  }
  std::vector<const void*> out, saved, dy;
  for (std::uint32_t item = 0; item < items; ++item) {
    const std::size_t at = item * signature.output_size * element;
    out.push_back(shared.value + at);
    dy.push_back(shared.gradient + at);
    saved.push_back(batch.saved + (first + item) * signature.saved_size * element);
  }
  std::vector<void*> deferred;
  std::byte* left = nullptr;
  if (signature.deferred_size > 0) {
    const std::size_t bytes = signature.deferred_size * element;
    left = run_.gradients.allocate_array<std::byte>(items * bytes);
    for (std::uint32_t item = 0; item < items; ++item) deferred.push_back(left + item * bytes);
    wanted = true;
  }
  BackwardCall call;
  call.type = &signature;
  call.n = items;
  call.in = in.data();
  call.dy.items = dy.data();
  call.dx = dx.data();
  call.random = run_.random;
  if (left != nullptr) call.deferred = deferred.data();
  if (!type.op->needs_inputs()) call.in = nullptr;
  if (type.op->needs_output()) call.out.items = out.data();
  if (batch.saved != nullptr) call.saved.items = saved.data();
  std::span<const std::uint32_t> integers;
  if (batch.integers != nullptr) {
    const std::size_t each = type.op->integers_per_item;
    integers = std::span(batch.integers + first * each, items * each);
    call.integers = integers.data();
  }
  if (batch.reals != nullptr) {
    call.reals =
        static_cast<const std::byte*>(batch.reals) + first * type.op->reals_per_item * element;
  }
  if (wanted) {
    run_.device->backward(run_.kernels(shared.type).backward[static_cast<int>(signature.dtype)],
                          call);
    ++run_.counts[shared.type].backward_calls;
  }
  for (unsigned j = 0; j < type.inputs; ++j) {
    const SharedInput& input = shared.inputs[j];
    if (!input.value.reaches_parameter) continue;
    const bool has_factor = j + 1 < type.inputs;
    contribute({&type, items, j, &input.value, input.producer,
                has_factor ? &shared.inputs[j + 1].value : nullptr,
                has_factor ? run_.shared[shared.inputs[j + 1].producer].value : nullptr, integers,
                slots[j]},
               left != nullptr ? left : shared.gradient);
  }
  flush(gradients);
}

// detect_anomaly, for what has no node of its own in a batch.
void SharedGradients::check(const SharedValue& shared, const std::byte* gradient) const {
  if (!run_.options.detect_anomaly) return;
  const NodeType& type = run_.types()[shared.type];
  const std::string name = shared.parameter != nullptr
                               ? "parameter " + shared.parameter->name
                               : std::string(type.op->name) + ", computed once for all samples";
  check_finite(name, "gradient", type.signature.dtype, gradient,
               type.signature.output_size * shared.items);
}

}  // namespace dynet_like
