# Shows that cmake/structure.cmake accepts a good tree and finds every kind of fault in a bad one.
# Arguments: SCRIPT, the script; WORK, a folder for the trees.
cmake_minimum_required(VERSION 3.25)

# expect(MESSAGE FILE TEXT...): a tree with this one file must be refused with that message, or
# accepted if the message is empty.
function(expect message file)
  list(JOIN ARGN "\n" text)
  file(REMOVE_RECURSE ${WORK})
  file(WRITE ${WORK}/batching/dag.h "// The view of a graph.\n#include <vector>\n")
  file(WRITE ${WORK}/batching/local.h "// A neighbour.\n")
  file(WRITE ${WORK}/nn/data/b.h "// A reader.\n")
  file(WRITE ${WORK}/${file} "${text}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${SCRIPT} RESULT_VARIABLE result
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(message STREQUAL "")
    if(NOT result EQUAL 0)
      message(SEND_ERROR "${file}: need no fault; got ${output}")
    endif()
  elseif(result EQUAL 0)
    message(SEND_ERROR "${file}: need the fault '${message}'; got none")
  else()
    string(FIND "${output}" "${message}" place)
    if(place EQUAL -1 OR NOT output MATCHES "1 faults in")
      message(SEND_ERROR "${file}: need the one message '${message}'; got ${output}")
    endif()
  endif()
endfunction()

# The header of all readers.
expect("" nn/data.h "// A." "#include \"nn/data/b.h\"")
expect("need all headers of nn/data; got none of nn/data/b.h" nn/data.h "// A.")

# What everybody includes.
expect("" nn/nn.h "// A." "#include <vector>" "#include \"batching/dag.h\"")
expect("since nn/nn.h includes it; got <regex>" nn/nn.h "// A." "#include <regex>")

# Includes of earlier layers, and of the own one.
foreach(good IN ITEMS
        "core/a.cpp core/dim.h" "ops/a.cpp core/dim.h" "device/a.h ops/op.h"
        "params/a.h device/device.h" "tape/a.h params/a.h" "program/a.h tape/tape.h" "exec/a.h program/a.h"
        "graph/a.h exec/executor.h" "train/a.h graph/graph.h" "io/a.h train/trainer.h"
        "compat/a.h dynet_like.h" "compat/a.h io/text.h" "dynet_like.h io/text.h"
        "device/cpu/a.cpp device/cpu/product.h" "exec/a.cpp device/cpu/product.h")
  string(REPLACE " " ";" pair ${good})
  list(GET pair 0 from)
  list(GET pair 1 to)
  expect("" dynet_like/${from} "// A." "#include \"dynet_like/${to}\"")
endforeach()
expect("" nn/a.h "// A." "#include \"dynet_like/dynet_like.h\"" "#include \"nn/b.h\"")
expect("" dynet_like/compat/a.cpp "// A." "#include \"nn/b.h\"")
expect("" tests/a_test.cpp "// A." "#include \"nn/b.h\"" "#include \"batching/dag.h\""
       "#include \"tests/b.h\"" "#include <dynet/dynet.h>" "#include <gtest/gtest.h>")
expect("" dynet_like/exec/a.h "// A." "#include \"batching/dag.h\"")
expect("" dynet_like/io/a.cpp "// A." "#include <nlohmann/json.hpp>" "#include <fmt/core.h>")
expect("" dynet_like/device/cpu/a.h "// A." "#include <hwy/highway.h>")
expect("" dynet_like/serve/http/a.h "// A." "#include <boost/asio/post.hpp>")
expect("" dynet_like/device/cuda/a.cu "// A." "#include <cuda_runtime.h>")
string(REPEAT "  call()\n" 68 body)
expect("" nn/a.cpp "// A." "void f() {" "${body}}")
expect("need functions of at most 70 lines" nn/a.cpp "// A." "void f() {" "  call()" "${body}}")
expect("" nn/a.cpp "// A." "void f() {" "${body}}" "void g() {" "${body}}")
expect("" tests/a.cpp "// A." "void f() {" "  call()" "${body}}")
string(REPLACE "  call" "    call" body "${body}")
expect("" nn/a.h "// A." "class A {" "  int f() {" "${body}  }" "  int g() {" "${body}  }" "}  // A")
expect("need functions of at most 70 lines" nn/a.h "// A." "class A {" "  int f() {" "    call()"
       "${body}  }" "}  // A")
string(REPEAT "f()\n" 43 lines)
expect("" examples/a.cpp "// A." "${lines}f()")
expect("" examples/full/a.cpp "// A." "${lines}f()" "#include \"examples/full/b.h\"")
expect("need at most 45 lines" examples/a.cpp "// A." "${lines}f()" "f()")
expect("need a program's includes from its own folder" examples/a.cpp "// A." "#include \"examples/full/b.h\"")
string(REPEAT "word\n" 498 words)
expect("" docs/a.md "# A" "${words}")
expect("need at most 500 lines" docs/a.md "# A" "word" "word" "${words}")
expect("need a first line" docs/a.md "A")
expect("" scripts/a.sh "#!/bin/bash" "# A.")
expect("" scripts/a.py "#!/usr/bin/env python3" "\"\"\"A.\"\"\"")
expect("" nn/a.cpp "// A, with \"text]\" that is hard to scan: [ ; \${x}" "// #include \"tests/b.h\"")

# Includes of later layers.
set(later "need includes of earlier layers only; got")
foreach(bad IN ITEMS
        "device/cuda/a.cu exec/executor.h" "core/a.cpp ops/op.h" "ops/a.cpp device/device.h" "device/a.h params/parameter.h"
        "device/cpu/a.cpp tape/tape.h" "params/a.h tape/tape.h" "tape/a.h program/program.h"
        "program/a.h exec/executor.h" "exec/a.h graph/graph.h" "graph/a.h train/trainer.h" "train/a.h io/text.h"
        "io/a.h compat/dynet.h" "graph/a.cpp dynet_like.h" "core/a.h nowhere/b.h")
  string(REPLACE " " ";" pair ${bad})
  list(GET pair 0 from)
  list(GET pair 1 to)
  expect("${later} dynet_like/${to}" dynet_like/${from} "// A." "#  include \"dynet_like/${to}\"")
endforeach()
expect("${later} batching/dag.h" dynet_like/tape/a.h "// A." "#include \"batching/dag.h\"")
expect("${later} dynet_like/core/dim.h" batching/a.h "// A." "#include <dynet_like/core/dim.h>")
expect("${later} nn/b.h" dynet_like/graph/a.cpp "// A." "" "#include \"nn/b.h\"")
expect("${later} tests/b.h" nn/a.cpp "// A." "#include \"tests/b.h\"")
expect("${later} dynet/dynet.h" dynet_like/io/a.cpp "// A." "#include <dynet/dynet.h>")
expect("${later} dynet/dynet.h" nn/a.cpp "// A." "#include <dynet/dynet.h>")
expect("from its own folder; got tests/b.h" bench/a.cpp "// A." "#include \"tests/b.h\"")
expect("need public headers only; got dynet_like/device/cpu/b.h" nn/a.cpp "// A."
       "#include \"dynet_like/device/cpu/b.h\"")
expect("need public headers only; got dynet_like/device/cpu/b.h" dynet_like/exec/a.h "// A."
       "#include \"dynet_like/device/cpu/b.h\"")
expect("by their path from the root; got \"local.h\"" batching/a.h "// A." "#include \"local.h\"")
expect("by their path from the root; got \"../batching/local.h\"" nn/a.h "// A."
       "#include \"../batching/local.h\"")
expect("need a folder that is in the list of layers" dynet_like/stray/a.h "// A.")
expect("need a folder that is in the list of layers" dynet_like/stray.h "// A.")

# Third-party headers in public headers.
expect("without third-party headers; got boost/asio/post.hpp" dynet_like/serve/a.h "// A."
       "#include <boost/asio/post.hpp>")
foreach(header IN ITEMS hwy/highway.h Eigen/Core fmt/core.h nlohmann/json.hpp spdlog/spdlog.h
        boost/context/fiber.hpp zlib.h immintrin.h xmmintrin.h arm_neon.h cuda_runtime.h)
  foreach(folder IN ITEMS batching dynet_like/exec nn/data)
    expect("without third-party headers; got ${header}" ${folder}/a.h "// A."
           "#include <${header}>")
  endforeach()
endforeach()

# Ops that are missing from the table.
expect("need an entry in the list of the file's ops; got none for gelu" dynet_like/graph/ops/new.cpp "// A."
       "const Op gelu = make()")
expect("need an entry in the list of formulas; got none for Gelu" dynet_like/ops/formulas.h "// A."
       "struct Gelu : UnaryFormula")

# Length and first line.
string(REPEAT "x\n" 498 body)
expect("" nn/a.cpp "// A." "${body}x")
expect("need at most 500 lines; got 501" nn/a.cpp "// A." "${body}x" "x")
expect("need at most 500 lines; got 501" tests/words.txt "first" "${body}x" "x")
set(first "need a first line that is a comment")
expect("${first}" nn/a.cpp "#include <vector>")
expect("${first}" nn/a.h "" "// A.")
expect("${first}" nn/CMakeLists.txt "add_library(x)")
expect("${first}" cmake/a.cmake "set(x 1)")
expect("${first}" scripts/a.sh "#!/bin/bash" "set -e")
expect("${first}" scripts/a.py "import json")
expect("${first}" .ci/run "#!/bin/bash" "")
