# Runs programs as a user would, for the other scripts here. PROGRAMS is their folder. WORK is the
# folder to run them in; it is emptied first.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# run(STATUS PROGRAM ARGUMENT...): the program must end with that exit status; its output is in
# `output`. `input`, a file, and `printer`, a file that gets the output instead, hold for one call.
function(run status program)
  set(output)
  set(redirections)
  if(input)
    list(APPEND redirections INPUT_FILE ${input})
  endif()
  if(printer)
    list(APPEND redirections OUTPUT_FILE ${printer})
  else()
    list(APPEND redirections OUTPUT_VARIABLE output)
  endif()
  execute_process(COMMAND ${PROGRAMS}/${program} ${ARGN} WORKING_DIRECTORY ${WORK}
                  RESULT_VARIABLE got ERROR_VARIABLE errors ${redirections})
  if(NOT got STREQUAL status)
    list(JOIN ARGN " " arguments)
    message(FATAL_ERROR "${program} ${arguments}: need exit status ${status}; got ${got}:\n"
                        "${output}${errors}")
  endif()
  set(output "${output}${errors}" PARENT_SCOPE)
  unset(input PARENT_SCOPE)
  unset(printer PARENT_SCOPE)
endfunction()

function(expect regex)
  if(NOT output MATCHES "${regex}")
    message(FATAL_ERROR "need output that matches ${regex}; got\n${output}")
  endif()
endfunction()
