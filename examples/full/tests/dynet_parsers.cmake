# The parser for DyNet and its batched version print the same losses and trees, to the last bit.
# Their difference is what docs/migration.md shows. Arguments: PROGRAMS, WORK.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH examples)

foreach(program IN ITEMS dynet_parser dynet_parser_batched)
  set(printer ${WORK}/${program})
  run(0 ${program} --dynet-seed 1)
  file(READ ${WORK}/${program} ${program})
endforeach()
set(output "${dynet_parser}")
expect("epoch 3: loss [0-9.]+\n([0-9 ]+\n)+(100|99[.0-9]*) % of 256 sentences' heads are right\n$")
if(NOT dynet_parser STREQUAL dynet_parser_batched)
  message(FATAL_ERROR "dynet_parser prints\n${dynet_parser}"
                      "dynet_parser_batched prints\n${dynet_parser_batched}")
endif()

find_program(DIFF diff REQUIRED)
execute_process(COMMAND ${DIFF} -U 1 dynet_parser.cpp dynet_parser_batched.cpp
                WORKING_DIRECTORY ${examples} OUTPUT_VARIABLE difference)
string(REGEX REPLACE "^---[^\n]*\n[^\n]*\n" "" difference "${difference}")
string(REGEX REPLACE "@@ [^\n]*" "@@" difference "${difference}")
string(REGEX MATCHALL "\n\\+" new_lines "${difference}")
list(LENGTH new_lines count)
if(count EQUAL 0 OR count GREATER 15)
  message(FATAL_ERROR "need 1 to 15 new lines; got ${count}:\n${difference}")
endif()
file(READ ${examples}/../../docs/migration.md page)
string(FIND "${page}" "```diff\n${difference}```" place)
if(place EQUAL -1)
  message(FATAL_ERROR "need this in docs/migration.md:\n```diff\n${difference}```")
endif()
