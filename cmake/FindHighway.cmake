# Finds Google Highway and defines Highway::highway, from its CMake package or from pkg-config.
# It is installed beside the library's own package, whose static libraries link Highway too.

find_package(hwy CONFIG QUIET)
set(_highway_target "")
if(TARGET hwy::hwy)
  set(_highway_target hwy::hwy)
  set(Highway_VERSION ${hwy_VERSION})
else()
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(HWY QUIET IMPORTED_TARGET libhwy)
  endif()
  if(TARGET PkgConfig::HWY)
    set(_highway_target PkgConfig::HWY)
    set(Highway_VERSION ${HWY_VERSION})
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Highway REQUIRED_VARS _highway_target
                                  VERSION_VAR Highway_VERSION)
if(Highway_FOUND AND NOT TARGET Highway::highway)
  add_library(Highway::highway INTERFACE IMPORTED)
  target_link_libraries(Highway::highway INTERFACE ${_highway_target})
endif()
unset(_highway_target)
