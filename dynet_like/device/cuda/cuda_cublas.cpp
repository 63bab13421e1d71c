// cuBLAS, loaded by the dynamic loader.
#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/cublas.h"
#include "dynet_like/device/cuda/loader.h"

namespace dynet_like::detail::cuda {

Cublas Cublas::load() {
  // The version of the headers.
  const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* const library = open_library(name.c_str());
  if (library == nullptr) throw DeviceError("[cuda] need " + name + "; got: " + loader_error());
  const auto find = [&]<class Function>(Function& function, const char* function_name) {
    void* const found = find_function(library, function_name);
    if (found == nullptr) {
      throw DeviceError("[cuda] need " + std::string(function_name) + " of " + name +
                        "; got: " + loader_error());
    }
    function = reinterpret_cast<Function>(found);
  };
  Cublas cublas{};
  find(cublas.create, "cublasCreate_v2");
  find(cublas.destroy, "cublasDestroy_v2");
  find(cublas.set_stream, "cublasSetStream_v2");
  find(cublas.set_workspace, "cublasSetWorkspace_v2");
  find(cublas.set_math_mode, "cublasSetMathMode");
  find(cublas.sgemm, "cublasSgemm_v2");
  find(cublas.dgemm, "cublasDgemm_v2");
  find(cublas.status_string, "cublasGetStatusString");
  return cublas;
}

void Cublas::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError("[cuda] need " + std::string(call) +
                    " to succeed; got: " + status_string(status));
}

}  // namespace dynet_like::detail::cuda
