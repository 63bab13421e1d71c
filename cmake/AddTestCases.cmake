# Run by ctest: makes a test of every suite of a GoogleTest program. Single cases are no tests,
# since a program with sanitizers needs half a second to start.
#
# filter: of GoogleTest, chooses cases; prefix: of the tests' names; arguments: of the program;
# properties: of the tests.
function(add_test_cases program filter prefix arguments properties)
  if(NOT EXISTS ${program})
    add_test(${prefix}${program}_is_not_built not_built)
    return()
  endif()
  execute_process(COMMAND ${program} --gtest_list_tests --gtest_filter=${filter} OUTPUT_VARIABLE lines
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[][;]" "_" lines "${lines}")
  string(REPLACE "\n" ";" lines "${lines}")
  set(names "")  # names of tests; cases_NAME is the filter of each
  foreach(line IN LISTS lines)
    string(REGEX REPLACE " +#.*" "" line "${line}")
    if(line MATCHES "^([^ ]+)\\.$")
      string(REGEX REPLACE "/[0-9]+$" "/*" suite ${CMAKE_MATCH_1})
    elseif(line MATCHES "^  ([^/]+)(/?)")
      string(REGEX REPLACE "/$" "/*" case "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
      string(REPLACE "/*" "" name "${prefix}${suite}")
      list(APPEND names ${name})
      list(APPEND cases_${name} ${suite}.${case})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  foreach(name IN LISTS names)
    list(REMOVE_DUPLICATES cases_${name})
    list(JOIN cases_${name} : cases)
    add_test(${name} ${program} --gtest_filter=${cases} ${arguments})
    set_tests_properties(${name} PROPERTIES ${properties})
    if(cases MATCHES "/")  # many cases: ctest begins with slow tests
      set_tests_properties(${name} PROPERTIES COST 100)
    endif()
  endforeach()
endfunction()
