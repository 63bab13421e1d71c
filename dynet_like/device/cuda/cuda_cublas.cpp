// cuBLAS by way of the dynamic loader.
#include <dlfcn.h>

#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/cublas.h"

namespace dynet_like::detail::cuda {

namespace {

// The version that the headers describe.
const std::string kLibrary = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);

std::string loader_error() {
  const char* const text = ::dlerror();
  return text == nullptr ? "no reason" : text;
}

class Library {
 public:
  Library() : handle_(::dlopen(kLibrary.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr)
      throw DeviceError("[cuda] need " + kLibrary + "; got: " + loader_error());
  }
  template <class Function>
  void load(Function& function, const char* name) const {
    void* const found = ::dlsym(handle_, name);
    if (found == nullptr) {
      throw DeviceError("[cuda] need " + std::string(name) + " of " + kLibrary +
                        "; got: " + loader_error());
    }
    function = reinterpret_cast<Function>(found);
  }

 private:
  void* handle_;  // stays: other parts of the process may use what it began
};

Cublas load_cublas() {
  const Library library;
  Cublas cublas{};
  library.load(cublas.create, "cublasCreate_v2");
  library.load(cublas.destroy, "cublasDestroy_v2");
  library.load(cublas.set_stream, "cublasSetStream_v2");
  library.load(cublas.set_workspace, "cublasSetWorkspace_v2");
  library.load(cublas.set_math_mode, "cublasSetMathMode");
  library.load(cublas.sgemm, "cublasSgemm_v2");
  library.load(cublas.dgemm, "cublasDgemm_v2");
  library.load(cublas.status_string, "cublasGetStatusString");
  return cublas;
}

}  // namespace

const Cublas& Cublas::get() {
  static const Cublas cublas = load_cublas();
  return cublas;
}

void Cublas::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError("[cuda] need " + std::string(call) +
                    " to succeed; got: " + status_string(status));
}

}  // namespace dynet_like::detail::cuda
