// The life of values: asked for, released, reverted, forgotten.
#include "dynet_like/exec/executor.h"

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/exec/make_report.h"

namespace dynet_like::detail {

std::uint32_t Executor::add_tape(Tape& tape) {
  const Running::Use use(tape.types().runs);
  make_room(common_.tapes);
  spare_.reserve(common_.tapes.capacity());  // `clear` must not fail
  common_.tapes.push_back({&tape, {}});
  if (!spare_.empty()) {
    common_.tapes.back().nodes = std::move(spare_.back());
    spare_.pop_back();
  }
  note_recording_begins();
  // The last lane has the last tapes, so that the order of lanes is that of recording.
  lanes_[used_lanes_ - 1]->run.end_tape = static_cast<std::uint32_t>(common_.tapes.size());
  return static_cast<std::uint32_t>(common_.tapes.size() - 1);
}

Tensor Executor::value(ValueRef ref) {
  const Tape& tape = *common_.tapes[ref.tape].tape;
  const NodeId node = tape.value(ref.value).node;
  const std::vector<NodeState>& nodes = common_.tapes[ref.tape].nodes;
  if (node >= nodes.size() || nodes[node].value == nullptr) {
    const auto copy = value_copies_.find({ref.tape, ref.value});
    if (copy != value_copies_.end()) {
      return Tensor(tape.dim_of(ref.value), tape.shape_of(ref.value).dtype, copy->second.data());
    }
    forward(std::span(&ref, 1));
  }
  if (tape.type_of(node).op->role == Role::table) {
    tape.storage_of(node).refresh_rows();
  }
  if (!is_on_cpu() && tape.value(ref.value).identity == 0) {
    const auto copy = value_copies_.find({ref.tape, ref.value});
    if (copy != value_copies_.end()) {
      return Tensor(tape.dim_of(ref.value), tape.shape_of(ref.value).dtype, copy->second.data());
    }
  }
  const NodeState& state = common_.tapes[ref.tape].nodes[node];
  if (is_on_cpu() && state.batch != kNone && tape.value(ref.value).identity == 0) {
    lane_of(ref.tape).run.batches[state.batch].is_handed_out = true;
  }
  return contiguous(ref, state.value, value_copies_);
}

// A tensor is contiguous and in this process's memory: items of a view with gaps between them are
// copied together, once, and so is what lies on another device.
Tensor Executor::contiguous(ValueRef ref, const std::byte* node, Copies& copies) {
  const Tape& tape = *common_.tapes[ref.tape].tape;
  const Value& value = tape.value(ref.value);
  const Shape& shape = tape.shape_of(ref.value);
  const std::size_t element = size_of(shape.dtype);
  const std::byte* begin = node + value.offset * element;
  if (tape.is_contiguous(ref.value) && is_on_cpu()) {
    return Tensor(tape.dim_of(ref.value), shape.dtype, const_cast<std::byte*>(begin));
  }
  // A copy that was handed out stays where it is; one that could not be made leaves nothing.
  const auto known = copies.find({ref.tape, ref.value});
  const std::size_t bytes = shape.size * element;
  std::vector<std::byte> fresh(known == copies.end() ? value.items * bytes : 0);
  std::vector<std::byte>& copy = known == copies.end() ? fresh : known->second;
  Device& device = *common_.options.device;
  if (tape.is_contiguous(ref.value)) {
    device.read(copy.data(), begin, copy.size());
  } else {
    for (std::uint32_t item = 0; item < value.items; ++item) {
      device.read(copy.data() + item * bytes, begin + item * value.stride * element, bytes);
    }
  }
  std::byte* const numbers = copy.data();
  if (known == copies.end()) copies.emplace(std::pair(ref.tape, ref.value), std::move(fresh));
  return Tensor(tape.dim_of(ref.value), shape.dtype, numbers);
}

const std::byte* Executor::find_gradient(ValueRef ref, const Gradients& gradients) {
  const Tape& tape = *common_.tapes[ref.tape].tape;
  const Value& value = tape.value(ref.value);
  if (value.blocks_gradient) return nullptr;
  const Role role = tape.type_of(value.node).op->role;
  if (role == Role::parameter) {
    return static_cast<const std::byte*>(gradients.find_dense(tape.storage_of(value.node)));
  }
  if (role == Role::table) return whole_table(tape.storage_of(value.node), gradients);
  if (value.identity == 0) return lane_of(ref.tape).backward.gradient_of({ref.tape, value.node});
  const Identity identity = tape.value(tape.node(value.node).value).identity;
  const bool is_there = identity < common_.shared.size() && common_.shared[identity].has_gradient;
  return is_there ? common_.shared[identity].gradient : nullptr;
}

Tensor Executor::gradient(ValueRef ref, const Gradients& gradients) {
  const Tape& tape = *common_.tapes[ref.tape].tape;
  const Value& value = tape.value(ref.value);
  if (const std::byte* const found = find_gradient(ref, gradients)) {
    return contiguous(ref, found, gradient_copies_);
  }
  const Shape& shape = tape.shape_of(ref.value);
  const std::size_t bytes = std::size_t{shape.size} * value.items * size_of(shape.dtype);
  std::vector<std::byte>& copy =
      gradient_copies_.try_emplace({ref.tape, ref.value}, bytes).first->second;
  std::fill(copy.begin(), copy.end(), std::byte{0});
  const Tensor result(tape.dim_of(ref.value), shape.dtype, copy.data());
  // A loss on which no gradient depends has its own all the same.
  const auto times = std::count(roots_.begin(), roots_.end(), ref);
  for (std::size_t i = 0; times > 0 && i < result.d.size(); ++i) {
    result.set(i, static_cast<double>(times));
  }
  return result;
}

const std::byte* Executor::whole_table(const ParameterStorage& table, const Gradients& gradients) {
  const Gradients::Rows* rows = gradients.find_rows(table);
  if (rows == nullptr) return nullptr;
  const std::size_t bytes = table.entry_size() * size_of(table.dtype);
  Device& device = table.device();
  table_gradient_ = Block(table.rows() * bytes, device.memory());
  device.zero(table_gradient_.data(), table_gradient_.size());
  for (std::uint32_t row : rows->rows) {
    device.copy(table_gradient_.data() + row * bytes, rows->find(table, row), bytes);
  }
  return table_gradient_.data();
}

bool Executor::parameters_may_have_changed(bool look_at_memory) const {
  return std::any_of(common_.read_parameters.begin(), common_.read_parameters.end(),
                     [&](const ReadParameter& read) {
                       return read.may_have_changed() || (look_at_memory && read.has_changed());
                     });
}

void Executor::check_parameters(const char* user) {
  for (ReadParameter& read : common_.read_parameters) {
    if (!read.has_changed()) continue;
    // What was written in place has no version: note it.
    read.seen.version = ~read.parameter->values.version();
    throw StateError(std::string("[") + user + "] need parameters as they were in forward; got " +
                     read.parameter->name + ", which has changed since: call forward again");
  }
}

void Executor::release(std::span<const ValueRef> copied) {
  Copies copies;
  for (const ValueRef& ref : copied) {
    if (copies.contains({ref.tape, ref.value})) continue;
    const auto known = value_copies_.find({ref.tape, ref.value});
    if (known != value_copies_.end()) {
      copies.insert(value_copies_.extract(known));
      continue;
    }
    const Tensor tensor = value(ref);
    const auto* begin = static_cast<const std::byte*>(tensor.data());
    copies[{ref.tape, ref.value}].assign(begin, begin + tensor.d.size() * size_of(tensor.dtype()));
  }
  count_bounds();
  forget_values();
  value_copies_ = std::move(copies);
}

void Executor::count_bounds() {
  for (std::size_t l = 0; l < used_lanes_; ++l) count_released_bounds(lanes_[l]->run);
}

// Here and in all that `clear` does, nothing is allocated.
void Executor::forget_values() {
  gathered_.clear();
  ++releases_;
  ++forgets_;
  keep_shared_batches();
  for (std::size_t l = 0; l < used_lanes_; ++l) {
    RunState& run = lanes_[l]->run;
    if (l > 0) run.batches.clear();
    run.recursions.resize(0);
    run.members.clear();
    run.values.reset();
    run.lists.reset();
  }
  for (TapeState& tape : common_.tapes) {
    std::fill(tape.nodes.begin(), tape.nodes.end(), NodeState{});
  }
  common_.inputs.reset();
  forget_gradients();
  value_copies_.clear();
  note_held();
}

// Only the first lane has any. What backward needs of their members is in the shared values.
void Executor::keep_shared_batches() {
  std::vector<Batch>& batches = lanes_[0]->run.batches;
  std::uint32_t kept = 0;
  for (Batch& batch : batches) {
    if (batch.shared) batch.first_member = kept++;  // where it will be, for a moment
  }
  for (const Identity identity : common_.met_shared) {
    SharedValue& shared = common_.shared[identity];
    if (shared.batch != kNone) shared.batch = batches[shared.batch].first_member;
  }
  std::erase_if(batches, [](const Batch& batch) { return !batch.shared; });
  for (Batch& batch : batches) batch.first_member = batch.members = 0;
}

void Executor::forget_gradients() {
  for (const std::unique_ptr<Lane>& lane : lanes_) lane->backward.forget();
  gradient_copies_.clear();
  roots_.clear();
}

void Executor::invalidate() {
  if (parameters_may_have_changed(true)) ++parameter_changes_;
  count_bounds();
  forget_all();
}

void Executor::forget_all() {
  forget_values();
  for (TapeState& tape : common_.tapes) tape.nodes.clear();
  for (const std::unique_ptr<Lane>& lane : lanes_) lane->run.batches.clear();
  common_.forget_shared();
  common_.shared_values.reset();
  common_.shared_lists.reset();
  common_.read_parameters.clear();
  common_.reads_lazy_tables = false;
  note_held();
}

void Executor::forget_types() {
  for (const std::unique_ptr<Lane>& lane : lanes_) lane->run.kernels_of_type.clear();
  common_.shared.clear();
}

void Executor::clear() {
  forget_all();
  for (TapeState& tape : common_.tapes) spare_.push_back(std::move(tape.nodes));
  common_.tapes.clear();
  common_.released_bounds.clear();
  common_.recomputed = 0;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    RunState& run = lane->run;
    run.first_tape = run.end_tape = 0;
    run.counts.clear();
    lane->clock.seconds = 0;
  }
  clock_.seconds = 0;
  forget_recording();
  use_lanes(1);
}

}  // namespace dynet_like::detail
