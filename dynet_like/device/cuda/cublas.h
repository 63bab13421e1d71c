// The functions of cuBLAS that are used, loaded when library products are chosen.
#pragma once

#include <cublas_v2.h>

namespace dynet_like::detail::cuda {

/// cuBLAS is not linked, so that programs start, and use the CPU, where it is not installed.
struct Cublas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasSetMathMode) set_math_mode;
  decltype(&cublasSgemm_v2) sgemm;
  decltype(&cublasDgemm_v2) dgemm;
  decltype(&cublasGetStatusString) status_string;

  /// Throws DeviceError, with the loader's text, if the library is not installed.
  static Cublas load();
  /// Throws DeviceError with the call and cuBLAS's text unless the status is success.
  void check(cublasStatus_t status, const char* call) const;
};

}  // namespace dynet_like::detail::cuda
