// The functions of a GPU, on the CPU.
#include "dynet_like/device/cuda/runtime.h"

#include <cstdlib>
#include <cstring>

#include "dynet_like/device/cuda/host/emulator.h"

namespace dynet_like::cuda {

struct Runtime::Implementation {};

std::vector<std::string> Runtime::names() { return {"cuda-host"}; }
std::string Runtime::why_none() { return ""; }

Runtime::Runtime(unsigned) {}
Runtime::~Runtime() = default;

void* Runtime::allocate(std::size_t size) {
  ++counts_.allocations;
  void* memory = std::aligned_alloc(256, (size + 256) / 256 * 256);
  std::memset(memory, 0xff, size);
  return memory;
}
void Runtime::free(void* memory) noexcept { std::free(memory); }
void* Runtime::allocate_pinned(std::size_t size) { return std::malloc(size); }
void Runtime::free_pinned(void* memory) noexcept { std::free(memory); }

void Runtime::copy_to_device(void* to, const void* from, std::size_t size) {
  ++counts_.copies_to_device;
  counts_.bytes_to_device += size;
  std::memcpy(to, from, size);
}
void Runtime::copy_to_host(void* to, const void* from, std::size_t size) {
  ++counts_.copies_to_host;
  counts_.bytes_to_host += size;
  std::memcpy(to, from, size);
}
void Runtime::copy(void* to, const void* from, std::size_t size) { std::memmove(to, from, size); }
void Runtime::zero(void* to, std::size_t size) { std::memset(to, 0, size); }

void Runtime::launch(const Shape& shape, Threads threads, const Call& call) {
  ++counts_.launches;
  host::execute(shape, threads, call.run, call.kernel);
}

namespace {

template <class T>
void multiply_elements(const LibraryProduct& p) {
  const T* a = static_cast<const T*>(p.a);
  const T* b = static_cast<const T*>(p.b);
  T* c = static_cast<T*>(p.c);
  for (std::size_t j = 0; j < p.columns; ++j) {
    for (std::size_t i = 0; i < p.rows; ++i) {
      T sum = 0;
      for (std::size_t k = 0; k < p.inner; ++k) {
        sum += a[p.a_transposed ? i * p.a_stride + k : k * p.a_stride + i] *
               b[p.b_transposed ? k * p.b_stride + j : j * p.b_stride + k];
      }
      T& to = c[j * p.c_stride + i];
      to = p.beta == 0 ? sum : sum + static_cast<T>(p.beta) * to;
    }
  }
}

}  // namespace

void Runtime::multiply(const LibraryProduct& product) {
  ++counts_.launches;
  product.dtype == DType::f32 ? multiply_elements<float>(product)
                              : multiply_elements<double>(product);
}

void Runtime::wait() { ++counts_.synchronisations; }
void Runtime::mark(unsigned) {}
void Runtime::wait_for(unsigned) {}

}  // namespace dynet_like::cuda
