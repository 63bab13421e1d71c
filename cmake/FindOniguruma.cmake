# Finds Oniguruma, the library of regular expressions, and defines Oniguruma::oniguruma. This file is
# installed with the library's package, since its static libraries link Oniguruma, too.
find_path(Oniguruma_INCLUDE_DIR oniguruma.h)
find_library(Oniguruma_LIBRARY onig)
mark_as_advanced(Oniguruma_INCLUDE_DIR Oniguruma_LIBRARY)

if(Oniguruma_INCLUDE_DIR)
  file(STRINGS ${Oniguruma_INCLUDE_DIR}/oniguruma.h Oniguruma_VERSION
       REGEX "^#define ONIGURUMA_VERSION_(MAJOR|MINOR|TEENY) +[0-9]+")
  list(TRANSFORM Oniguruma_VERSION REPLACE "^.* " "")
  list(JOIN Oniguruma_VERSION . Oniguruma_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Oniguruma REQUIRED_VARS Oniguruma_LIBRARY Oniguruma_INCLUDE_DIR
                                  VERSION_VAR Oniguruma_VERSION)
if(Oniguruma_FOUND AND NOT TARGET Oniguruma::oniguruma)
  add_library(Oniguruma::oniguruma UNKNOWN IMPORTED)
  set_target_properties(Oniguruma::oniguruma PROPERTIES IMPORTED_LOCATION ${Oniguruma_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${Oniguruma_INCLUDE_DIR})
endif()
