// Copies of operands, one item after the other: this is for what is rare.
#include "dynet_like/device/cuda/fallback.h"

#include <vector>

#include "dynet_like/device/cuda/cuda_device.h"

namespace dynet_like::cuda {

namespace {

// Items of the device in this process's memory.
class Copies {
 public:
  explicit Copies(Runtime& runtime) : runtime_(runtime) {}

  Operand read(const Operand& operand, std::size_t n, std::size_t bytes) {
    Operand here;
    if (operand.shared != nullptr) {
      here.shared = read(operand.shared, bytes);
    } else if (operand.items != nullptr) {
      std::vector<const void*>& places = lists_.emplace_back();
      std::byte* const block = make(n * bytes);
      const RuntimeUse use(runtime_);
      for (std::size_t i = 0; i < n; ++i) {
        runtime_.copy_to_host(block + i * bytes, operand.items[i], bytes);
        places.push_back(block + i * bytes);
      }
      here.items = places.data();
    }
    return here;
  }
  std::byte* make(std::size_t bytes) { return blocks_.emplace_back(bytes).data(); }

 private:
  const void* read(const void* from, std::size_t bytes) {
    std::byte* const to = make(bytes);
    runtime_.copy_to_host(to, from, bytes);
    return to;
  }

  Runtime& runtime_;
  std::vector<Block> blocks_;
  std::vector<std::vector<const void*>> lists_;
};

std::vector<Operand> read_inputs(Copies& copies, const Signature& type, const Operand* in,
                                 std::size_t n) {
  std::vector<Operand> here;
  const std::size_t element = size_of(type.dtype);
  for (std::size_t j = 0; in != nullptr && j < type.inputs.size(); ++j) {
    here.push_back(copies.read(in[j], n, type.inputs[j].size() * element));
  }
  return here;
}

}  // namespace

void Fallback::forward(Kernels::Forward kernel, const ForwardCall& call) {
  const Signature& type = *call.type;
  const std::size_t element = size_of(type.dtype);
  Copies copies(shared_.runtime);
  shared_.commands.submit();
  const std::vector<Operand> in = read_inputs(copies, type, call.in, call.n);
  shared_.runtime.wait();
  ForwardCall here = call;
  here.in = in.data();
  const std::size_t out_bytes = call.n * type.output_size * element;
  const std::size_t saved_bytes = call.n * type.saved_size * element;
  here.out = copies.make(out_bytes);
  if (call.saved != nullptr) here.saved = copies.make(saved_bytes);
  cpu_->forward(kernel, here);
  shared_.commands.write(call.out, here.out, out_bytes);
  if (call.saved != nullptr) shared_.commands.write(call.saved, here.saved, saved_bytes);
  ++shared_.fallbacks;
}

void Fallback::backward(Kernels::Backward kernel, const BackwardCall& call) {
  const Signature& type = *call.type;
  const std::size_t element = size_of(type.dtype), inputs = type.inputs.size();
  Copies copies(shared_.runtime);
  shared_.commands.submit();
  const std::vector<Operand> in = read_inputs(copies, type, call.in, call.n);
  BackwardCall here = call;
  here.in = call.in == nullptr ? nullptr : in.data();
  here.out = copies.read(call.out, call.n, type.output_size * element);
  here.saved = copies.read(call.saved, call.n, type.saved_size * element);
  here.dy = copies.read(call.dy, call.n, type.output_size * element);
  shared_.runtime.wait();

  // The kernel writes to places of this process; what it gives is added on the device.
  const std::vector<std::uint8_t> add(call.n, 0);
  std::vector<Destination> dx(inputs);
  std::vector<std::vector<void*>> places(inputs);
  for (std::size_t j = 0; j < inputs; ++j) {
    if (!call.dx[j].wanted()) continue;
    const std::size_t bytes = type.inputs[j].size() * element;
    std::byte* const block = copies.make(call.n * bytes);
    for (std::size_t i = 0; i < call.n; ++i) {
      places[j].push_back(call.dx[j].items[i] == nullptr ? nullptr : block + i * bytes);
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
  for (std::size_t j = 0; j < inputs; ++j) {
    const std::size_t size = type.inputs[j].size();
    for (std::size_t i = 0; i < places[j].size(); ++i) {
      if (places[j][i] == nullptr) continue;
      const void* const there =
          commands.stage(static_cast<const std::byte*>(places[j][i]), size * element);
      const bool adds = call.dx[j].add[i] != 0;
      commands.add_all(type.dtype, call.dx[j].items[i], size, {&there, nullptr, 1},
                       adds ? SumStart::there : SumStart::first);
    }
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    commands.write(call.deferred[i], left[i], left_bytes);
  }
  ++shared_.fallbacks;
}

}  // namespace dynet_like::cuda
