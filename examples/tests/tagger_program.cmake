# Runs the tagger as a user would: trains it, goes on from a checkpoint, applies it.
# Arguments: PROGRAMS, its folder; WORK, a folder.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

set(small --train-sentences 300 --dev-sentences 60 --test-sentences 60 --embedding 12
    --characters 8 --character-hidden 12 --hidden 16 --batch-size 8 --learning-rate 0.01)

# Two epochs at once, and one after the other with another number of threads: the same bits.
foreach(loss IN ITEMS "" --crf)
  run(0 tagger ${small} ${loss} --epochs 2 --output whole${loss} --report report${loss}.json)
  expect("best: epoch 2 ")
  run(0 tagger ${small} ${loss} --epochs 1 --output parts${loss} --threads 1)
  run(0 tagger ${small} ${loss} --epochs 2 --output parts${loss} --threads 2 --resume)
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
    set(input ${WORK}/sentences)
    run(0 tagger --apply --output whole${loss} --batch-size ${size})
    set(output${size} "${output}")
  endforeach()
  if(NOT output1 STREQUAL output64)
    message(FATAL_ERROR "need the same labels for minibatches of 1 and 64; got others")
  endif()
  set(output "${output1}")
  expect("^the\tDET\nvumo\t[A-Z]+\nlinapo\t[A-Z]+\nthe\tDET\nrous\t[A-Z]+\nnuki\t[A-Z]+\n\\.\tPUNCT\n\nshe\t[A-Z]+\ngivaned\t[A-Z]+\n!\t[A-Z]+\n\n$")
endforeach()
