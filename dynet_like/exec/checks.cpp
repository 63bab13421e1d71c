// verify_batching and detect_anomaly.
#include "dynet_like/exec/checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/device/open_destinations.h"
#include "dynet_like/exec/recursion.h"
#include "dynet_like/tape/node_text.h"

namespace dynet_like::detail {

namespace {

double element_at(DType dtype, const std::byte* values, std::size_t i) {
  if (dtype == DType::f32) return static_cast<double>(reinterpret_cast<const float*>(values)[i]);
  return reinterpret_cast<const double*>(values)[i];
}

// The first element whose bits differ, or n. All NaNs count as equal: processor and compiler choose
// from which operand a NaN gets its sign and payload.
std::size_t first_difference(DType dtype, const std::byte* a, const std::byte* b, std::size_t n) {
  const std::size_t element = size_of(dtype);
  if (std::memcmp(a, b, n * element) == 0) return n;
  const auto equal = [&](std::size_t i) {
    return std::memcmp(a + i * element, b + i * element, element) == 0 ||
           (std::isnan(element_at(dtype, a, i)) && std::isnan(element_at(dtype, b, i)));
  };
  std::size_t i = 0;
  while (i < n && equal(i)) ++i;
  return i;
}

[[noreturn]] void throw_different(const std::string& node, const std::string& what,
                                  std::size_t element, std::size_t items, double batched,
                                  double alone) {
  char numbers[64];
  std::snprintf(numbers, sizeof(numbers), "%.9g in the batch and %.9g", batched, alone);
  throw NumericError("[verify_batching] need the same bits in a batch of " +
                     counted(items, "item") + " and alone; got for " + node + ", element " +
                     std::to_string(element) + " of its " + what + ", " + numbers + " alone");
}

// Numbers in memory of this process: the numbers themselves, or a copy from a device.
class Seen {
 public:
  Seen(const CommonState& common, const std::byte* values, std::size_t bytes) : values_(values) {
    Device& device = *common.options.device;
    if (device.is_cpu() || bytes == 0) return;
    copy_ = Block(bytes);
    device.read(copy_.data(), values, bytes);
    values_ = copy_.data();
  }
  const std::byte* data() const { return values_; }

 private:
  const std::byte* values_;
  Block copy_;
};

// Item i of a call as a call with one item.
std::vector<Operand> item_of(const Operand* in, std::size_t inputs, std::size_t i) {
  std::vector<Operand> result(in, in == nullptr ? in : in + inputs);
  for (Operand& operand : result) {
    if (operand.items != nullptr) operand.items += i;
    operand.packed = nullptr;
  }
  return result;
}

const void* real_of_item(const Signature& type, const void* reals, std::size_t i) {
  if (reals == nullptr) return nullptr;
  return static_cast<const std::byte*>(reals) + i * type.op->numbers.reals * size_of(type.dtype);
}

std::string text_of(const RunState& run, NodeRef ref) {
  return text_of(run.tape(ref), ref.tape, ref.node);
}

NodeRef node_of_item(const RunState& run, std::span<const NodeRef> nodes, std::size_t item) {
  for (NodeRef ref : nodes) {
    const std::size_t items = run.items_of(ref);
    if (item < items) return ref;
    item -= items;
  }
  return nodes.back();
}

std::size_t input_size_of_item(const BackwardCall& call, unsigned j, std::size_t i) {
  const std::uint32_t* const integers =
      call.integers == nullptr ? nullptr : call.integers + i * call.type->integers;
  return input_size(*call.type, j, integers);
}

// The number of items from i on that share a destination, and so are compared together.
std::size_t items_together(const BackwardCall& call, std::size_t i) {
  std::size_t count = 1;
  while (i + count < call.n && shares_a_destination(call, i + count)) ++count;
  return count;
}

// Memory for all results of a backward call, or of some of its items, including those that are left
// for weights and biases.
struct OwnGradients {
  OwnGradients(const RunState& run, const BackwardCall& call, std::size_t first, std::size_t count)
      : memory(call.type->inputs.size()), places(memory.size()), dx(memory.size()), add(count, 0) {
    const std::shared_ptr<MemorySource>& source = run.common.memory;
    const std::size_t element = size_of(call.type->dtype);
    for (unsigned j = 0; j < memory.size(); ++j) {
      if (!call.dx[j].wanted()) continue;
      std::size_t bytes = 0;
      std::vector<std::size_t> begins;
      for (std::size_t i = first; i < first + count; ++i) {
        const std::size_t size = input_size_of_item(call, j, i) * element;
        const bool shares = i > first && shares_destination(call, j, i);
        begins.push_back(shares ? begins.back() : bytes);
        bytes += shares ? 0 : size;
      }
      memory[j] = Block(bytes, source);
      for (std::size_t i = 0; i < count; ++i) {
        const bool has_place = call.dx[j].items[first + i] != nullptr;
        places[j].push_back(has_place ? memory[j].data() + begins[i] : nullptr);
        wanted |= has_place;
      }
      dx[j] = {places[j].data(), add.data()};
    }
    const std::size_t bytes = call.type->deferred_size * element;
    left = Block(count * bytes, source);
    for (std::size_t i = 0; i < count && bytes > 0; ++i)
      deferred.push_back(left.data() + i * bytes);
    wanted |= bytes > 0;
  }

  void receive(BackwardCall& call) {
    call.dx = dx.data();
    if (!deferred.empty()) call.deferred = deferred.data();
  }

  bool wanted = false;
  std::vector<Block> memory;  ///< by input
  std::vector<std::vector<void*>> places;
  std::vector<Destination> dx;
  std::vector<std::uint8_t> add;
  Block left;
  std::vector<void*> deferred;
};

}  // namespace

void check_finite(const CommonState& common, const char* what, DType dtype, const std::byte* values,
                  std::size_t n, const OwnerOfElement& owner) {
  const Seen seen(common, values, n * size_of(dtype));
  std::size_t at = 0;
  while (at < n && std::isfinite(element_at(dtype, seen.data(), at))) ++at;
  if (at == n) return;
  const double number = element_at(dtype, seen.data(), at);
  const std::string who = owner(at);
  throw NumericError("[detect_anomaly] need finite numbers; got " + std::to_string(number) +
                     " in element " + std::to_string(at) + " of the " + what + " of " + who);
}

void verify_forward(RunState& run, const Batch& batch) {
  const Signature& signature = batch.signature();
  const Block out(batch.stride(), run.common.memory);
  const Block saved(batch.saved_stride(), run.common.memory);
  const Seen all(run.common, batch.out, batch.out_bytes);
  const auto dtype = static_cast<int>(signature.dtype);
  Arena lists;
  for (std::uint32_t i = 0; i < batch.items; ++i) {
    Rows one = part_of(batch, i, 1, lists);
    one.out = out.data();
    one.saved = saved.data();
    one.early = {};
    const std::vector<Operand> in = item_of(one.in, batch.type->inputs, 0);
    one.in = in.data();
    run.queue->forward(batch.kernels->forward[dtype], forward_call(one));
    const std::byte* batched = all.data() + i * batch.stride();
    const Seen alone(run.common, out.data(), out.size());
    const std::size_t at =
        first_difference(signature.dtype, batched, alone.data(), signature.output_size);
    if (at == signature.output_size) continue;
    throw_different(text_of(run, node_of_item(run, run.nodes_of(batch), i)), "value", at,
                    batch.items, element_at(signature.dtype, batched, at),
                    element_at(signature.dtype, alone.data(), at));
  }
}

void verify_recursions(RunState& run, const Batch& batch) {
  const Signature& signature = batch.signature();
  const Seen all(run.common, batch.out, batch.out_bytes);
  const std::byte* together = all.data();
  for (NodeRef ref : run.nodes_of(batch)) {
    const std::size_t bytes = run.items_of(ref) * batch.stride();
    const Block out(bytes, run.common.memory);
    Batch one = batch;
    one.type = &run.tape(ref).type_of(ref.node);
    one.out = out.data();
    give_back(run, *run_recursion(run, one, std::span(&ref, 1)));
    const Seen alone(run.common, out.data(), bytes);
    const std::size_t elements = bytes / size_of(signature.dtype);
    const std::size_t at = first_difference(signature.dtype, together, alone.data(), elements);
    if (at != elements) {
      throw_different(text_of(run, ref), "value", at, batch.nodes,
                      element_at(signature.dtype, together, at),
                      element_at(signature.dtype, alone.data(), at));
    }
    together += bytes;
  }
}

void verify_backward(RunState& run, const BackwardCall& call, Kernels::Backward kernel,
                     std::span<const NodeRef> nodes) {
  const Signature& signature = *call.type;
  const std::size_t inputs = signature.inputs.size(), element = size_of(signature.dtype);
  OwnGradients together(run, call, 0, call.n);
  BackwardCall all = call;
  together.receive(all);
  run.queue->backward(kernel, all);
  const auto compare = [&](std::size_t i, const std::string& what, const std::byte* in_batch,
                           const std::byte* by_itself, std::size_t size) {
    const Seen seen_in_batch(run.common, in_batch, size * element),
        seen_alone(run.common, by_itself, size * element);
    const std::byte *batched = seen_in_batch.data(), *alone = seen_alone.data();
    const std::size_t at = first_difference(signature.dtype, batched, alone, size);
    if (at == size) return;
    throw_different(text_of(run, node_of_item(run, nodes, i)), what, at, call.n,
                    element_at(signature.dtype, batched, at),
                    element_at(signature.dtype, alone, at));
  };
  for (std::size_t i = 0, count = 1; i < call.n; i += count) {
    count = items_together(call, i);
    OwnGradients alone(run, call, i, count);
    if (!alone.wanted) continue;
    const std::vector<Operand> in = item_of(call.in, inputs, i);
    const auto next = [&](Operand operand, std::size_t parts) {
      return item_of(&operand, 1, i * parts)[0];
    };
    BackwardCall one = call;
    one.n = count;
    one.in = call.in == nullptr ? nullptr : in.data();
    one.out = next(call.out, signature.op->parts);
    one.saved = next(call.saved, 1);
    one.dy = next(call.dy, signature.op->parts);
    if (call.integers != nullptr) one.integers += i * signature.integers;
    one.reals = real_of_item(signature, call.reals, i);
    alone.receive(one);
    run.queue->backward(kernel, one);
    for (unsigned j = 0; j < inputs; ++j) {
      if (alone.places[j].empty()) continue;
      for (std::size_t item = 0; item < count; ++item) {
        if (alone.places[j][item] == nullptr) continue;
        compare(i + item, "gradient for input " + std::to_string(j),
                static_cast<const std::byte*>(together.places[j][i + item]),
                static_cast<const std::byte*>(alone.places[j][item]),
                input_size_of_item(call, j, i + item));
      }
    }
    if (signature.deferred_size == 0) continue;
    compare(i, "gradients for weights",
            together.left.data() + i * signature.deferred_size * element, alone.left.data(),
            count * signature.deferred_size);
  }
}

void check_values(const RunState& run, const Batch& batch) {
  const std::size_t size = batch.signature().output_size;
  check_finite(run.common, "value", batch.signature().dtype, batch.out, batch.items * size,
               [&](std::size_t& element) {
                 for (NodeRef ref : run.nodes_of(batch)) {
                   const std::size_t elements = run.items_of(ref) * size;
                   if (element < elements) return text_of(run, ref);
                   element -= elements;
                 }
                 return std::string();
               });
}

void check_gradient(const RunState& run, NodeRef ref, const std::byte* gradient) {
  const Signature& signature = run.tape(ref).type_of(ref.node).signature;
  check_finite(run.common, "gradient", signature.dtype, gradient,
               run.items_of(ref) * signature.output_size,
               [&](std::size_t&) { return text_of(run, ref); });
}

}  // namespace dynet_like::detail
