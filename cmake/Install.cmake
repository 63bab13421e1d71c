# Installs the libraries, the public headers, and packages named dynet_like for CMake, pkg-config
# and the Common Package Specification (cps-org.github.io). `cpack` makes a Debian package of them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/dynet_like)

install(TARGETS dynet_like_batching dynet_like dynet_like_nn dynet_like_compat EXPORT dynet_like-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Kernels of devices are not part of the interface: their headers need SIMD or CUDA.
install(DIRECTORY batching dynet_like nn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h"
        REGEX "dynet_like/(device/(cpu|cuda)|serve/http)$" EXCLUDE)
install(DIRECTORY ${PROJECT_BINARY_DIR}/dynet_like/compat/dynet
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dynet_like/compat)
# But launchers of a user's own kernels include these headers.
if(DYNET_LIKE_CUDA)
  set(launcher_headers busy_time.h commands.h language.h launch.h loans.h runtime.h
      staging.h waiting_sums.h)
  list(TRANSFORM launcher_headers PREPEND dynet_like/device/cuda/)
  install(FILES ${launcher_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dynet_like/device/cuda)
endif()
if(DYNET_LIKE_CUDA STREQUAL HOST)
  set(launcher_headers function.h loans.h own_memory.h words.h)
  list(TRANSFORM launcher_headers PREPEND dynet_like/device/cuda/host/)
  install(FILES ${launcher_headers}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dynet_like/device/cuda/host)
endif()

if(NOT BUILD_SHARED_LIBS)
  list(TRANSFORM dynet_like_packages REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE dynet_like_dependencies)
  list(JOIN dynet_like_dependencies " " dynet_like_dependencies)
endif()
configure_package_config_file(cmake/dynet_like-config.cmake.in
                              ${PROJECT_BINARY_DIR}/dynet_like-config.cmake
                              INSTALL_DESTINATION ${package_folder})
# Before 1.0, a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dynet_like-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dynet_like-config.cmake
              ${PROJECT_BINARY_DIR}/dynet_like-config-version.cmake
              cmake/FindHighway.cmake cmake/FindLibzip.cmake cmake/FindOniguruma.cmake
              cmake/FindUtf8proc.cmake
        DESTINATION ${package_folder})
if(TARGET dynet_like_serve)
  install(TARGETS dynet_like_serve EXPORT dynet_like-targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(EXPORT dynet_like-targets NAMESPACE dynet_like:: DESTINATION ${package_folder})
# Only this library makes users of the package need MPI.
if(TARGET dynet_like_mpi)
  install(TARGETS dynet_like_mpi EXPORT dynet_like-mpi-targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT dynet_like-mpi-targets NAMESPACE dynet_like:: DESTINATION ${package_folder})
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

include(cmake/PkgConfig.cmake)
include(cmake/Cps.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libdynet-like-dev)
set(CPACK_PACKAGE_CONTACT "The authors of dynet_like")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# Debian's packages for development bring the libraries themselves.
list(JOIN dynet_like_debian ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
string(PREPEND CPACK_DEBIAN_PACKAGE_DEPENDS "g++, libboost-dev, ")
include(CPack)
