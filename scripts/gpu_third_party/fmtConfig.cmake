# fmt, headers only.
get_filename_component(prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
if(NOT TARGET fmt::fmt)
  add_library(fmt::fmt INTERFACE IMPORTED)
  target_include_directories(fmt::fmt INTERFACE ${prefix}/include)
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
endif()
