# Test programs: their common settings, and how ctest sees their cases.
find_package(GTest REQUIRED)

set(folder ${PROJECT_SOURCE_DIR}/tests/support)
file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
add_library(test_support STATIC ${sources})
dynet_like_target(test_support)
target_link_libraries(test_support PUBLIC dynet_like::nn dynet_like::compat GTest::gtest fmt::fmt
                      nlohmann_json::nlohmann_json Highway::highway Eigen3::Eigen Boost::headers)
cmake_path(SET data NORMALIZE ${PROJECT_SOURCE_DIR}/../shared/data)
set_source_files_properties(${folder}/main.cpp PROPERTIES COMPILE_DEFINITIONS
  "DYNET_LIKE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";DYNET_LIKE_DATA=\"${data}\"")
if(DYNET_LIKE_CUDA STREQUAL HOST)
  target_compile_definitions(test_support PUBLIC DYNET_LIKE_CUDA_HOST)
  target_include_directories(test_support PUBLIC ${PROJECT_SOURCE_DIR}/dynet_like/device/cuda/host/toolkit)
endif()
# Tests are compiled more often than they run: so with little optimisation, and with none if a
# sanitizer makes compiling three times as slow. The library keeps its own options. A precompiled
# header needs the same options everywhere: programs are -fPIE.
if(DYNET_LIKE_SANITIZE)
  set(test_options -O0)
else()
  set(test_options $<$<CONFIG:Release>:-Og>)
endif()
set_target_properties(test_support PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(test_support PRIVATE -fPIE ${test_options})
target_precompile_headers(test_support PRIVATE ${folder}/precompiled.h)

# test_program(NAME SOURCES...): a program of test cases. Names in unnamed namespaces must differ
# within a folder, since sources are compiled together.
function(test_program name)
  dynet_like_program(${name} ${ARGN})
  dynet_like_unite(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE test_support)
  target_compile_options(${name} PRIVATE ${test_options})
  target_precompile_headers(${name} REUSE_FROM test_support)
endfunction()

set(DYNET_LIKE_TESTS_LEFT_OUT "" CACHE STRING "GoogleTest's patterns of cases that ctest does not run")

# test_cases(PROGRAM [PREFIX prefix] [FILTER filter] [ARGUMENTS ...] [PROPERTIES ...]): makes a
# ctest test of each suite. It may be called several times for a program, with other arguments and
# prefixes.
function(test_cases program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX;FILTER" "ARGUMENTS;PROPERTIES")
  if(NOT arg_FILTER)
    set(arg_FILTER *)
  endif()
  string(MAKE_C_IDENTIFIER "${program}${arg_PREFIX}${arg_FILTER}" name)
  if(DYNET_LIKE_TESTS_LEFT_OUT)
    if(NOT arg_FILTER MATCHES "-")
      string(APPEND arg_FILTER -)
    elseif(NOT arg_FILTER MATCHES "-$")
      string(APPEND arg_FILTER :)
    endif()
    string(APPEND arg_FILTER "${DYNET_LIKE_TESTS_LEFT_OUT}")
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}.cmake)
  file(GENERATE OUTPUT ${file} CONTENT
"include(${PROJECT_SOURCE_DIR}/cmake/AddTestCases.cmake)
add_test_cases($<TARGET_FILE:${program}> \"${arg_FILTER}\" \"${arg_PREFIX}\" \"${arg_ARGUMENTS}\"
  \"WORKING_DIRECTORY;${PROJECT_BINARY_DIR};TIMEOUT;900;${arg_PROPERTIES}\")\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()
