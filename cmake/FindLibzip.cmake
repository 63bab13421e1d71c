# Finds libzip, which reads and writes zip archives, and defines Libzip::libzip. This file is installed
# with the library's package, since its static libraries link libzip, too. (The file of libzip itself
# also asks for programs that Debian has in other packages.)
find_path(Libzip_INCLUDE_DIR zip.h)
find_library(Libzip_LIBRARY zip)
mark_as_advanced(Libzip_INCLUDE_DIR Libzip_LIBRARY)

if(EXISTS ${Libzip_INCLUDE_DIR}/zipconf.h)
  file(STRINGS ${Libzip_INCLUDE_DIR}/zipconf.h Libzip_VERSION REGEX "^#define LIBZIP_VERSION \"")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" Libzip_VERSION "${Libzip_VERSION}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libzip REQUIRED_VARS Libzip_LIBRARY Libzip_INCLUDE_DIR
                                  VERSION_VAR Libzip_VERSION)
if(Libzip_FOUND AND NOT TARGET Libzip::libzip)
  add_library(Libzip::libzip UNKNOWN IMPORTED)
  set_target_properties(Libzip::libzip PROPERTIES IMPORTED_LOCATION ${Libzip_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${Libzip_INCLUDE_DIR})
endif()
