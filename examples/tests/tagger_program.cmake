# Runs the tagger as a user would: trains it, goes on from a checkpoint, applies it, makes mistakes.
# Arguments: PROGRAM, the tagger; WORK, a folder.

# run(RESULT ARGUMENT...): the program must end with that exit status; what it prints is in `output`.
function(run result)
  execute_process(COMMAND ${PROGRAM} ${ARGN} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE got
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT got EQUAL ${result})
    list(JOIN ARGN " " arguments)
    message(FATAL_ERROR "tagger ${arguments}: need exit status ${result}; got ${got}:\n"
                        "${output}${errors}")
  endif()
  set(output "${output}${errors}" PARENT_SCOPE)
endfunction()

function(expect regex)
  if(NOT output MATCHES "${regex}")
    message(FATAL_ERROR "need output that matches ${regex}; got\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(small --train-sentences 300 --dev-sentences 60 --test-sentences 60 --embedding 12
    --characters 8 --character-hidden 12 --hidden 16 --batch-size 8 --learning-rate 0.01)

# Two epochs at once, and one after the other with another number of threads: the same bits.
foreach(loss IN ITEMS "" --crf)
  run(0 ${small} ${loss} --epochs 2 --output whole${loss} --report report${loss}.json)
  expect("best: epoch 2 ")
  run(0 ${small} ${loss} --epochs 1 --output parts${loss} --threads 1)
  run(0 ${small} ${loss} --epochs 2 --output parts${loss} --threads 2 --resume)
  file(SHA256 ${WORK}/whole${loss}/best.safetensors whole)
  file(SHA256 ${WORK}/parts${loss}/best.safetensors parts)
  if(NOT whole STREQUAL parts)
    message(FATAL_ERROR "need the bits of an uninterrupted run; got others")
  endif()
  file(READ ${WORK}/report${loss}.json report)
  string(JSON accuracy GET "${report}" label_accuracy)
  if(accuracy LESS 0.8)
    message(FATAL_ERROR "need an accuracy of 0.8 and more; got ${accuracy}")
  endif()
  foreach(name IN ITEMS seconds sentences_per_second)
    string(JSON value GET "${report}" ${name})
    if(NOT value GREATER 0)
      message(FATAL_ERROR "need ${name} above 0 in the report; got ${value}")
    endif()
  endforeach()

  # Words of which most were never seen, in minibatches of one and of many.
  file(WRITE ${WORK}/sentences "the vumo linapo the rous nuki .\n\n  she\tgivaned !\n")
  foreach(size IN ITEMS 1 64)
    execute_process(COMMAND ${PROGRAM} --apply --output whole${loss} --batch-size ${size}
                    WORKING_DIRECTORY ${WORK} INPUT_FILE ${WORK}/sentences RESULT_VARIABLE result
                    OUTPUT_VARIABLE output${size})
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "tagger --apply ended with ${result}")
    endif()
  endforeach()
  if(NOT output1 STREQUAL output64)
    message(FATAL_ERROR "need the same labels for minibatches of 1 and 64; got others")
  endif()
  set(output "${output1}")
  expect("^the\tDET\nvumo\t[A-Z]+\nlinapo\t[A-Z]+\nthe\tDET\nrous\t[A-Z]+\nnuki\t[A-Z]+\n\\.\tPUNCT\n\nshe\t[A-Z]+\ngivaned\t[A-Z]+\n!\t[A-Z]+\n\n$")
endforeach()

# Mistakes say what is needed, and those in the command line end with 2.
run(0 --help)
expect("--data FOLDER")
run(2 --resume --output whole)
expect("--batch-size was 8; got 32")
run(2 --train some)
expect("need all of --train, --dev and --test")
run(2 --hidden none)
expect("need a whole number from 1 to 4096 for --hidden; got \"none\"")
run(1 --data ${WORK})
expect("need the files of")
run(1 --apply --output nothing)
expect("nothing/words.txt: there is no such file")
