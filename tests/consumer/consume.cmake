# Builds a user's project against the library: KIND is install_and_consume (the build folder's
# result is installed into a scratch prefix, from a Debian package where there is dpkg) or
# add_subdirectory; CUDA is DYNET_LIKE_CUDA there, SHARED its BUILD_SHARED_LIBS.

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
# Programs are to be compiled soon, and need not be fast.
string(TOUPPER "CMAKE_CXX_FLAGS_${CONFIGURATION}" flags)
list(APPEND options -D${flags}=-O0)
if(KIND STREQUAL "install_and_consume")
  find_program(DPKG_DEB dpkg-deb)
  if(DPKG_DEB)
    run(${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -C ${CONFIGURATION} -B ${WORK}/package)
    file(GLOB package ${WORK}/package/libdynet-like-dev_*.deb)
    run(${DPKG_DEB} -x ${package} ${WORK}/unpacked)
  else()
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/unpacked/usr --config ${CONFIGURATION})
  endif()
  file(RENAME ${WORK}/unpacked/usr ${WORK}/prefix)  # all packages find themselves where they are
  set(installed ${WORK}/prefix/include/dynet_like/device)
  file(GLOB_RECURSE kernels ${installed}/cpu/*)
  if(NOT CUDA)
    file(GLOB_RECURSE kernels ${installed}/cpu/* ${installed}/cuda/*)
  endif()
  if(kernels)
    message(FATAL_ERROR "headers of the kernels were installed: ${kernels}")
  endif()
  # Programs need no packages for what shared libraries have linked.
  if(SHARED)
    include(${SOURCE}/cmake/Requirements.cmake)
    foreach(package IN LISTS dynet_like_packages)
      string(REGEX REPLACE " .*" "" package ${package})
      list(APPEND options -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
    endforeach()
  endif()
  set(configured -S ${SOURCE}/tests/consumer/installed -B ${WORK}/build ${options}
      -DCMAKE_PREFIX_PATH=${WORK}/prefix -DKERNELS=${BUILD}/tests/cuda_program.cpp)
  execute_process(COMMAND ${CMAKE_COMMAND} ${configured} "-DCOMPONENTS=nn;nothing" RESULT_VARIABLE result
                  ERROR_VARIABLE output OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(result EQUAL 0 OR NOT output MATCHES "has the components batching, dynet_like, nn, compat.*; got nn")
    message(FATAL_ERROR "need the names of all components where there is none of this name; got ${result}:\n${output}")
  endif()
  file(REMOVE_RECURSE ${WORK}/build)
  run(${CMAKE_COMMAND} ${configured} -DCOMPONENTS=compat)
  run(${CMAKE_COMMAND} --build ${WORK}/build --config ${CONFIGURATION})
  set(programs consumer dynet_consumer)
  if(CUDA STREQUAL "HOST")
    list(APPEND programs kernel_consumer)
  endif()
  foreach(name IN LISTS programs)
    find_program(${name} ${name} PATHS ${WORK}/build ${WORK}/build/${CONFIGURATION}
                 NO_DEFAULT_PATH REQUIRED)
    run(${${name}})
  endforeach()
  # Without CMake.
  find_program(PKG_CONFIG pkg-config REQUIRED)
  file(GLOB_RECURSE description ${WORK}/prefix/dynet_like.pc)
  cmake_path(GET description PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  cmake_path(GET folder PARENT_PATH libraries)
  # compile(PACKAGE SOURCE): runs a program that is compiled with the options of a package.
  function(compile package source)
    execute_process(COMMAND ${PKG_CONFIG} --static --cflags --libs ${package} OUTPUT_VARIABLE flags
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(flags)
    run(${COMPILER} -std=c++20 ${SOURCE}/${source} -o ${WORK}/plain_consumer ${flags} -Wl,-rpath,${libraries})
    run(${WORK}/plain_consumer)
  endfunction()
  compile(dynet_like tests/consumer/consumer.cpp)
  compile(dynet_like-compat examples/full/dynet_language_model.cpp)
  if(EXISTS ${folder}/dynet_like-serve.pc)
    compile(dynet_like-serve tests/consumer/server.cpp)
  endif()
  # What the CPS file names is there.
  file(GLOB_RECURSE package ${WORK}/prefix/dynet_like.cps)
  file(READ ${package} package)
  string(JSON count LENGTH "${package}" components)
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    string(JSON name MEMBER "${package}" components ${index})
    string(JSON location GET "${package}" components ${name} location)
    string(JSON headers GET "${package}" components ${name} includes cxx 0)
    set(header dynet_like/dynet_like.h)
    if(name STREQUAL "compat")
      set(header dynet/dynet.h)
    endif()
    foreach(file IN ITEMS ${location} ${headers}/${header})
      string(REPLACE "@prefix@" ${WORK}/prefix file ${file})
      if(NOT EXISTS ${file})
        message(FATAL_ERROR "need what the component ${name} of dynet_like.cps names; got no ${file}")
      endif()
    endforeach()
    string(JSON required LENGTH "${package}" components ${name} requires)
    while(required GREATER 0)
      math(EXPR required "${required} - 1")
      string(JSON other GET "${package}" components ${name} requires ${required})
      string(REPLACE ":" "" other ${other})
      string(JSON ignored GET "${package}" components ${other} type)
    endwhile()
  endforeach()
  string(JSON version GET "${package}" version)
  execute_process(COMMAND ${PKG_CONFIG} --modversion dynet_like OUTPUT_VARIABLE expected
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT count GREATER_EQUAL 4 OR NOT version STREQUAL expected)
    message(FATAL_ERROR "need the components of version ${expected}; got ${count} of ${version}")
  endif()
else()
  # What is missing is named, and how to install it.
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/subdirectory -B ${WORK}/lacking ${options}
                  -DDYNET_LIKE_ARCHIVE=none -DFETCHCONTENT_SOURCE_DIR_DYNET_LIKE=${SOURCE}
                  -DCMAKE_DISABLE_FIND_PACKAGE_Utf8proc=ON -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON
                  RESULT_VARIABLE result ERROR_VARIABLE output OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(result EQUAL 0 OR NOT output MATCHES "needs Utf8proc, Eigen3, which CMake does not find. scripts/install_deps.sh")
    message(FATAL_ERROR "need the names of missing packages, and of the script that installs them; got ${output}")
  endif()
  # Configuring proves that all targets are found. Building everything a second time would be slow
  # and prove little more, so only the smallest library is built.
  run(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/subdirectory -B ${WORK}/build ${options}
      -DDYNET_LIKE_ARCHIVE=none -DFETCHCONTENT_SOURCE_DIR_DYNET_LIKE=${SOURCE})
  run(${CMAKE_COMMAND} --build ${WORK}/build --config ${CONFIGURATION}
      --target dynet_like_batching)
endif()
