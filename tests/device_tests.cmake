# The same tests on another device: cuda-host.X runs the case X with the kernels for GPUs on the CPU
# (label cuda), gpu.X on the first GPU (label gpu; skipped where there is none). Left out is what
# looks at nothing that a device does, what trains for seconds, and failing allocations, of which a device
# makes too many.
set(cpu_only_programs core_tests batching_tests data_tests distributed_tests failing_tests pages_tests
    pipeline_tests serve_tests text_tests cuda_tests emulator_tests)
set(cpu_only_cases *Learns* BatchCounts.* *EnsemblesAverage* All/OpThreadsTest.* LanesTest.* OpErrorsTest.* OpsPageTest.* OpPlacesTest.* OpTableTest.* PackedMatrices*
    PackedProducts* TapeTest.* UpdatesTest.*)

if(DYNET_LIKE_CUDA STREQUAL HOST)
  set(prefix cuda-host)
  set(label cuda)
  set(device cuda-host)
elseif(DYNET_LIKE_CUDA)
  set(prefix gpu)
  set(label gpu)
  set(device cuda)
else()
  return()
endif()

add_dependencies(gpu_tests cuda_tests distributed_tests)
if(TARGET emulator_tests)
  add_dependencies(gpu_tests emulator_tests)
endif()
# Ranks exchange what a device has computed.
test_cases(distributed_tests PREFIX ${prefix}. FILTER All/RanksTest.TrainWith*
           ARGUMENTS --device=${device}
           PROPERTIES LABELS ${label} SKIP_REGULAR_EXPRESSION "there is no CUDA driver|finds no GPU")
list(JOIN cpu_only_cases ":" cpu_only_filter)
foreach(program IN LISTS test_programs)
  if(program IN_LIST cpu_only_programs)
    continue()
  endif()
  add_dependencies(gpu_tests ${program})
  test_cases(${program} PREFIX ${prefix}. FILTER "-${cpu_only_filter}" ARGUMENTS --device=${device}
             PROPERTIES LABELS ${label}
             SKIP_REGULAR_EXPRESSION "there is no CUDA driver|finds no GPU")
endforeach()
