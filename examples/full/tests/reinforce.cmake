# The policy learns, and its returns do not depend on the number of threads. Arguments: PROGRAMS,
# WORK.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

run(0 reinforce)
expect("\nmean return (1\\.0|0\\.9[5-9])[0-9]* in 1000 new episodes\n$")
set(alone "${output}")
run(0 reinforce --threads 3)
if(NOT output STREQUAL alone)
  message(FATAL_ERROR "with three threads:\n${output}with one:\n${alone}")
endif()
run(2 reinforce --threads 0)
expect("need a whole number from 1 to 256 for --threads; got \"0\"\n$")
run(2 reinforce --help)
expect("usage: reinforce \\[--threads N\\]\n$")
