# Common settings of all targets of the project.

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(DYNET_LIKE_CCACHE ccache)
  mark_as_advanced(DYNET_LIKE_CCACHE)
  if(DYNET_LIKE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # What one folder's build has compiled serves those of others, sources that include a
    # precompiled header as well; compilers need an option each for that. Debug information names
    # its folder.
    if(CMAKE_BUILD_TYPE MATCHES "^(Release|MinSizeRel)$")
      set(any_folder CCACHE_NOHASHDIR=1)
    endif()
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${any_folder}
        CCACHE_SLOPPINESS=pch_defines,time_macros ${CMAKE_CURRENT_LIST_DIR}/ccache.sh ${DYNET_LIKE_CCACHE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
    else()
      add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
    endif()
  endif()
endif()

# A sanitizer must see every translation unit, so these options are not properties of single
# targets.
if(DYNET_LIKE_SANITIZE)
  add_compile_options(-fsanitize=${DYNET_LIKE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DYNET_LIKE_SANITIZE})
  # g++ warns of fences in Boost.Asio, which its thread sanitizer cannot see; Boost uses locks
  # beside them.
  if(DYNET_LIKE_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
endif()

# Code that reads files is built with the counters that guide fuzzers.
if(DYNET_LIKE_BUILD_FUZZERS)
  set(dynet_like_fuzzed -fsanitize=fuzzer-no-link)
endif()

set(dynet_like_warnings -Wall -Wextra -Wpedantic)
if(DYNET_LIKE_WERROR)
  list(APPEND dynet_like_warnings -Werror)
endif()
# g++ 12 warns of `"text" + std::string` itself (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND dynet_like_warnings -Wno-restrict)
endif()

# dynet_like_target(NAME): C++20, warnings, and arithmetic that is the same on all machines.
function(dynet_like_target name)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_compile_options(${name} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${dynet_like_warnings};-ffp-contract=off>")
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
endfunction()

# dynet_like_unite(NAME SOURCES...): compiles up to 8 sources of a folder as one, which takes half
# the time.
function(dynet_like_unite name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes the united sources for headers, where unnamed namespaces would be a mistake. In a
  # large unit it inlines less, which would make programs with many small nodes 3 % slower.
  target_compile_options(${name} PRIVATE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage;--param=large-unit-insns=100000>")
  set(size 8)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR group "${${folder}_sources}0 / ${size}0")
    math(EXPR ${folder}_sources "${${folder}_sources} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
endfunction()

# Sanitizers and the GPU emulator look for symbols of their own in all libraries, so all stay
# visible then.
if(BUILD_SHARED_LIBS AND NOT DYNET_LIKE_SANITIZE AND NOT DYNET_LIKE_CUDA STREQUAL "HOST")
  set(dynet_like_exports ${PROJECT_SOURCE_DIR}/cmake/exported_symbols.map)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -Wl,--version-script=${dynet_like_exports} DYNET_LIKE_HIDES_SYMBOLS)
endif()

# dynet_like_library(NAME SOURCES...): static, or shared with -DBUILD_SHARED_LIBS=ON. Calls inside a
# shared library are as direct as inside a static one, since its functions cannot be replaced.
function(dynet_like_library name)
  add_library(${name} ${ARGN})
  dynet_like_target(${name})
  dynet_like_unite(${name} ${ARGN})
  if(BUILD_SHARED_LIBS)
    target_compile_options(${name} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-semantic-interposition>)
    target_link_options(${name} PRIVATE -Wl,-Bsymbolic-functions)
    if(DYNET_LIKE_HIDES_SYMBOLS)
      target_link_options(${name} PRIVATE -Wl,--version-script=${dynet_like_exports})
      set_target_properties(${name} PROPERTIES LINK_DEPENDS ${dynet_like_exports})
    endif()
  endif()
  # Before 1.0, a minor version may change the interface. Installed libraries find each other by
  # RPATH.
  set_target_properties(${name} PROPERTIES DEFINE_SYMBOL "" VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH "$ORIGIN")
endfunction()

# With a precompiled header, g++ 12 has two more warnings for `"text" + std::string` (GCC bug
# 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(dynet_like_precompiled_warnings -Wno-array-bounds -Wno-stringop-overflow)
endif()

# dynet_like_precompile(NAME HEADERS...): compiles the headers of most sources of a library once.
# Sources with options of their own cannot share that. Call it after all source properties are set.
function(dynet_like_precompile name)
  target_compile_options(${name} PRIVATE ${dynet_like_precompiled_warnings})
  target_precompile_headers(${name} PRIVATE <algorithm> <cstdint> <functional> <map> <memory> <optional>
    <ranges> <set> <span> <string> <string_view> <unordered_map> <utility> <vector> ${ARGN})
  get_target_property(sources ${name} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# dynet_like_precompiled(NAME...): targets that share the precompiled header of nn, so they are
# compiled with -fPIC, too.
function(dynet_like_precompiled)
  foreach(name IN LISTS ARGN)
    target_compile_options(${name} PRIVATE ${dynet_like_precompiled_warnings} -fPIC)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_precompile_headers(${name} REUSE_FROM dynet_like_nn)
  endforeach()
endfunction()

# dynet_like_program(NAME SOURCES...): a program in bin/ that links the library.
function(dynet_like_program name)
  add_executable(${name} ${ARGN})
  dynet_like_target(${name})
  target_link_libraries(${name} PRIVATE dynet_like::nn fmt::fmt)
endfunction()

# GPU kernels that run on the CPU. Every access calls hooks of the emulator, which finds races and
# misaligned vectors; functions round as on a GPU. With sanitizers the whole build has their hooks.
# Kernels spend their time in the hooks: more than -O1 would double the compile time, and gain
# nothing.
set(dynet_like_host_kernel_options -xc++ -O1)
if(NOT DYNET_LIKE_SANITIZE)
  list(APPEND dynet_like_host_kernel_options -fsanitize=thread -fsanitize=alignment
       -include ${PROJECT_SOURCE_DIR}/dynet_like/device/cuda/host/libm.h
       "$<$<CXX_COMPILER_ID:GNU>:--param=tsan-instrument-func-entry-exit=0>")
endif()
