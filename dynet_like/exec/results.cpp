// Copies of values and gradients, and reads from a device that are under way.
#include "dynet_like/exec/results.h"

#include <algorithm>
#include <iterator>

namespace dynet_like::detail {

bool Results::has(ValueRef ref) const {
  const TapeState& state = common_.tapes[ref.tape];
  const NodeId node = state.tape->value(ref.value).node;
  return (node < state.nodes.size() && state.nodes[node].value != nullptr) ||
         values_.contains({ref.tape, ref.value});
}

Tensor Results::value(ValueRef ref) {
  const TapeState& state = common_.tapes[ref.tape];
  const Tape& tape = *state.tape;
  const Value& value = tape.value(ref.value);
  const bool is_there = value.node < state.nodes.size() && state.nodes[value.node].value != nullptr;
  const bool may_change = value.identity != 0;  // parameters may change
  const auto copy = values_.find({ref.tape, ref.value});
  if (copy != values_.end() && (!is_there || (!common_.is_on_cpu() && !may_change))) {
    return tensor_at(ref, copy->second.data());
  }
  if (tape.type_of(value.node).op->role == Role::table) {
    tape.storage_of(value.node).refresh_rows();
  }
  const NodeState& node = state.nodes[value.node];
  if (common_.is_on_cpu() && node.has_batch() && !may_change) {
    lanes_.of(ref.tape).run.batches[node.batch].is_handed_out = true;
  }
  return contiguous(ref, node.value, values_);
}

Tensor Results::tensor_at(ValueRef ref, const std::byte* numbers) const {
  const Tape& tape = *common_.tapes[ref.tape].tape;
  return Tensor(tape.dim_of(ref.value), tape.shape_of(ref.value).dtype,
                const_cast<std::byte*>(numbers));
}

Tensor Results::contiguous(ValueRef ref, const std::byte* node, Copies& copies) const {
  const Tape& tape = *common_.tapes[ref.tape].tape;
  const Value& value = tape.value(ref.value);
  const Shape& shape = tape.shape_of(ref.value);
  const std::size_t element = size_of(shape.dtype);
  const std::byte* begin = node + value.offset * element;
  if (tape.is_contiguous(ref.value) && common_.is_on_cpu()) return tensor_at(ref, begin);
  // A copy that was handed out keeps its address. A copy that fails leaves nothing behind.
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
  return tensor_at(ref, numbers);
}

const std::byte* Results::find_gradient(ValueRef ref, const Gradients& gradients) {
  const Tape& tape = *common_.tapes[ref.tape].tape;
  const Value& value = tape.value(ref.value);
  if (value.blocks_gradient) return nullptr;
  const Role role = tape.type_of(value.node).op->role;
  if (role == Role::parameter) {
    return static_cast<const std::byte*>(gradients.find_dense(tape.storage_of(value.node)));
  }
  if (role == Role::table) return whole_table(tape.storage_of(value.node), gradients);
  if (value.identity == 0) return lanes_.of(ref.tape).backward.gradient_of({ref.tape, value.node});
  const Identity identity = tape.value(tape.node(value.node).value).identity;
  const bool is_there = identity < common_.shared.size() && common_.shared[identity].has_gradient;
  return is_there ? common_.shared[identity].gradient : nullptr;
}

Tensor Results::gradient(ValueRef ref, const Gradients& gradients,
                         std::span<const ValueRef> roots) {
  const Tape& tape = *common_.tapes[ref.tape].tape;
  const Value& value = tape.value(ref.value);
  if (const std::byte* const found = find_gradient(ref, gradients)) {
    return contiguous(ref, found, gradients_);
  }
  const Shape& shape = tape.shape_of(ref.value);
  const std::size_t bytes = std::size_t{shape.size} * value.items * size_of(shape.dtype);
  std::vector<std::byte>& copy = gradients_.try_emplace({ref.tape, ref.value}, bytes).first->second;
  std::ranges::fill(copy, std::byte{0});
  const Tensor result = tensor_at(ref, copy.data());
  // A loss has a gradient of its own, even if no gradient depends on it.
  const auto times = std::ranges::count(roots, ref);
  for (std::size_t i = 0; times > 0 && i < result.d.size(); ++i) {
    result.set(i, static_cast<double>(times));
  }
  return result;
}

const std::byte* Results::whole_table(const ParameterStorage& table, const Gradients& gradients) {
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

// On the CPU nothing needs to be gathered.
void Results::gather(std::span<const ValueRef> values) {
  gathered_.clear();
  gathered_values_.reset();
  if (common_.is_on_cpu()) return;
  std::size_t bytes = 0;
  for (const ValueRef& ref : values) bytes += bytes_of(ref);
  std::byte* to = gathered_values_.allocate_array<std::byte>(bytes);
  std::vector<Gathered> gathered;
  for (const ValueRef& ref : values) {
    const Tape& tape = *common_.tapes[ref.tape].tape;
    const Value& value = tape.value(ref.value);
    const DType dtype = tape.shape_of(ref.value).dtype;
    const std::byte* const node = common_.tapes[ref.tape].nodes[value.node].value;
    if (node == nullptr || !tape.is_contiguous(ref.value)) continue;
    const void* const from = node + value.offset * size_of(dtype);
    lanes_.queue().add_all(dtype, to, bytes_of(ref) / size_of(dtype), {&from, nullptr, 1},
                           SumStart::first);
    gathered.push_back({ref, to});
    to += bytes_of(ref);
  }
  if (gathered.empty()) return;
  const std::byte* const there = gathered.front().at;
  reading_->begin(there, static_cast<std::size_t>(to - there));
  gathered_ = std::move(gathered);
}

std::size_t Results::bytes_of(ValueRef ref) const {
  const Tape& tape = *common_.tapes[ref.tape].tape;
  return tape.dim_of(ref.value).size() * size_of(tape.shape_of(ref.value).dtype);
}

void Results::bring(std::span<const ValueRef> values) {
  if (common_.is_on_cpu()) return;
  std::vector<ValueRef> wanted;
  for (const ValueRef& ref : values) {
    const bool is_shared = common_.tapes[ref.tape].tape->value(ref.value).identity != 0;
    if (!is_shared && !values_.contains({ref.tape, ref.value})) wanted.push_back(ref);
  }
  gather(wanted);
  lanes_.queue().submit();
  std::byte* const here = gathered_.empty() ? nullptr : reading_->wait();
  for (const Gathered& gathered : gathered_) {
    const std::byte* const from = here + (gathered.at - gathered_.front().at);
    values_.try_emplace({gathered.ref.tape, gathered.ref.value}, from,
                        from + bytes_of(gathered.ref));
  }
  gathered_.clear();
}

// Where each value is in this process; null if it was not gathered. Values come in the same order.
std::vector<const std::byte*> Results::find_gathered(std::span<const ValueRef> values) {
  const std::byte* const here = gathered_.empty() ? nullptr : reading_->wait();
  std::vector<const std::byte*> places;
  std::size_t next = 0;
  for (const ValueRef& ref : values) {
    while (next < gathered_.size() && gathered_[next].ref != ref) ++next;
    const bool is_there = next < gathered_.size();
    places.push_back(is_there ? here + (gathered_[next].at - gathered_.front().at) : nullptr);
    if (!is_there) next = 0;
  }
  return places;
}

double Results::sum_of(const Tensor& numbers) {
  double sum = 0;
  for (std::size_t i = 0; i < numbers.d.size(); ++i) sum += numbers.at(i);
  return sum;
}

void Results::forget_values() {
  gathered_.clear();
  values_.clear();
}

void Results::forget_values(std::uint32_t tape, std::size_t first, std::size_t end) {
  gathered_.clear();
  for (auto copy = values_.lower_bound({tape, 0});
       copy != values_.end() && copy->first.first == tape;) {
    const NodeId node = common_.tapes[tape].tape->value(copy->first.second).node;
    copy = node >= first && node < end ? values_.erase(copy) : std::next(copy);
  }
}

}  // namespace dynet_like::detail
