// The functions of a GPU, on the CPU: everything happens at once.
#include "dynet_like/device/cuda/runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/host/emulator.h"
#include "dynet_like/device/cuda/host/memory.h"
#include "dynet_like/device/cuda/launch.h"

namespace dynet_like::detail::cuda {

namespace {

constexpr std::size_t kAddresses = std::size_t{16} << 30;

}  // namespace

struct Runtime::Implementation {
  host::Memory memory{kAddresses};
  host::Emulator emulator;
  bool is_busy = false;  ///< something was begun that nobody has waited for

  void need_device(const char* what, const void* at, std::size_t size) const {
    if (memory.holds(at, size)) return;
    throw DeviceError("[" + std::string(what) + "] need " + std::to_string(size) +
                      " bytes within one allocation of the device; got another address");
  }
  void need_host(const char* what, const void* at) const {
    if (!memory.has_address(at)) return;
    throw DeviceError("[" + std::string(what) +
                      "] need memory of this process; got an address of the device");
  }
};

std::vector<std::string> Runtime::names() { return {"cuda-host"}; }
std::string Runtime::why_none() { return ""; }

Runtime::Runtime(unsigned) : implementation_(std::make_unique<Implementation>()) {}
Runtime::~Runtime() = default;

void Runtime::begin_use() {
  host::Memory& memory = implementation_->memory;
  if (!memory.is_open()) implementation_->emulator.set_schedule(host::read_schedule());
  memory.open();
}
void Runtime::end_use() noexcept { implementation_->memory.close(); }

void* Runtime::allocate(std::size_t size) {
  void* const memory = implementation_->memory.allocate(size);
  ++counts_.allocations;
  counts_.bytes_in_use = implementation_->memory.bytes_in_use();
  counts_.peak_bytes = std::max(counts_.peak_bytes, counts_.bytes_in_use);
  return memory;
}
void Runtime::free(void* memory) noexcept {
  implementation_->memory.free(memory);
  counts_.bytes_in_use = implementation_->memory.bytes_in_use();
}
void* Runtime::allocate_pinned(std::size_t size) {
  void* const memory = std::malloc(std::max<std::size_t>(size, 1));
  if (memory != nullptr) return memory;
  throw DeviceError("[cuda-host] need " + std::to_string(size) + " bytes of memory; got none");
}
void Runtime::free_pinned(void* memory) noexcept { std::free(memory); }

void Runtime::copy_to_device(void* to, const void* from, std::size_t size) {
  const RuntimeUse use(*this);
  implementation_->need_device("copy_to_device", to, size);
  implementation_->need_host("copy_to_device", from);
  std::memcpy(to, from, size);
  ++counts_.copies_to_device;
  counts_.bytes_to_device += size;
  implementation_->is_busy = true;
}
void Runtime::copy_to_host(void* to, const void* from, std::size_t size) {
  const RuntimeUse use(*this);
  implementation_->need_host("copy_to_host", to);
  implementation_->need_device("copy_to_host", from, size);
  std::memcpy(to, from, size);
  ++counts_.copies_to_host;
  counts_.bytes_to_host += size;
  implementation_->is_busy = true;
}
void Runtime::copy(void* to, const void* from, std::size_t size) {
  const RuntimeUse use(*this);
  implementation_->need_device("copy", to, size);
  implementation_->need_device("copy", from, size);
  std::memmove(to, from, size);
  implementation_->is_busy = true;
}
void Runtime::zero(void* to, std::size_t size) {
  const RuntimeUse use(*this);
  implementation_->need_device("zero", to, size);
  std::memset(to, 0, size);
  implementation_->is_busy = true;
}

void Runtime::launch(const Shape& shape, Threads threads, const Call& call) {
  const RuntimeUse use(*this);
  for (const void* pointer : call.pointers) {
    if (pointer == nullptr || implementation_->memory.holds(pointer, 0)) continue;
    throw DeviceError(
        "[launch] need arguments that are null or addresses of the device; got another");
  }
  implementation_->emulator.execute(shape, threads, {call.run, call.kernel});
  ++counts_.launches;
  implementation_->is_busy = true;
}

namespace {

// One chain per element, in the order of `inner`.
template <class T>
void multiply_elements(const LibraryProduct& p) {
  const T* const a = static_cast<const T*>(p.a);
  const T* const b = static_cast<const T*>(p.b);
  const std::size_t row_step = p.a_transposed ? p.a_stride : 1;
  const std::size_t inner_step = p.a_transposed ? 1 : p.a_stride;
  std::vector<T> sums(p.rows);
  for (std::size_t j = 0; j < p.columns; ++j) {
    std::fill(sums.begin(), sums.end(), T(0));
    for (std::size_t k = 0; k < p.inner; ++k) {
      const T factor = b[p.b_transposed ? k * p.b_stride + j : j * p.b_stride + k];
      for (std::size_t i = 0; i < p.rows; ++i) {
        sums[i] += a[i * row_step + k * inner_step] * factor;
      }
    }
    T* const to = static_cast<T*>(p.c) + j * p.c_stride;
    for (std::size_t i = 0; i < p.rows; ++i) {
      to[i] = p.beta == 0 ? sums[i] : sums[i] + static_cast<T>(p.beta) * to[i];
    }
  }
}

}  // namespace

void Runtime::multiply(const LibraryProduct& product) {
  const RuntimeUse use(*this);
  const auto need_matrix = [&](const void* at, std::size_t stride, std::size_t rows,
                               std::size_t columns, bool transposed) {
    if (transposed) std::swap(rows, columns);
    const std::size_t size = columns == 0 ? 0 : (columns - 1) * stride + rows;
    implementation_->need_device("multiply", at, size * size_of(product.dtype));
  };
  const auto& p = product;
  need_matrix(p.a, p.a_stride, p.rows, p.inner, p.a_transposed);
  need_matrix(p.b, p.b_stride, p.inner, p.columns, p.b_transposed);
  need_matrix(p.c, p.c_stride, p.rows, p.columns, false);
  p.dtype == DType::f32 ? multiply_elements<float>(p) : multiply_elements<double>(p);
  ++counts_.launches;
  implementation_->is_busy = true;
}

void Runtime::wait() {
  if (!implementation_->is_busy) return;
  implementation_->is_busy = false;
  ++counts_.synchronisations;
  const RuntimeUse use(*this);
  implementation_->memory.check();
}
// What was begun before a mark has been done, so that nobody ever waits for it.
void Runtime::mark(unsigned) {}
void Runtime::wait_for(unsigned) {}

}  // namespace dynet_like::detail::cuda
