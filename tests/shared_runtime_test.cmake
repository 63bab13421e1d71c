# A user's kernels and the shared library's are registered with one runtime of CUDA, a shared one.
# Arguments: NM; FILES, the library and a program with kernels of its own.
cmake_minimum_required(VERSION 3.25)
foreach(file IN LISTS FILES)
  execute_process(COMMAND ${NM} -D --undefined-only ${file} OUTPUT_VARIABLE symbols
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT symbols MATCHES " __cudaRegisterFatBinary@libcudart")
    message(FATAL_ERROR "need kernels that ${file} registers with the shared runtime; got a runtime of its own")
  endif()
endforeach()
