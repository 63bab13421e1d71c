# Standard streams that are closed or cannot be written: every example ends with its exit status,
# even if output is lost. Arguments: PROGRAMS, their folder; WORK, a folder.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

if(NOT EXISTS /dev/full)
  message(STATUS "[  SKIPPED ] full disks (need /dev/full)")
  return()
endif()

# run_redirected(STATUS "PROGRAM ARGUMENTS AND REDIRECTIONS"): runs it in a shell.
function(run_redirected status command)
  execute_process(COMMAND sh -c "exec ${PROGRAMS}/${command}" WORKING_DIRECTORY ${WORK}
                  RESULT_VARIABLE got OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT got STREQUAL status)
    message(FATAL_ERROR "${command}: need exit status ${status}; got ${got}:\n${output}${errors}")
  endif()
  set(output "${output}${errors}" PARENT_SCOPE)
endfunction()

set(programs tagger tree_lstm language_model text_classifier sentence_pairs transformer_tagger
    biaffine_parser transition_parser stack_lstm_parser dependency_tree_lstm seq2seq relation_tree
    reinforce dynet_tagger dynet_language_model)
foreach(program IN LISTS programs)
  foreach(lost IN ITEMS "2>&-" "2>/dev/full" ">&- 2>&-")
    run_redirected(2 "${program} --no-such-option ${lost}")
  endforeach()
endforeach()

# No file may get the number of a closed stream: the program would write into it by mistake.
set(small "--train-texts 40 --hidden 8 --epochs 1")
run_redirected(0 "text_classifier ${small} --output whole")
run_redirected(1 "text_classifier ${small} --output closed >&- <&-")
expect("^text_classifier: standard output: need to write it; got: Bad file descriptor\n$")
run_redirected(0 "text_classifier ${small} --output silent --report report.json 2>&- <&-")
run_redirected(0 "text_classifier --apply --output silent 2>&- </dev/null")

# These programs train for seconds, and then print.
foreach(program IN ITEMS greedy_decoder relation_tree reinforce dynet_parser dynet_tagger
        dynet_language_model)
  run_redirected(1 "${program} >/dev/full")
  expect("${program}: .*need to write it|${program}: cannot write the output")
endforeach()
