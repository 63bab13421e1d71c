# Google Highway: headers and a shared library.
get_filename_component(prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
if(NOT TARGET hwy::hwy)
  add_library(hwy::hwy SHARED IMPORTED)
  set_target_properties(hwy::hwy PROPERTIES IMPORTED_LOCATION ${prefix}/lib/libhwy.so.1)
  target_include_directories(hwy::hwy INTERFACE ${prefix}/include)
  target_compile_definitions(hwy::hwy INTERFACE HWY_SHARED_DEFINE)
endif()
