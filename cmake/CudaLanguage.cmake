# Finds nvcc, and sets the GPUs that it builds for. Targets that link CUDA need this in their
# folder.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "DYNET_LIKE_CUDA=ON needs nvcc of CUDA's toolkit; got none in PATH or CUDACXX. "
                      "(DYNET_LIKE_CUDA=HOST runs the kernels on the CPU.)")
endif()
# Machine code for compute capability 8.0, which 8.6 and 8.9 run, too, and 9.0; PTX for later GPUs.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
endif()
enable_language(CUDA)
