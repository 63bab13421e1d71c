# The GPU back end as part of the library. Its kernels (*.cu) are built by nvcc, or by the C++
# compiler to run on the CPU.
set(folder ${PROJECT_SOURCE_DIR}/dynet_like/device/cuda)
file(GLOB kernels CONFIGURE_DEPENDS ${folder}/*.cu)
file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
target_compile_definitions(dynet_like PRIVATE DYNET_LIKE_CUDA)

if(DYNET_LIKE_CUDA STREQUAL HOST)
  file(GLOB host_sources CONFIGURE_DEPENDS ${folder}/host/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/loader\\.cpp$")
  set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX
                              COMPILE_OPTIONS "${dynet_like_host_kernel_options}")
  target_sources(dynet_like PRIVATE ${sources} ${host_sources} ${kernels})
  target_compile_definitions(dynet_like PRIVATE DYNET_LIKE_CUDA_HOST)
  # CUDA's runtime and cuBLAS, emulated on the CPU.
  target_include_directories(dynet_like PRIVATE ${folder}/host/toolkit)
else()
  find_package(CUDAToolkit REQUIRED)
  target_sources(dynet_like PRIVATE ${sources} ${kernels})
  # As on the CPU, a product and a sum become one fma only where the code says so. CMake 3.25 does
  # not know nvcc's option for C++20.
  set(cuda_options -std=c++20 --expt-relaxed-constexpr -fmad=false -Xptxas=-warn-spills
      -Xcompiler=-Wall,-Wextra,-ffp-contract=off)
  if(DYNET_LIKE_WERROR)
    list(APPEND cuda_options --Werror=all-warnings)
  endif()
  target_compile_options(dynet_like PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options}>")
  # Programs must start without a driver. The runtime looks for it when it is asked for devices; of
  # cuBLAS only headers are used, and it is loaded when its products are allowed.
  target_include_directories(dynet_like SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  # A runtime launches only the kernels that were registered with it, so a program and the library
  # must have the same one. A static one would be hidden in a shared library.
  if(BUILD_SHARED_LIBS)
    set_target_properties(dynet_like PROPERTIES CUDA_RUNTIME_LIBRARY Shared
                          INSTALL_RPATH "$ORIGIN;${CUDAToolkit_LIBRARY_DIR}")
    target_link_libraries(dynet_like PUBLIC CUDA::cudart)
  else()
    set_target_properties(dynet_like PROPERTIES CUDA_RUNTIME_LIBRARY Static)
    target_link_libraries(dynet_like PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
  endif()
endif()
