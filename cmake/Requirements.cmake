# What the libraries link, without showing it to users: the one place that names these packages. Of
# each: the library that links it, the package for CMake, its target, the module for pkg-config (-
# if there is none), the name for the linker, and the package of Debian.
set(dynet_like_requirements
    "core|fmt|fmt::fmt|fmt|fmt|libfmt-dev"
    "core|Highway|Highway::highway|libhwy|hwy|libhwy-dev"
    "core|ZLIB|ZLIB::ZLIB|zlib|z|zlib1g-dev"
    "core|Libzip 1.7|Libzip::libzip|libzip|zip|libzip-dev"
    "core|Boost COMPONENTS context|Boost::context|-|boost_context|libboost-context-dev"
    "nn|Utf8proc|Utf8proc::utf8proc|libutf8proc|utf8proc|libutf8proc-dev"
    "nn|Oniguruma 6.9.8|Oniguruma::oniguruma|oniguruma|onig|libonig-dev")
# What only the build needs: headers.
set(dynet_like_build_requirements
    "nlohmann_json|nlohmann-json3-dev" "Eigen3|libeigen3-dev")

# Lists of one column: dynet_like_packages, dynet_like_modules, dynet_like_linked (what pkg-config has
# no module for is also in dynet_like_only_linked), dynet_like_debian; and the targets of each
# library, dynet_like_core_targets and dynet_like_nn_targets.
foreach(requirement IN LISTS dynet_like_requirements)
  string(REPLACE "|" ";" requirement "${requirement}")
  list(GET requirement 0 library)
  list(GET requirement 1 package)
  list(GET requirement 2 target)
  list(GET requirement 3 module)
  list(GET requirement 4 linked)
  list(GET requirement 5 debian)
  list(APPEND dynet_like_packages ${package})
  list(APPEND dynet_like_${library}_targets ${target})
  list(APPEND dynet_like_linked ${linked})
  list(APPEND dynet_like_debian ${debian})
  if(module STREQUAL "-")
    list(APPEND dynet_like_only_linked ${linked})
  else()
    list(APPEND dynet_like_modules ${module})
  endif()
endforeach()
foreach(requirement IN LISTS dynet_like_build_requirements)
  string(REGEX REPLACE "[|].*" "" package "${requirement}")
  list(APPEND dynet_like_build_packages ${package})
endforeach()

# Finds all of them, or says which are missing, and how to install them.
macro(dynet_like_find_requirements)
  foreach(requirement IN LISTS dynet_like_packages dynet_like_build_packages)
    separate_arguments(requirement)
    list(GET requirement 0 package)
    find_package(${requirement} QUIET)
    if(NOT ${package}_FOUND)
      list(APPEND missing_packages ${package})
    endif()
  endforeach()
  if(missing_packages)
    list(JOIN missing_packages ", " missing_packages)
    message(FATAL_ERROR "dynet_like needs ${missing_packages}, which CMake does not find. "
            "scripts/install_deps.sh installs all that is needed on Debian and Ubuntu, and lists it for other systems.")
  endif()
endmacro()
