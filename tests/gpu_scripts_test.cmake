# The scripts for machines with a GPU, as far as they run anywhere: their syntax, their command lines,
# and how a check goes on: with programs in place of those that are packed, and a GPU's tools in place
# of a GPU.
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
  set(output "${output}" PARENT_SCOPE)
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
run(2 "need --device cuda or cuda-host; got tpu" ${pack} --device tpu packed)
run(2 "need a number for --jobs; got 0" ${pack} --jobs 0 packed)
run(2 "need a value after --arch; got nothing" ${pack} packed --arch)
# The machine code is for all GPUs since 8.0 (8.6 and 8.9 run that of 8.0) and PTX for later ones.
foreach(name IN ITEMS nvcc cmake)
  file(WRITE ${WORK}/fakes/${name} "#!/bin/sh\necho \"$@\" >&2; exit 3\n")
  file(CHMOD ${WORK}/fakes/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
run(3 "-DCMAKE_CUDA_ARCHITECTURES=80-real.90\n" ${CMAKE_COMMAND} -E env "PATH=${WORK}/fakes:$ENV{PATH}" ${pack} packed)
# All that the steps name is packed.
file(READ ${ROOT}/tests/gpu_pack.cmake packed)
file(READ ${ROOT}/scripts/gpu_check.sh text)
string(REGEX MATCHALL "own [a-z_]+" programs "${text}")
foreach(program IN LISTS programs)
  string(REPLACE "own " "" name "${program}")
  if(NOT packed MATCHES " ${name} ")
    message(FATAL_ERROR "gpu_check.sh: need programs that are packed; got ${program}")
  endif()
endforeach()

# A folder as if it were packed, whose programs say that they ran. One test program fails.
set(folder ${WORK}/folder)
file(COPY ${ROOT}/scripts/gpu_check.sh DESTINATION ${folder})
set(check ${folder}/gpu_check.sh)
run(2 "need --device cuda or cuda-host; got tpu" ${check} --device tpu)
run(2 "need a number for --minutes; got 0" ${check} --minutes 0)
run(2 "need one of machine .*; got nothing" ${check} --again nothing)
run(2 "need a value after --results; got nothing" ${check} --results)
run(2 "need a folder that gpu_pack.sh filled" ${check} --device cuda-host)

function(write_program file text)
  file(WRITE ${file} "#!/bin/sh\n${text}\n")
  file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()
foreach(name IN ITEMS smoke constants throughput classify_trees tag_words ops_tests graph_tests)
  write_program(${folder}/bin/${name} "echo ${name} >>${WORK}/ran; echo figures of ${name}")
endforeach()
# Losses, on the device and on the CPU.
function(write_throughput device cpu)
  write_program(${folder}/bin/throughput "loss=${device}
while [ $# -gt 0 ]; do
  case $1 in
    --device) if [ $2 = cpu ]; then loss=${cpu}; fi ;;
    --json) echo \"  \\\"early_loss\\\": $loss,\" >$2 ;;
  esac
  shift
done")
endfunction()
write_throughput(1.5 1.500001)
write_program(${folder}/bin/graph_tests "echo '[  PASSED  ] 3 tests.'; echo '[  FAILED  ] 1 test, listed below:'; exit 1")
file(WRITE ${folder}/gpu_tests.txt "ops_tests -A.*:B*\ngraph_tests -A.*:B*\n")
file(WRITE ${folder}/packed.txt "a commit\n")

# need_lines(FILE REGEX...): each in its turn.
function(need_lines file)
  file(READ ${file} text)
  string(JOIN ".*" regex ${ARGN})
  if(NOT text MATCHES "${regex}")
    message(FATAL_ERROR "need ${regex}; got ${text}")
  endif()
endfunction()
run(1 "results: [0-9]+ bytes" ${check} --python false --device cuda-host --results results)
need_lines(${WORK}/results/summary.txt "machine +machine +ok" "smoke +smoke +ok +[0-9]+ s  figures of smoke"
  "constants +constants +ok" "throughput +tree_lstm_h64_b64_train +ok" "ops +ops_tests +ok"
  "peers +[a-z0-9_]+ *skipped +[0-9]+ s  there is no PyTorch"
  "tests +graph_tests +failed +[0-9]+ s  3 passed, 1 failed, 0 skipped" "classify_trees +ok"
  "tag_words +ok" "sanitizer +memcheck +skipped")
run(0 "smoke.txt" tar -tzf results/results.tar.gz)
# What has ended is not done again, unless it is asked for.
file(REMOVE ${WORK}/ran)
run(1 "" ${check} --python false --device cuda-host --results results)
if(EXISTS ${WORK}/ran)
  message(FATAL_ERROR "gpu_check.sh: need steps that are done once; got them twice")
endif()
run(1 "" ${check} --python false --device cuda-host --results results --again smoke)
need_lines(${WORK}/ran "^smoke\n$")
# A device that computes something else is found.
write_throughput(1.5 1.6)
run(1 "" ${check} --python false --device cuda-host --results results --again throughput)
need_lines(${WORK}/results/summary.txt
  "throughput +tree_lstm_h64_b64_train +failed +[0-9]+ s  the loss of the third minibatch: 1.5, on the CPU 1.6")
# Nothing begins that has no time to end.
run(1 "no time is left for constants" ${check} --python false --device cuda-host --results short --minutes 1)
# Results lie outside of the folder, which may be copied again.
foreach(place IN ITEMS --unset=OUT OUT=${WORK}/out)
  run(1 "no time is left" ${CMAKE_COMMAND} -E env ${place} ${check} --python false --device cuda-host --minutes 1)
endforeach()
need_lines(${folder}-results/summary.txt "smoke +smoke +ok")
need_lines(${WORK}/out/summary.txt "smoke +smoke +ok")
# Nothing follows a smoke test that fails.
write_program(${folder}/bin/smoke "echo no GPU; exit 1")
run(1 "nothing else makes sense" ${check} --python false --device cuda-host --results failed)
need_lines(${WORK}/failed/summary.txt "smoke +smoke +failed +[0-9]+ s  no GPU\n$")

# Who stops it loses nothing.
write_program(${folder}/bin/smoke "touch ${WORK}/began; sleep 20")
write_program(${WORK}/stop "${check} --python false --device cuda-host --results stopped &
while ! [ -e began ]; do sleep 0.1; done
kill -TERM $!; wait $!; echo stopped $?")
run(0 "machine +machine +ok.*stopped 1\n$" ./stop)

# Drivers that are too old are found before anything else.
foreach(driver IN ITEMS 570.86.15 580.65.06)
  write_program(${WORK}/bin_${driver}/nvidia-smi "echo ${driver}")
endforeach()
function(run_with_driver driver status regex)
  run(${status} "${regex}" ${CMAKE_COMMAND} -E env "PATH=${WORK}/bin_${driver}:$ENV{PATH}" ${check}
      --results ${WORK}/results_${driver})
endfunction()
run_with_driver(570.86.15 2 "need a driver of version 580 or later for CUDA 13; got 570.86.15")
if(EXISTS ${WORK}/results_570.86.15)
  message(FATAL_ERROR "gpu_check.sh: need no results with an old driver; got some")
endif()
write_program(${folder}/bin/smoke "echo no GPU; exit 1")
run_with_driver(580.65.06 1 "machine machine: ok.*smoke smoke: failed")
