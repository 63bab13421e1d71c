# Finds nvcc, and sets the GPUs that it builds for. Targets that link CUDA need this in their
# folder.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "DYNET_LIKE_CUDA=ON needs nvcc of CUDA's toolkit; got none in PATH or CUDACXX. "
                      "(DYNET_LIKE_CUDA=HOST runs the kernels on the CPU.)")
endif()
# Machine code for A100 and H100, and PTX for later GPUs.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
endif()
enable_language(CUDA)
