// The CPU as a device: finds kernels and splits large batches over a few threads.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <unordered_map>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/thread_pool.h"
#include "dynet_like/device/device.h"

namespace dynet_like {

namespace {

// Below this many operations a second thread costs more than it brings.
constexpr double kWorthAThread = 100'000;

class GrowingWorkspace : public Workspace {
 public:
  void* bytes(std::size_t size) override {
    if (size > size_) {
      memory_.reset(static_cast<std::byte*>(::operator new (size, std::align_val_t{64})));
      size_ = size;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

using KernelMap = std::unordered_map<std::string_view, Kernels>;

KernelMap all_kernels() {
  KernelMap map;
  for (const auto& table :
       {cpu::elementwise_kernels(), cpu::product_kernels(), cpu::reduction_kernels(),
        cpu::shape_kernels(), cpu::softmax_kernels()}) {
    for (const cpu::KernelEntry& entry : table) map.emplace(entry.op, entry.kernels);
  }
  return map;
}

template <class T>
const T* advance(const T* pointer, std::size_t n) {
  return pointer == nullptr ? nullptr : pointer + n;
}

const void* advance_bytes(const void* pointer, std::size_t n) {
  return pointer == nullptr ? nullptr : static_cast<const std::byte*>(pointer) + n;
}

Operand from_item(const Operand& operand, std::size_t first) {
  return {advance(operand.items, first), operand.shared};
}

class CpuDevice : public Device {
 public:
  explicit CpuDevice(unsigned threads) : pool_(threads), workspaces_(threads) {}

  const Kernels& kernels(const Op& op) const override {
    if (op.kernels != nullptr) return *op.kernels;
    static const KernelMap map = all_kernels();
    const auto found = map.find(op.name);
    if (found == map.end()) {
      throw DeviceError("[" + std::string(op.name) + "] need a kernel for the CPU; got none");
    }
    return found->second;
  }

  void forward(Kernels::Forward kernel, const ForwardCall& call) override {
    const Signature& type = *call.type;
    for_parts(call.n, call.n, cost(type), [&](unsigned part, std::size_t begin, std::size_t end) {
      std::vector<Operand> in;
      for (std::size_t j = 0; j < type.inputs.size(); ++j)
        in.push_back(from_item(call.in[j], begin));
      ForwardCall slice = call;
      slice.n = end - begin;
      slice.in = in.data();
      const std::size_t element = size_of(type.dtype);
      slice.out = static_cast<std::byte*>(call.out) + begin * type.output_size * element;
      slice.saved = const_cast<void*>(advance_bytes(call.saved, begin * type.saved_size * element));
      slice.integers = advance(call.integers, begin * type.op->integers_per_item);
      slice.reals = advance_bytes(call.reals, begin * type.op->reals_per_item * element);
      slice.workspace = &workspaces_[part];
      kernel(slice);
    });
  }

  void backward(Kernels::Backward kernel, const BackwardCall& call) override {
    const Signature& type = *call.type;
    for_parts(
        call.n, call.n, 2 * cost(type), [&](unsigned part, std::size_t begin, std::size_t end) {
          std::vector<Operand> in;
          std::vector<Destination> dx;
          for (std::size_t j = 0; j < type.inputs.size(); ++j) {
            if (call.in != nullptr) in.push_back(from_item(call.in[j], begin));
            dx.push_back({advance(call.dx[j].items, begin), advance(call.dx[j].add, begin)});
          }
          BackwardCall slice = call;
          slice.n = end - begin;
          slice.in = in.data();
          slice.out = from_item(call.out, begin);
          slice.saved = from_item(call.saved, begin);
          slice.dy = from_item(call.dy, begin);
          slice.dx = dx.data();
          slice.integers = advance(call.integers, begin * type.op->integers_per_item);
          slice.reals =
              advance_bytes(call.reals, begin * type.op->reals_per_item * size_of(type.dtype));
          slice.workspace = &workspaces_[part];
          kernel(slice);
        });
  }

  void add_outer_products(DType dtype, void* sum, std::size_t rows, std::size_t columns,
                          const Addends& addends) override {
    // Split by rows of the sum, never by addends: every element keeps its one chain.
    constexpr std::size_t kRows = 64;
    const std::size_t blocks = (rows + kRows - 1) / kRows;
    const double work = 2.0 * kRows * static_cast<double>(columns * addends.n);
    const auto kernel = cpu::accumulators().outer_products[static_cast<int>(dtype)];
    for_parts(blocks, blocks, work, [&](unsigned, std::size_t begin, std::size_t end) {
      kernel(sum, rows, begin * kRows, std::min(rows, end * kRows), columns, addends.dy, addends.x,
             addends.n);
    });
  }

  void add_all(DType dtype, void* sum, std::size_t size, const Addends& addends) override {
    cpu::accumulators().all[static_cast<int>(dtype)](sum, 0, size, addends.dy, addends.n);
  }

 private:
  static double cost(const Signature& type) {
    return type.op->cost != nullptr ? type.op->cost(type) : static_cast<double>(type.output_size);
  }

  // work(part, begin, end) over [0, n), on as many threads as the work is worth.
  template <class Work>
  void for_parts(std::size_t n, std::size_t most, double cost_each, const Work& work) {
    const double worth = static_cast<double>(n) * cost_each / kWorthAThread;
    const auto parts = static_cast<unsigned>(
        std::clamp<double>(std::min<double>(worth, static_cast<double>(most)), 1.0, pool_.size()));
    if (parts == 1) return work(0, 0, n);
    pool_.run(parts, [&](unsigned part) { work(part, n * part / parts, n * (part + 1) / parts); });
  }

  cpu::ThreadPool pool_;
  std::vector<GrowingWorkspace> workspaces_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(unsigned threads) {
  return std::make_unique<CpuDevice>(std::max(1u, threads));
}

}  // namespace dynet_like
