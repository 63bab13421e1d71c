# The packages for pkg-config. They find themselves, so a prefix may be moved. Programs need what a
# static library links; a shared one has linked it itself.
set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(prefix ${CMAKE_INSTALL_PREFIX})
else()
  string(REGEX REPLACE "[^/]+" ".." up ${pkgconfig_folder})
  set(prefix "\${pcfiledir}/${up}")
endif()
# An absolute folder stays as it is.
cmake_path(APPEND libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
set(private_modules "")
set(private_libraries "")
if(NOT BUILD_SHARED_LIBS)
  list(JOIN dynet_like_modules " " private_modules)
  list(TRANSFORM dynet_like_only_linked PREPEND -l OUTPUT_VARIABLE private_libraries)
  list(JOIN private_libraries " " private_libraries)
  string(APPEND private_libraries " -pthread")
endif()

# dynet_like_pkgconfig(PACKAGE DESCRIPTION REQUIRES HEADERS LIBRARIES...): if its first library is there.
function(dynet_like_pkgconfig package description requires headers)
  list(GET ARGN 0 target)
  if(NOT TARGET ${target})
    return()
  endif()
  list(TRANSFORM ARGN PREPEND -l OUTPUT_VARIABLE libraries)
  list(JOIN libraries " " libraries)
  configure_file(cmake/dynet_like.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${pkgconfig_folder})
endfunction()
dynet_like_pkgconfig(dynet_like "${PROJECT_DESCRIPTION}" "" "\${includedir}"
                     dynet_like_nn dynet_like dynet_like_batching)
dynet_like_pkgconfig(dynet_like-compat "DyNet's interface of dynet_like" dynet_like
                     "\${includedir}/dynet_like/compat" dynet_like_compat)
dynet_like_pkgconfig(dynet_like-serve "Servers of dynet_like" dynet_like "\${includedir}" dynet_like_serve)
dynet_like_pkgconfig(dynet_like-mpi "Several processes of dynet_like" dynet_like "\${includedir}" dynet_like_mpi)
