# Examples by mpirun: the same best model with 1 to 4 processes, also if a run continues with
# another number.
# cmake -DPROGRAMS=... -DWORK=... -DMPIRUN=... -P mpi_programs.cmake
cmake_minimum_required(VERSION 3.25)

# Allows more processes than processors, and root.
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{OMPI_MCA_hwloc_base_binding_policy} none)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# run(RANKS PROGRAM FOLDER OPTIONS...): stores the program's output in `output`.
function(run ranks program folder)
  execute_process(COMMAND ${MPIRUN} -n ${ranks} ${PROGRAMS}/${program} --threads 1 --output ${WORK}/${folder} ${ARGN}
                  RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${program} with ${ranks} ranks: status ${status}\n${text}")
  endif()
  string(REGEX MATCHALL "\nbest: epoch " ends "${text}")
  list(LENGTH ends count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "need ${program} to print its end once; got it ${count} times\n${text}")
  endif()
endfunction()

function(expect_same folder other)
  file(SHA256 ${WORK}/${folder}/best.safetensors one)
  file(SHA256 ${WORK}/${other}/best.safetensors two)
  if(NOT one STREQUAL two)
    message(FATAL_ERROR "need the same best model in ${folder} and ${other}; got others")
  endif()
endfunction()

function(check program)
  foreach(ranks IN ITEMS 1 2 3 4)
    run(${ranks} ${program} ${program}_${ranks} ${ARGN} --epochs 2)
    expect_same(${program}_1 ${program}_${ranks})
  endforeach()
endfunction()

function(check_going_on program)
  run(3 ${program} ${program}_parts ${ARGN} --epochs 1)
  run(2 ${program} ${program}_parts --resume --epochs 2)
  expect_same(${program}_1 ${program}_parts)
endfunction()

set(tree_lstm tree_lstm --train-trees 150 --test-trees 40 --hidden 12 --embedding 8 --dropout 0.2)
set(tagger tagger --train-sentences 80 --test-sentences 30 --hidden 12 --embedding 8 --crf)
set(language_model language_model --sentences 100 --hidden 12 --layers 2 --dropout 0.2)
foreach(example IN ITEMS tree_lstm tagger language_model)
  check(${${example}})
  check_going_on(${${example}})
endforeach()
# Its learning-rate schedule ends with the last epoch, so a run can only continue with the same
# number of epochs.
check(transition_parser --train-sentences 100)

# Only one process may apply a model.
execute_process(COMMAND ${MPIRUN} -n 2 ${PROGRAMS}/tagger --apply --output ${WORK}/tagger_1
                RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE text)
if(status EQUAL 0 OR NOT text MATCHES "need --apply in one process; got 2 of them")
  message(FATAL_ERROR "need --apply to be refused; got status ${status}\n${text}")
endif()
