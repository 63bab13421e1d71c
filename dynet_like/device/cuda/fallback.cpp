// Copies of operands, item by item: speed does not matter, since this is rare.
#include "dynet_like/device/cuda/fallback.h"

#include <vector>

#include "dynet_like/device/cuda/cuda_device.h"
#include "dynet_like/device/open_destinations.h"

namespace dynet_like::detail::cuda {

namespace {

template <class Call>
std::size_t input_bytes(const Call& call, unsigned j, std::size_t i) {
  const std::uint32_t* const integers =
      call.integers == nullptr ? nullptr : call.integers + i * call.type->integers;
  return input_size(*call.type, j, integers) * size_of(call.type->dtype);
}

// Copies of the device's items in memory of this process.
class Copies {
 public:
  explicit Copies(Runtime& runtime) : runtime_(runtime) {}

  Operand read(const Operand& operand, std::size_t n, std::size_t bytes) {
    return read(operand, n, [&](std::size_t) { return bytes; });
  }
  template <class BytesOf>
  Operand read(const Operand& operand, std::size_t n, const BytesOf& bytes_of) {
    Operand here;
    if (operand.shared != nullptr) {
      here.shared = read(operand.shared, bytes_of(0));
    } else if (operand.items != nullptr) {
      std::vector<const void*>& places = lists_.emplace_back();
      for (std::size_t i = 0; i < n; ++i) places.push_back(read(operand.items[i], bytes_of(i)));
      here.items = places.data();
    }
    return here;
  }
  std::byte* make(std::size_t bytes) { return blocks_.emplace_back(bytes).data(); }

 private:
  const void* read(const void* from, std::size_t bytes) {
    std::byte* const to = make(bytes);
    const RuntimeUse use(runtime_);
    runtime_.copy_to_host(to, from, bytes);
    return to;
  }

  Runtime& runtime_;
  std::vector<Block> blocks_;
  std::vector<std::vector<const void*>> lists_;
};

template <class Call>
std::vector<Operand> read_inputs(Copies& copies, const Call& call) {
  std::vector<Operand> here;
  for (unsigned j = 0; call.in != nullptr && j < call.type->inputs.size(); ++j) {
    here.push_back(
        copies.read(call.in[j], call.n, [&](std::size_t i) { return input_bytes(call, j, i); }));
  }
  return here;
}

}  // namespace

void Fallback::forward(Kernels::Forward kernel, const ForwardCall& call) {
  const Signature& type = *call.type;
  const std::size_t element = size_of(type.dtype);
  Copies copies(shared_.runtime);
  shared_.commands.submit();
  const std::vector<Operand> in = read_inputs(copies, call);
  shared_.runtime.wait();
  ForwardCall here = call;
  here.in = in.data();
  const std::size_t saved_bytes = call.n * type.saved_size * element;
  here.out = {copies.make(call.n * type.output_size * element), part_size(type)};
  if (call.saved != nullptr) here.saved = copies.make(saved_bytes);
  cpu_->forward(kernel, here);
  write_output(call, here.out.first);
  if (call.saved != nullptr) shared_.commands.write(call.saved, here.saved, saved_bytes);
  ++shared_.fallbacks;
}

void Fallback::write_output(const ForwardCall& call, const void* block) {
  const std::size_t bytes = part_size(*call.type) * size_of(call.type->dtype);
  const std::size_t parts = call.n * call.type->op->parts;
  if (call.out.items == nullptr) {
    return shared_.commands.write(call.out.first, block, parts * bytes);
  }
  for (std::size_t i = 0; i < parts; ++i) {
    shared_.commands.write(call.out.items[i], static_cast<const std::byte*>(block) + i * bytes,
                           bytes);
  }
}

void Fallback::backward(Kernels::Backward kernel, const BackwardCall& call) {
  const Signature& type = *call.type;
  const std::size_t element = size_of(type.dtype), inputs = type.inputs.size();
  Copies copies(shared_.runtime);
  shared_.commands.submit();
  const std::vector<Operand> in = read_inputs(copies, call);
  BackwardCall here = call;
  here.in = call.in == nullptr ? nullptr : in.data();
  here.out = copies.read(call.out, call.n * type.op->parts, part_size(type) * element);
  here.saved = copies.read(call.saved, call.n, type.saved_size * element);
  here.dy = copies.read(call.dy, call.n * type.op->parts, part_size(type) * element);
  shared_.runtime.wait();

  // The kernel writes to memory of this process; then its results are added on the device. Items
  // that share a destination share one place.
  const std::vector<std::uint8_t> add(call.n, 0);
  std::vector<Destination> dx(inputs);
  std::vector<std::vector<void*>> places(inputs);
  for (unsigned j = 0; j < inputs; ++j) {
    if (!call.dx[j].wanted()) continue;
    for (std::size_t i = 0; i < call.n; ++i) {
      const bool is_wanted = call.dx[j].items[i] != nullptr;
      places[j].push_back(!is_wanted                       ? nullptr
                          : shares_destination(call, j, i) ? places[j].back()
                                                           : copies.make(input_bytes(call, j, i)));
    }
    dx[j] = {places[j].data(), add.data()};
  }
  here.dx = dx.data();
  const std::size_t left_bytes = type.deferred_size * element;
  std::vector<void*> left;
  for (std::size_t i = 0; call.deferred != nullptr && i < call.n; ++i) {
    left.push_back(copies.make(left_bytes));
  }
  if (call.deferred != nullptr) here.deferred = left.data();
  cpu_->backward(kernel, here);

  Commands& commands = shared_.commands;
  for (unsigned j = 0; j < inputs; ++j) {
    void* const* const to = call.dx[j].items;
    for (std::size_t i = 0; i < places[j].size(); ++i) {
      if (places[j][i] == nullptr || shares_destination(call, j, i)) continue;
      const std::size_t size = input_bytes(call, j, i) / element;
      const void* const there =
          commands.stage(static_cast<const std::byte*>(places[j][i]), size * element);
      const bool adds = call.dx[j].add[i] != 0;
      commands.add_all(type.dtype, to[i], size, {&there, nullptr, 1},
                       adds ? SumStart::there : SumStart::first);
    }
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    commands.write(call.deferred[i], left[i], left_bytes);
  }
  ++shared_.fallbacks;
}

}  // namespace dynet_like::detail::cuda
