# A port of vcpkg, for the sources that it is beside: vcpkg install dynet-like --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DDYNET_LIKE_BUILD_TESTS=OFF
    -DDYNET_LIKE_BUILD_EXAMPLES=OFF
    -DDYNET_LIKE_BUILD_BENCH=OFF
    -DDYNET_LIKE_INSTALL=ON
    -DDYNET_LIKE_MPI=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME dynet_like CONFIG_PATH lib/cmake/dynet_like)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
