// The CPU's queue: finds kernels and splits large batches over a few threads.
#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/memory.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/open_destinations.h"
#include "dynet_like/device/queue.h"

namespace dynet_like::detail {

namespace {

// Below this many operations a second thread costs more time than it saves.
constexpr double kWorthAThread = 100'000;

class ArenaWorkspace : public Workspace {
 public:
  void* bytes(std::size_t size) override { return arena_.allocate(size); }
  void reset() { arena_.reset(); }

 private:
  Arena arena_;
};

using KernelMap = std::unordered_map<std::string_view, Kernels>;

KernelMap all_kernels() {
  KernelMap map;
  for (const KernelEntry& entry : cpu::all_kernels()) map.emplace(entry.op, entry.kernels);
  return map;
}

// For the first instruction set that was chosen, like the kernels.
const cpu::MatrixFunctions& chosen_functions() {
  static const cpu::MatrixFunctions& functions = cpu::matrix_functions();
  return functions;
}

template <class T>
const T* advance(const T* pointer, std::size_t n) {
  return pointer == nullptr ? nullptr : pointer + n;
}

const void* advance_bytes(const void* pointer, std::size_t n) {
  return pointer == nullptr ? nullptr : static_cast<const std::byte*>(pointer) + n;
}

Operand from_item(const Operand& operand, std::size_t first) {
  return {advance(operand.items, first), operand.shared, operand.packed};
}

Output from_item(const Output& out, std::size_t first, std::size_t element) {
  if (out.items != nullptr) return Output(out.items + first);
  return {static_cast<std::byte*>(out.first) + first * out.size * element, out.size};
}

// The operands and destinations of a call, beginning at one of its items.
std::vector<Operand> from_item(const Operand* in, std::size_t inputs, std::size_t first) {
  std::vector<Operand> result;
  for (std::size_t j = 0; in != nullptr && j < inputs; ++j) {
    result.push_back(from_item(in[j], first));
  }
  return result;
}
std::vector<Destination> from_item(const Destination* dx, std::size_t inputs, std::size_t first) {
  std::vector<Destination> result;
  for (std::size_t j = 0; dx != nullptr && j < inputs; ++j) {
    result.push_back({advance(dx[j].items, first), advance(dx[j].add, first)});
  }
  return result;
}

// A user's op may lack kernels.
template <class Kernel>
void check_kernel(Kernel kernel, const char* direction, const Signature& type) {
  if (kernel != nullptr) return;
  throw DeviceError("[" + std::string(type.op->name) + "] need a " + direction + " kernel for " +
                    name_of(type.dtype) + "; got none");
}

// The first item from i on that shares no destination with the previous item: a part may begin
// there.
std::size_t first_of_its_own(const BackwardCall& call, std::size_t i) {
  while (i < call.n && shares_a_destination(call, i)) ++i;
  return i;
}

class CpuQueue : public Queue {
 public:
  explicit CpuQueue(std::shared_ptr<ThreadPool> pool)
      : pool_(std::move(pool)), workspaces_(pool_ == nullptr ? 1 : pool_->size()) {}

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
    check_kernel(kernel, "forward", type);
    for_parts(call.n, cost(type), [&](unsigned part, std::size_t begin, std::size_t end) {
      ForwardCall slice = call;
      slice.workspace = &workspace(part);
      if (end - begin == call.n) return kernel(slice);
      const std::vector<Operand> in = from_item(call.in, type.inputs.size(), begin);
      slice.n = end - begin;
      slice.in = in.data();
      const std::size_t element = size_of(type.dtype);
      slice.out = from_item(call.out, begin * type.op->parts, element);
      slice.saved = const_cast<void*>(advance_bytes(call.saved, begin * type.saved_size * element));
      slice.integers = advance(call.integers, begin * type.integers);
      slice.reals = advance_bytes(call.reals, begin * type.op->numbers.reals * element);
      if (call.early_inputs != 0) slice.early = from_item(call.early, begin, element);
      kernel(slice);
    });
  }

  void backward(Kernels::Backward kernel, const BackwardCall& call) override {
    const Signature& type = *call.type;
    check_kernel(kernel, "backward", type);
    for_parts(call.n, 2 * cost(type), [&](unsigned part, std::size_t begin, std::size_t end) {
      BackwardCall slice = call;
      slice.workspace = &workspace(part);
      begin = first_of_its_own(call, begin);
      end = first_of_its_own(call, end);
      if (begin == end) return;
      if (end - begin == call.n) return kernel(slice);
      const std::vector<Operand> in = from_item(call.in, type.inputs.size(), begin);
      const std::vector<Destination> dx = from_item(call.dx, type.inputs.size(), begin);
      slice.n = end - begin;
      slice.in = in.data();
      slice.out = from_item(call.out, begin * type.op->parts);
      slice.saved = from_item(call.saved, begin);
      slice.dy = from_item(call.dy, begin * type.op->parts);
      slice.dx = dx.data();
      slice.deferred = advance(call.deferred, begin);
      slice.integers = advance(call.integers, begin * type.integers);
      slice.reals = advance_bytes(call.reals, begin * type.op->numbers.reals * size_of(type.dtype));
      kernel(slice);
    });
  }

  void add_outer_products(DType dtype, const OuterProducts& call) override {
    // Split by rows of the sum, never by addends: every element remains one chain.
    const int type = static_cast<int>(dtype);
    const std::size_t panel = functions_.panel_rows[type];
    const std::size_t panels = (call.rows + panel - 1) / panel;
    const double work = 2.0 * static_cast<double>(panel * call.columns * call.addends.n);
    for_parts(panels, work, [&](unsigned part, std::size_t begin, std::size_t end) {
      functions_.add_outer_products[type](call, begin * panel, std::min(call.rows, end * panel),
                                          workspace(part));
    });
  }

  void add_all(DType dtype, void* sum, std::size_t size, const Addends& addends,
               SumStart start) override {
    const std::size_t bytes = size * size_of(dtype);
    if (start == SumStart::first) {
      std::memcpy(sum, addends.dy[0], bytes);
      return add_all(dtype, sum, size, {addends.dy + 1, nullptr, addends.n - 1}, SumStart::there);
    }
    if (addends.n == 0 && start == SumStart::zero) std::memset(sum, 0, bytes);
    if (addends.n == 0) return;
    const bool fresh = start == SumStart::zero;
    constexpr std::size_t kStretch = 64;  // elements: parts begin at vector and line boundaries
    const std::size_t stretches = (size + kStretch - 1) / kStretch;
    const double work = static_cast<double>(kStretch * addends.n);
    for_parts(stretches, work, [&](unsigned, std::size_t begin, std::size_t end) {
      functions_.add_all[static_cast<int>(dtype)](
          sum, begin * kStretch, std::min(size, end * kStretch), addends.dy, addends.n, fresh);
    });
  }

  const void* ones(DType dtype, std::size_t size) override {
    std::vector<Block>& blocks = ones_[static_cast<int>(dtype)];
    if (blocks.empty() || blocks.back().size() < size * size_of(dtype)) {
      Block block(2 * size * size_of(dtype));
      dtype == DType::f32 ? fill_with_ones<float>(block) : fill_with_ones<double>(block);
      blocks.push_back(std::move(block));
    }
    return blocks.back().data();
  }
  void write(void* to, const void* from, std::size_t size) override {
    if (size > 0) std::memcpy(to, from, size);
  }

  std::size_t packing(DType dtype) const override {
    return functions_.panel_rows[static_cast<int>(dtype)];
  }
  std::size_t packed_bytes(DType dtype, std::size_t rows, std::size_t columns,
                           bool transposed) const override {
    const auto size = functions_.packed_size[static_cast<int>(dtype)];
    return size(rows, columns, transposed) * size_of(dtype);
  }
  void pack(DType dtype, const void* matrix, std::size_t rows, std::size_t columns, bool transposed,
            void* to) const override {
    functions_.pack[static_cast<int>(dtype)](matrix, rows, columns, transposed, to);
  }

 private:
  template <class T>
  static void fill_with_ones(const Block& block) {
    std::fill_n(reinterpret_cast<T*>(block.data()), block.size() / sizeof(T), T(1));
  }

  static double cost(const Signature& type) {
    return type.op->cost != nullptr ? type.op->cost(type) : static_cast<double>(type.output_size);
  }

  // Calls work(part, begin, end) over [0, n), on as many threads as the work justifies.
  template <class Work>
  void for_parts(std::size_t n, double cost_each, const Work& work) {
    const double worth = static_cast<double>(n) * cost_each / kWorthAThread;
    const auto parts =
        static_cast<unsigned>(std::clamp<double>(std::min<double>(worth, static_cast<double>(n)),
                                                 1.0, static_cast<double>(workspaces_.size())));
    if (parts == 1) return work(0, 0, n);
    pool_->run(parts, [&](unsigned part) { work(part, n * part / parts, n * (part + 1) / parts); });
  }

  Workspace& workspace(unsigned part) {
    workspaces_[part].reset();
    return workspaces_[part];
  }

  std::shared_ptr<ThreadPool> pool_;
  std::vector<ArenaWorkspace> workspaces_;
  std::vector<Block> ones_[2];  ///< by DType; pointers that were returned earlier stay valid
  const cpu::MatrixFunctions& functions_ = chosen_functions();
};

}  // namespace

std::unique_ptr<Queue> make_cpu_queue(std::shared_ptr<ThreadPool> pool) {
  return std::make_unique<CpuQueue>(std::move(pool));
}

}  // namespace dynet_like::detail
