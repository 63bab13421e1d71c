# What scripts/gpu_pack.sh takes to a machine with a GPU: the target gpu_pack builds it, and the component
# gpu_pack installs it, stripped. The libraries must be shared: programs with the kernels in each of them
# would be too large to travel.
if(NOT BUILD_SHARED_LIBS OR NOT DYNET_LIKE_BUILD_BENCH OR NOT DYNET_LIKE_BUILD_EXAMPLES)
  return()
endif()
set(gpu_tests cuda ops train graph exec chains)
list(TRANSFORM gpu_tests APPEND _tests)
set(programs smoke constants throughput dump classify_trees tag_words ${gpu_tests})
add_custom_target(gpu_pack DEPENDS ${programs})
set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS ${programs} RUNTIME DESTINATION bin COMPONENT gpu_pack EXCLUDE_FROM_ALL)
install(TARGETS dynet_like_batching dynet_like dynet_like_nn dynet_like_compat
        LIBRARY DESTINATION lib NAMELINK_SKIP COMPONENT gpu_pack EXCLUDE_FROM_ALL)
# A line per program of tests: its name, and the filter of those cases that look at a device.
list(TRANSFORM gpu_tests APPEND " -${cpu_only_filter}")
list(JOIN gpu_tests "\n" lines)
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/gpu_tests.txt CONTENT "${lines}\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpu_tests.txt DESTINATION . COMPONENT gpu_pack EXCLUDE_FROM_ALL)
