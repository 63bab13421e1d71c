# Builds a user's project against the library: KIND is install_and_consume (the build folder's
# result is installed into a scratch prefix, from a Debian package where there is dpkg) or
# add_subdirectory; CUDA is DYNET_LIKE_CUDA there.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
set(options -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_BUILD_TYPE=${CONFIGURATION})
if(KIND STREQUAL "install_and_consume")
  find_program(DPKG_DEB dpkg-deb)
  if(DPKG_DEB)
    run(${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -C ${CONFIGURATION} -B ${WORK}/package)
    file(GLOB package ${WORK}/package/libdynet-like-dev_*.deb)
    run(${DPKG_DEB} -x ${package} ${WORK}/unpacked)
    file(RENAME ${WORK}/unpacked/usr ${WORK}/prefix)
  else()
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --config ${CONFIGURATION})
  endif()
  set(installed ${WORK}/prefix/include/dynet_like/device)
  file(GLOB_RECURSE kernels ${installed}/cpu/*)
  if(NOT CUDA)
    file(GLOB_RECURSE kernels ${installed}/cpu/* ${installed}/cuda/*)
  endif()
  if(kernels)
    message(FATAL_ERROR "headers of the kernels were installed: ${kernels}")
  endif()
  run(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/installed -B ${WORK}/build ${options}
      -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  run(${CMAKE_COMMAND} --build ${WORK}/build --config ${CONFIGURATION})
  foreach(name IN ITEMS consumer dynet_consumer)
    find_program(${name} ${name} PATHS ${WORK}/build ${WORK}/build/${CONFIGURATION}
                 NO_DEFAULT_PATH REQUIRED)
    run(${${name}})
  endforeach()
  # Without CMake.
  find_program(PKG_CONFIG pkg-config REQUIRED)
  file(GLOB_RECURSE description ${WORK}/prefix/dynet_like.pc)
  cmake_path(GET description PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(COMMAND ${PKG_CONFIG} --static --cflags --libs dynet_like OUTPUT_VARIABLE flags
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags)
  cmake_path(GET folder PARENT_PATH libraries)
  run(${COMPILER} -std=c++20 ${SOURCE}/tests/consumer/consumer.cpp -o ${WORK}/plain_consumer
      ${flags} -Wl,-rpath,${libraries})
  run(${WORK}/plain_consumer)
else()
  # Configuring proves that all targets are found. Building everything a second time would be slow
  # and prove little more, so only the smallest library is built.
  run(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/subdirectory -B ${WORK}/build ${options}
      -DDYNET_LIKE_SOURCE_DIR=${SOURCE})
  run(${CMAKE_COMMAND} --build ${WORK}/build --config ${CONFIGURATION}
      --target dynet_like_batching)
endif()
