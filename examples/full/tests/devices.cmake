# An example learns the same on another device as on the CPU. Arguments: PROGRAM; DEVICE; WORK, a
# scratch folder.
set(arguments --train-trees 600 --test-trees 600 --max-tokens 30 --hidden 24
    --embedding 16 --epochs 3 --threads 1)

# Returns the accuracy in hundredths of a percent.
function(train device accuracy)
  file(REMOVE_RECURSE ${WORK}/${device})
  execute_process(COMMAND ${PROGRAM} ${arguments} --device ${device} --output ${WORK}/${device}
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(NOT result EQUAL 0 OR NOT output MATCHES "test accuracy: ([0-9]+)\\.([0-9][0-9]) %")
    message(FATAL_ERROR "${PROGRAM} on ${device} ended with ${result}:\n${output}")
  endif()
  math(EXPR number "${CMAKE_MATCH_1} * 100 + ${CMAKE_MATCH_2}")
  set(${accuracy} ${number} PARENT_SCOPE)
endfunction()

train(cpu expected)
train(${DEVICE} got)
math(EXPR difference "${got} - ${expected}")
message("test accuracy in hundredths of a percent: ${expected} on the CPU, ${got} on ${DEVICE}")
if(difference GREATER 200 OR difference LESS -200)
  message(FATAL_ERROR "need accuracies at most 2 % apart")
endif()
