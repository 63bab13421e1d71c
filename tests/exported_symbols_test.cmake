# The shared libraries export what is theirs, and nothing of fmt, Boost, Highway or the standard library.
# Arguments: NM; LIBRARIES, their files.
cmake_minimum_required(VERSION 3.25)
foreach(library IN LISTS LIBRARIES)
  execute_process(COMMAND ${NM} -D --defined-only --format=posix ${library} OUTPUT_VARIABLE text
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" symbols "${text}")
  if(NOT text MATCHES "_ZN(K)?(10dynet_like|5dynet)")
    message(FATAL_ERROR "need functions of the library in ${library}; got none")
  endif()
  list(FILTER symbols EXCLUDE REGEX "^_Z(G?V?Z?|T[a-zA-Z][0-9n_]*)NK?(10dynet_like|5dynet)")
  if(symbols)
    list(JOIN symbols "\n" symbols)
    message(FATAL_ERROR "need symbols of dynet_like alone in ${library}; got\n${symbols}")
  endif()
endforeach()
