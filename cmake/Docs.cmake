# The target `docs`: pages by MkDocs, the reference of the headers by Doxygen, and a check of all
# links.
find_program(DYNET_LIKE_MKDOCS mkdocs)
find_program(DYNET_LIKE_DOXYGEN doxygen)
find_package(Python3 QUIET COMPONENTS Interpreter)
mark_as_advanced(DYNET_LIKE_MKDOCS DYNET_LIKE_DOXYGEN)
if(NOT DYNET_LIKE_MKDOCS OR NOT DYNET_LIKE_DOXYGEN OR NOT Python3_FOUND)
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E echo
                    "need mkdocs, doxygen and Python 3: scripts/install_deps.sh --docs installs them; then configure again"
                    COMMAND ${CMAKE_COMMAND} -E false)
  return()
endif()
set(docs ${PROJECT_BINARY_DIR}/docs)
set(site ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/site.py)
configure_file(docs/mkdocs.yml.in ${docs}/mkdocs.yml @ONLY)
configure_file(docs/Doxyfile.in ${docs}/Doxyfile @ONLY)
add_custom_target(docs
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${docs}/pages
  COMMAND ${site} stage ${docs}/pages
  COMMAND ${DYNET_LIKE_MKDOCS} build --quiet --clean --config-file ${docs}/mkdocs.yml
  COMMAND ${DYNET_LIKE_DOXYGEN} ${docs}/Doxyfile
  COMMAND ${site} check ${docs}/site
  VERBATIM)
