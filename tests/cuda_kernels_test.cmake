# Shows that scripts/cuda_kernels.py makes a row of each kernel, and fails if one spills.
# Arguments: PYTHON; SCRIPT; WORK, a folder for what ptxas could have said.

# expect(STATUS OUTPUT TEXT...): the script, given this text, ends with the status and prints the row.
function(expect status row)
  list(JOIN ARGN "\n" text)
  file(WRITE ${WORK}/ptxas.txt "${text}\n")
  execute_process(COMMAND ${PYTHON} ${SCRIPT} ${options} --read ${WORK}/ptxas.txt RESULT_VARIABLE result
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  string(FIND "${output}${errors}" "${row}" place)
  if(NOT result EQUAL status OR place EQUAL -1)
    message(SEND_ERROR "need status ${status} and '${row}'; got ${result}:\n${output}${errors}")
  endif()
endfunction()

function(of_kernel result architecture spills registers)
  set(name _ZN10dynet_like4cuda12_GLOBAL__N_112add_segmentsIdEEvPKNS0_10SumSegmentE)
  set(${result}
      "ptxas info    : Compiling entry function '${name}' for '${architecture}'"
      "ptxas info    : Function properties for ${name}"
      "    ${spills} bytes stack frame, ${spills} bytes spill stores, ${spills} bytes spill loads"
      "ptxas info    : Used ${registers} registers, used 1 barriers, 1024 bytes smem, 393 bytes cmem[0]"
      PARENT_SCOPE)
endfunction()

of_kernel(first sm_80 0 40)
of_kernel(second sm_90 0 38)
of_kernel(spilling sm_90 8 255)
expect(0 "| ptxas.txt | `add_segments<double>` | 40, 38 | 1024 | 0 |" ${first} ${second})
expect(1 "| ptxas.txt | `add_segments<double>` | 40, 255 | 1024 | 16 |" ${first} ${spilling})
expect(1 "add_segments<double> spills" ${first} ${spilling})
# A function that was not inlined has no entry of its own.
expect(1 "| ptxas.txt | `solve` | 0, - | 0 | 12 |" ${first}
       "ptxas info    : Function properties for _ZN10dynet_like4cuda5solveEPf"
       "    0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads")
expect(2 "need the output of ptxas -v" "nothing")

set(options --summary)
expect(0 "| ptxas.txt | `add_segments` | 1 | 40, 38 | 1024 |" ${first} ${second})
expect(1 "add_segments spills" ${first} ${spilling})
