# The package in the Common Package Specification (cps-org.github.io): its components, where they
# are, and what they require.

# dynet_like_component(NAME REQUIRED...): adds a component to the CPS file, with its requirements.
function(dynet_like_component name)
  set(target dynet_like_${name})
  if(name STREQUAL "dynet_like")
    set(target dynet_like)
  endif()
  if(NOT TARGET ${target})
    return()
  endif()
  list(TRANSFORM ARGN REPLACE "(.+)" "\":\\1\"")
  list(JOIN ARGN ", " requires)
  get_target_property(type ${target} TYPE)
  set(kind dylib)
  set(links "")
  if(type STREQUAL "STATIC_LIBRARY")
    set(kind archive)
    list(TRANSFORM dynet_like_linked REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE links)
    list(JOIN links ", " links)
    set(links "\n      \"link_libraries\": [${links}, \"pthread\"],")
  endif()
  cmake_path(APPEND headers ${at_prefix} ${CMAKE_INSTALL_INCLUDEDIR})
  cmake_path(APPEND location ${at_prefix} ${CMAKE_INSTALL_LIBDIR} $<TARGET_FILE_NAME:${target}>)
  if(name STREQUAL "compat")  # <dynet/dynet.h>
    set(headers ${headers}/dynet_like/compat)
  endif()
  string(APPEND components "${comma}
    \"${name}\": {
      \"type\": \"${kind}\",
      \"location\": \"${location}\",
      \"includes\": {\"cxx\": [\"${headers}\"]},
      \"compile_features\": [\"c++20\"],${links}
      \"requires\": [${requires}]
    }")
  set(components "${components}" PARENT_SCOPE)
  set(comma "," PARENT_SCOPE)
endfunction()
set(at_prefix "@prefix@")
set(cps_folder ${CMAKE_INSTALL_LIBDIR}/cps/dynet_like)
cmake_path(APPEND cps_path ${at_prefix} ${cps_folder})
dynet_like_component(batching)
dynet_like_component(dynet_like batching)
dynet_like_component(nn dynet_like)
dynet_like_component(compat nn)
dynet_like_component(serve dynet_like)
dynet_like_component(mpi dynet_like)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/dynet_like.cps CONTENT "{
  \"cps_version\": \"0.13.0\",
  \"name\": \"${PROJECT_NAME}\",
  \"version\": \"${PROJECT_VERSION}\",
  \"compat_version\": \"${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}.0\",
  \"description\": \"${PROJECT_DESCRIPTION}\",
  \"license\": \"Apache-2.0\",
  \"cps_path\": \"${cps_path}\",
  \"default_components\": [\"nn\"],
  \"components\": {${components}
  }
}
")
install(FILES ${PROJECT_BINARY_DIR}/dynet_like.cps DESTINATION ${cps_folder})
