// cuBLAS on the CPU: one chain of additions per element, queued like other work.
#include <cublas_v2.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/host/driver.h"
#include "dynet_like/device/cuda/loader.h"

using namespace dynet_like;
using namespace dynet_like::detail::cuda;
using host::Driver, host::Work;

struct cublasContext {
  int device;
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
};

namespace {

template <class T>
struct Product {
  std::size_t rows, columns, inner;
  const T* a;
  std::size_t a_row_step, a_inner_step;
  const T* b;
  std::size_t b_inner_step, b_column_step;
  T alpha, beta;
  T* c;
  std::size_t c_stride;
};

// Adds in the order of `inner`.
template <class T>
void multiply(Work& work) {
  const Product<T>& p = work.as<Product<T>>();
  std::vector<T, host::OwnMemory<T>> sums(p.rows);
  for (std::size_t j = 0; j < p.columns; ++j) {
    std::fill(sums.begin(), sums.end(), T(0));
    for (std::size_t k = 0; k < p.inner; ++k) {
      const T factor = p.b[k * p.b_inner_step + j * p.b_column_step];
      for (std::size_t i = 0; i < p.rows; ++i) {
        sums[i] += p.a[i * p.a_row_step + k * p.a_inner_step] * factor;
      }
    }
    T* const to = p.c + j * p.c_stride;
    for (std::size_t i = 0; i < p.rows; ++i) {
      to[i] = p.beta == 0 ? p.alpha * sums[i] : p.alpha * sums[i] + p.beta * to[i];
    }
  }
}

template <class Action>
cublasStatus_t call(const Action& action, Driver::Call::Kind kind = Driver::Call::ordinary) {
  if (Driver::get().call(action, kind) == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  cudaGetLastError();  // it is no error of CUDA's runtime
  return CUBLAS_STATUS_EXECUTION_FAILED;
}

void need_handle(const char* what, cublasHandle_t handle) {
  if (!Driver::get().objects.handles.contains(handle)) {
    throw DeviceError("[" + std::string(what) + "] need a handle that lives; got another");
  }
  Driver::get().need_current(what, handle->device);
}

template <class T>
cublasStatus_t gemm(const char* what, cublasHandle_t handle, cublasOperation_t a_op,
                    cublasOperation_t b_op, int rows, int columns, int inner, const T* alpha,
                    const T* a, int a_stride, const T* b, int b_stride, const T* beta, T* c,
                    int c_stride) {
  return call([&] {
    Driver& driver = Driver::get();
    need_handle(what, handle);
    driver.objects.need_stream(what, handle->stream);
    driver.need_device(what, handle->workspace, 1);
    const auto need_matrix = [&](const T* at, int stride, int height, int width, bool transposed) {
      if (transposed) std::swap(height, width);
      if (stride < std::max(height, 1))
        throw DeviceError("[gemm] need columns that do not overlap; got a smaller stride");
      const std::size_t size =
          width == 0 ? 0 : std::size_t(width - 1) * std::size_t(stride) + std::size_t(height);
      driver.need_device(what, at, size * sizeof(T));
    };
    const bool a_transposed = a_op == CUBLAS_OP_T, b_transposed = b_op == CUBLAS_OP_T;
    need_matrix(a, a_stride, rows, inner, a_transposed);
    need_matrix(b, b_stride, inner, columns, b_transposed);
    need_matrix(c, c_stride, rows, columns, false);
    const auto step = [](int stride, bool along_columns) {
      return along_columns ? static_cast<std::size_t>(stride) : std::size_t{1};
    };
    const Product<T> product{std::size_t(rows),
                             std::size_t(columns),
                             std::size_t(inner),
                             a,
                             step(a_stride, a_transposed),
                             step(a_stride, !a_transposed),
                             b,
                             step(b_stride, b_transposed),
                             step(b_stride, !b_transposed),
                             *alpha,
                             *beta,
                             c,
                             std::size_t(c_stride)};
    driver.queue(handle->stream, host::make_work(multiply<T>, product));
  });
}

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return call([&] {
    void* const memory = std::malloc(sizeof(cublasContext));
    if (memory == nullptr) throw std::bad_alloc();
    *handle = ::new (memory) cublasContext{host::current_device()};
    Driver::get().objects.handles.insert(memory);
  });
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  return call(
      [&] {
        need_handle("cublasDestroy", handle);
        Driver::get().objects.handles.erase(handle);
        std::free(handle);
      },
      Driver::Call::gives_back);
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return call([&] {
    need_handle("cublasSetStream", handle);
    Driver::get().objects.need_stream("cublasSetStream", stream);
    handle->stream = stream;
    handle->workspace = nullptr;  // cuBLAS's own workspace again
  });
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t size) {
  return call([&] {
    need_handle("cublasSetWorkspace", handle);
    Driver::get().need_device("cublasSetWorkspace", workspace, size);
    handle->workspace = workspace;
  });
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t) {
  return call([&] { need_handle("cublasSetMathMode", handle); });
}
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op,
                              int rows, int columns, int inner, const float* alpha, const float* a,
                              int a_stride, const float* b, int b_stride, const float* beta,
                              float* c, int c_stride) {
  return gemm("cublasSgemm", handle, a_op, b_op, rows, columns, inner, alpha, a, a_stride, b,
              b_stride, beta, c, c_stride);
}
cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op,
                              int rows, int columns, int inner, const double* alpha,
                              const double* a, int a_stride, const double* b, int b_stride,
                              const double* beta, double* c, int c_stride) {
  return gemm("cublasDgemm", handle, a_op, b_op, rows, columns, inner, alpha, a, a_stride, b,
              b_stride, beta, c, c_stride);
}
const char* cublasGetStatusString(cublasStatus_t) { return Driver::get().text(); }

namespace dynet_like::detail::cuda {

// The loader: functions by their names in libcublas.
void* open_library(const char*) { return Driver::get().cublas_hidden ? nullptr : &Driver::get(); }

void* find_function(void*, std::string_view name) {
  const std::pair<std::string_view, void*> functions[] = {
      {"cublasCreate_v2", reinterpret_cast<void*>(cublasCreate_v2)},
      {"cublasDestroy_v2", reinterpret_cast<void*>(cublasDestroy_v2)},
      {"cublasSetStream_v2", reinterpret_cast<void*>(cublasSetStream_v2)},
      {"cublasSetWorkspace_v2", reinterpret_cast<void*>(cublasSetWorkspace_v2)},
      {"cublasSetMathMode", reinterpret_cast<void*>(cublasSetMathMode)},
      {"cublasSgemm_v2", reinterpret_cast<void*>(cublasSgemm_v2)},
      {"cublasDgemm_v2", reinterpret_cast<void*>(cublasDgemm_v2)},
      {"cublasGetStatusString", reinterpret_cast<void*>(cublasGetStatusString)}};
  for (const auto& [known, function] : functions) {
    if (known == name) return function;
  }
  return nullptr;
}

std::string loader_error() { return "no such file"; }

}  // namespace dynet_like::detail::cuda
