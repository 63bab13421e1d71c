# Finds nvcc and says which GPUs it builds for; targets of every folder that link CUDA need it.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "DYNET_LIKE_CUDA=ON needs nvcc of CUDA's toolkit; got none in PATH or CUDACXX. "
                      "(DYNET_LIKE_CUDA=HOST runs the kernels on the CPU.)")
endif()
# Code for A100 and H100, and PTX for what comes after them.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
endif()
enable_language(CUDA)
