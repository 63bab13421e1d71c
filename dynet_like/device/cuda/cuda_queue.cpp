// A queue of the device: copies the lists of calls to the device. Ops without a kernel there run on
// the CPU.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/cuda_device.h"
#include "dynet_like/device/cuda/fallback.h"
#include "dynet_like/device/cuda/kernel_table.h"

namespace dynet_like::detail::cuda {

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;
using KernelMap = std::unordered_map<std::string_view, Kernels>;

const KernelMap& kernel_map() {
  static const KernelMap map = [] {
    KernelMap kernels;
    for (const KernelEntry& entry : all_kernels()) kernels.emplace(entry.op, entry.kernels);
    return kernels;
  }();
  return map;
}

// The kernels of the device; null if it has none for the op.
const Kernels* kernels_here(const Op& op) {
  if (op.kernels != nullptr || op.cuda_kernels != nullptr) return op.cuda_kernels;
  const auto found = kernel_map().find(op.name);
  return found == kernel_map().end() ? nullptr : &found->second;
}

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)), fallback_(*shared_) {}

  const Kernels& kernels(const Op& op) const override {
    const Kernels* const here = kernels_here(op);
    return here != nullptr ? *here : fallback_.kernels(op);
  }

  bool runs_on_cpu(const Op& op) const override { return kernels_here(op) == nullptr; }

  void forward(Kernels::Forward kernel, const ForwardCall& call) override {
    const Lock lock(shared_->mutex);
    const Signature& type = *call.type;
    if (!is_here(type, kernel)) return fallback_.forward(kernel, call);
    Commands& commands = shared_->commands;
    ForwardCall there = call;
    const std::vector<Operand> in = stage(call.in, type.inputs.size(), call.n);
    there.in = in.data();
    if (call.out.items != nullptr) {
      there.out = Output(commands.stage(call.out.items, call.n * type.op->parts));
    }
    there.integers =
        commands.stage(call.integers, call.integers == nullptr ? 0 : call.n * type.integers);
    if (call.integers == nullptr) there.integers = nullptr;
    there.reals = stage_reals(type, call.reals, call.n);
    there.workspace = &commands;
    kernel(there);
    commands.end_call();
  }

  void backward(Kernels::Backward kernel, const BackwardCall& call) override {
    const Lock lock(shared_->mutex);
    const Signature& type = *call.type;
    if (!is_here(type, kernel)) return fallback_.backward(kernel, call);
    Commands& commands = shared_->commands;
    const std::size_t inputs = type.inputs.size();
    BackwardCall there = call;
    const std::vector<Operand> in = stage(call.in, inputs, call.n);
    there.in = call.in == nullptr ? nullptr : in.data();
    there.out = stage(call.out, call.n * type.op->parts);
    there.saved = stage(call.saved, call.n);
    there.dy = stage(call.dy, call.n * type.op->parts);
    const std::vector<Destination> dx = stage(call.dx, inputs, call.n);
    there.dx = dx.data();
    if (call.deferred != nullptr) there.deferred = commands.stage(call.deferred, call.n);
    if (call.integers != nullptr) {
      there.integers = commands.stage(call.integers, call.n * type.integers);
    }
    there.reals = stage_reals(type, call.reals, call.n);
    there.workspace = &commands;
    kernel(there);
    commands.end_call();
  }

  void add_outer_products(DType dtype, const OuterProducts& call) override {
    const Lock lock(shared_->mutex);
    launch_outer_products(shared_->commands, dtype, call);
    shared_->commands.end_call();
  }
  void add_all(DType dtype, void* sum, std::size_t size, const Addends& addends,
               SumStart start) override {
    const Lock lock(shared_->mutex);
    shared_->commands.add_all(dtype, sum, size, addends, start);
  }
  void finish_sums() override {
    const Lock lock(shared_->mutex);
    shared_->commands.finish_sums();
  }
  const void* ones(DType dtype, std::size_t size) override {
    const Lock lock(shared_->mutex);
    return shared_->ones(dtype, size);
  }
  void write(void* to, const void* from, std::size_t size) override {
    const Lock lock(shared_->mutex);
    shared_->commands.write(to, from, size);
  }
  void submit() override {
    const Lock lock(shared_->mutex);
    shared_->commands.submit();
  }

  // Products read unpacked matrices.
  std::size_t packing(DType) const override { return 0; }
  std::size_t packed_bytes(DType, std::size_t, std::size_t, bool) const override { return 0; }
  void pack(DType, const void*, std::size_t, std::size_t, bool, void*) const override {}

 private:
  template <class Kernel>
  static bool is_here(const Signature& type, Kernel kernel) {
    if (kernels_here(*type.op) == nullptr) return false;
    if (kernel != nullptr) return true;
    throw DeviceError("[" + std::string(type.op->name) + "] need a kernel for " +
                      name_of(type.dtype) + "; got none");
  }

  std::vector<Destination> stage(const Destination* dx, std::size_t inputs, std::size_t n) {
    std::vector<Destination> there;
    for (std::size_t j = 0; dx != nullptr && j < inputs; ++j) {
      const bool wanted = dx[j].wanted();
      there.push_back(wanted ? Destination{shared_->commands.stage(dx[j].items, n),
                                           shared_->commands.stage(dx[j].add, n)}
                             : Destination());
    }
    return there;
  }
  Operand stage(const Operand& operand, std::size_t n) {
    Operand there = operand;
    if (operand.items != nullptr) there.items = shared_->commands.stage(operand.items, n);
    return there;
  }
  std::vector<Operand> stage(const Operand* in, std::size_t inputs, std::size_t n) {
    std::vector<Operand> there;
    for (std::size_t j = 0; in != nullptr && j < inputs; ++j) there.push_back(stage(in[j], n));
    return there;
  }
  const void* stage_reals(const Signature& type, const void* reals, std::size_t n) {
    if (reals == nullptr) return nullptr;
    const std::size_t bytes = n * type.op->numbers.reals * size_of(type.dtype);
    return shared_->commands.stage(static_cast<const std::byte*>(reals), bytes);
  }

  std::shared_ptr<Shared> shared_;
  Fallback fallback_;
};

}  // namespace

std::unique_ptr<Queue> make_queue(std::shared_ptr<Shared> shared) {
  return std::make_unique<CudaQueue>(std::move(shared));
}

}  // namespace dynet_like::detail::cuda
