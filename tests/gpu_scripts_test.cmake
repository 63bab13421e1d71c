# The scripts for machines with a GPU, as far as they run anywhere: their syntax, their command
# lines, what would be packed, and that steps which fail are recorded.
# Arguments: ROOT, the sources; WORK, a folder.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/full)
file(WRITE ${WORK}/full/file "")

# run(STATUS REGEX COMMAND...): it must end with that exit status, and what it prints match.
function(run status regex)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE got
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT got STREQUAL status OR NOT output MATCHES "${regex}")
    message(FATAL_ERROR "${ARGN}: need exit status ${status} and ${regex}; got ${got}:\n${output}")
  endif()
endfunction()

find_program(shellcheck shellcheck)
foreach(name IN ITEMS gpu_pack gpu_check)
  set(script ${ROOT}/scripts/${name}.sh)
  run(0 "" bash -n ${script})
  if(shellcheck)
    run(0 "" ${shellcheck} ${script})
  endif()
  run(0 "usage: .*${name}.sh" ${script} --help)
  run(2 "got --no-such-option" ${script} --no-such-option)
endforeach()

set(pack ${ROOT}/scripts/gpu_pack.sh)
run(2 "need a folder; got none" ${pack})
run(2 "need one folder; got .*/a and b" ${pack} a b)
run(2 "need an empty folder; got .*/full" ${pack} full)
run(2 "need a folder after --data; got nothing" ${pack} packed --data)
if(EXISTS ${ROOT}/.git AND EXISTS /usr/include/gtest)
  run(0 "commit [0-9a-f]+\n.*headers /usr/include/eigen3\n.*/boost/math\n.*/libhwy\\.so\\.1\n"
      ${pack} --list packed)
else()
  message(STATUS "[  SKIPPED ] what would be packed (need a checkout and Debian's packages)")
endif()
if(EXISTS ${WORK}/packed)
  message(FATAL_ERROR "gpu_pack.sh --list: need no folder; got one")
endif()

# Sources without a build: the benchmark fails, the next step runs all the same.
file(COPY ${ROOT}/scripts/gpu_check.sh DESTINATION ${WORK}/sources/scripts)
set(check ${WORK}/sources/scripts/gpu_check.sh)
run(2 "need --device cuda or cuda-host; got tpu" ${check} --device tpu)
run(2 "need a number for --jobs; got 0" ${check} --jobs 0)
run(2 "need steps of machine .*; got nothing" ${check} --steps nothing)
run(2 "need a value after --results; got nothing" ${check} --results)
file(WRITE ${WORK}/sources/.packed_commit "none\n")
run(1 "throughput: failed.*sanitizer: skipped.*machine: ok" ${check} --device cuda-host
    --steps throughput,sanitizer,machine --results ${WORK}/results)
file(READ ${WORK}/results/summary.json summary)
foreach(expected IN ITEMS 0/throughput/failed 1/sanitizer/skipped 2/machine/ok)
  string(REPLACE "/" ";" expected ${expected})
  list(POP_FRONT expected i step state)
  string(JSON got_step GET "${summary}" ${i} step)
  string(JSON got_state GET "${summary}" ${i} state)
  if(NOT "${got_step} ${got_state}" STREQUAL "${step} ${state}")
    message(FATAL_ERROR "need ${step} ${state} in the summary; got ${summary}")
  endif()
endforeach()
