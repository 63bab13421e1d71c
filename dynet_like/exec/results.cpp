// Values on their way from a device to this process: gathered there, and brought by one copy.
#include "dynet_like/exec/executor.h"

namespace dynet_like::detail {

namespace {

double sum_of(const Tensor& numbers) {
  double sum = 0;
  for (std::size_t i = 0; i < numbers.d.size(); ++i) sum += numbers.at(i);
  return sum;
}

}  // namespace

// Where nothing has to travel, nothing is gathered.
void Executor::gather(std::span<const ValueRef> values) {
  gathered_.clear();
  results_.reset();
  if (is_on_cpu()) return;
  std::size_t bytes = 0;
  for (const ValueRef& ref : values) bytes += bytes_of(ref);
  std::byte* to = results_.allocate_array<std::byte>(bytes);
  std::vector<Gathered> gathered;
  for (const ValueRef& ref : values) {
    const Tape& tape = *common_.tapes[ref.tape].tape;
    const Value& value = tape.value(ref.value);
    const DType dtype = tape.shape_of(ref.value).dtype;
    const std::byte* const node = common_.tapes[ref.tape].nodes[value.node].value;
    if (node == nullptr || !tape.is_contiguous(ref.value)) continue;
    const void* const from = node + value.offset * size_of(dtype);
    queue_->add_all(dtype, to, bytes_of(ref) / size_of(dtype), {&from, nullptr, 1},
                    SumStart::first);
    gathered.push_back({ref, to});
    to += bytes_of(ref);
  }
  if (gathered.empty()) return;
  const std::byte* const there = gathered.front().at;
  reading_->begin(there, static_cast<std::size_t>(to - there));
  gathered_ = std::move(gathered);
}

std::size_t Executor::bytes_of(ValueRef ref) const {
  const Tape& tape = *common_.tapes[ref.tape].tape;
  return tape.dim_of(ref.value).size() * size_of(tape.shape_of(ref.value).dtype);
}

// They lie one behind the other.
std::byte* Executor::read_gathered() { return gathered_.empty() ? nullptr : reading_->wait(); }

void Executor::bring(std::span<const ValueRef> values) {
  if (is_on_cpu()) return;
  std::vector<ValueRef> wanted;
  for (const ValueRef& ref : values) {
    const bool is_shared = common_.tapes[ref.tape].tape->value(ref.value).identity != 0;
    if (!is_shared && !value_copies_.contains({ref.tape, ref.value})) wanted.push_back(ref);
  }
  gather(wanted);
  queue_->submit();
  std::byte* const here = read_gathered();
  for (const Gathered& gathered : gathered_) {
    const std::byte* const from = here + (gathered.at - gathered_.front().at);
    value_copies_.try_emplace({gathered.ref.tape, gathered.ref.value}, from,
                              from + bytes_of(gathered.ref));
  }
  gathered_.clear();
}

void Executor::sum_values(std::span<const ValueRef> values, std::span<double> sums) {
  std::byte* const here = read_gathered();
  const std::byte* const there = gathered_.empty() ? nullptr : gathered_.front().at;
  std::size_t next = 0;  // they come in the same order
  for (std::size_t i = 0; i < values.size(); ++i) {
    while (next < gathered_.size() && gathered_[next].ref != values[i]) ++next;
    if (next == gathered_.size()) {
      next = 0;
      sums[i] = sum_of(value(values[i]));
      continue;
    }
    const Tape& tape = *common_.tapes[values[i].tape].tape;
    sums[i] = sum_of(Tensor(tape.dim_of(values[i].value), tape.shape_of(values[i].value).dtype,
                            here + (gathered_[next].at - there)));
  }
}

}  // namespace dynet_like::detail
