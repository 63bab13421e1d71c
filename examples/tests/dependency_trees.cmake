# Runs the programs that read dependency trees as a user would.
# Arguments: PROGRAMS, their folder; WORK, a folder.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

# expect_result(REPORT NAME LEAST): a number of the report.
function(expect_result report name least)
  file(READ ${WORK}/${report} json)
  string(JSON value GET "${json}" results ${name})
  if(value LESS least)
    message(FATAL_ERROR "need ${name} of at least ${least} in ${report}; got ${value}")
  endif()
endfunction()

foreach(example IN ITEMS biaffine_parser transition_parser dependency_tree_lstm)
  run(0 ${example} --help --epochs none)
  expect("usage: ${example} .*--train FILE")
  run(2 ${example} --no-such-option)
  expect("^${example}: need options that --help lists; got \"--no-such-option\"\n$")
  run(2 ${example} --epochs 0)
  expect("^${example}: need a whole number from 1 to 1000 for --epochs; got \"0\"\n$")
  run(2 ${example} --epochs)
  expect("^${example}: need a value for --epochs; got none\n$")
  run(2 ${example} --dev somewhere)
  expect("^${example}: need all of --train, --dev and --test, or none; got some\n$")
  run(1 ${example} --train nowhere --dev nowhere --test nowhere)
  expect("^${example}: nowhere: there is no such file\n$")
endforeach()

# Hats belong to people, nets to what they do.
set(parsed "# text = A girl seesthe dog with hats.
1\ta\t_\tDET\t_\t_\t2\tdet\t_\t_
2\tgirl\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_
3-4\tseesthe\t_\t_\t_\t_\t_\t_\t_\t_
3\tsees\tsee\tVERB\t_\tNumber=Sing\t0\troot\t_\t_
3.1\tgone\t_\t_\t_\t_\t_\t_\t0:x\t_
4\tthe\t_\tDET\t_\t_\t5\tdet\t_\t_
5\tdog\t_\tNOUN\t_\t_\t3\tobj\t_\t_
6\twith\t_\tADP\t_\t_\t7\tcase\t_\t_
7\thats\t_\tNOUN\t_\t_\t5\tnmod\t_\tSpaceAfter=No
8\t.\t_\tPUNCT\t_\t_\t3\tpunct\t_\t_

1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_
2\tking\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_
3\thits\t_\tVERB\t_\t_\t0\troot\t_\t_
4\ta\t_\tDET\t_\t_\t5\tdet\t_\t_
5\tunicorn\t_\tNOUN\t_\t_\t3\tobj\t_\t_
6\twith\t_\tADP\t_\t_\t7\tcase\t_\t_
7\tnets\t_\tNOUN\t_\t_\t3\tobl\t_\t_
8\t.\t_\tPUNCT\t_\t_\t3\tpunct\t_\t_

")
string(REGEX REPLACE "\t[0-9]\t[a-z]+\t_\t" "\t_\t_\t_\t" bare "${parsed}")
if(bare MATCHES "nsubj|case|root")
  message(FATAL_ERROR "need sentences without trees to parse; got\n${bare}")
endif()
file(WRITE ${WORK}/bare.conllu "${bare}")
file(WRITE ${WORK}/parsed.conllu "${parsed}")
file(WRITE ${WORK}/malformed.conllu "1\tthe\n\n")

# Parsers, on sentences of a toy grammar: without the words in a phrase with "with" nobody can know
# what that depends on.
foreach(parser IN ITEMS biaffine_parser transition_parser)
  run(0 ${parser} --output ${parser} --report ${parser}.json)
  expect("test: UAS [0-9.]+ %, LAS [0-9.]+ % of [0-9]+ words\n")
  expect_result(${parser}.json uas 0.94)
  expect_result(${parser}.json las 0.94)

  # One thread and two give the same bits, and a run that is complete stays as it is.
  foreach(threads IN ITEMS 1 2)
    run(0 ${parser} --hidden 8 --epochs 2 --output ${parser}${threads} --threads ${threads})
    string(REGEX MATCH "test: [^\n]*" result${threads} "${output}")
    file(SHA256 ${WORK}/${parser}${threads}/best.safetensors sum${threads})
  endforeach()
  if(NOT sum1 STREQUAL sum2)
    message(FATAL_ERROR "need the bits of one thread with two; got others")
  endif()
  run(0 ${parser} --hidden 8 --epochs 2 --output ${parser}2 --resume)
  expect("${result1}")

  # Only heads and labels are written anew.
  foreach(sentences IN ITEMS bare parsed)
    set(input ${WORK}/${sentences}.conllu)
    run(0 ${parser} --apply --output ${parser})
    if(NOT output STREQUAL parsed)
      message(FATAL_ERROR "need the trees\n${parsed}got\n${output}")
    endif()
  endforeach()
  set(input ${WORK}/malformed.conllu)
  run(1 ${parser} --apply --output ${parser})
  expect("^${parser}: standard input:1: ")
  run(2 ${parser} --apply)
  run(1 ${parser} --apply --output nothing)
  expect("^${parser}: nothing/best.safetensors: .*No such file")
endforeach()

# Sentences that wait for each other are parsed and learnt from as if they were alone.
foreach(count IN ITEMS 1 5 100)
  run(0 transition_parser --hidden 8 --epochs 2 --output count${count} --batch ${count})
  expect("${result1}")
  file(SHA256 ${WORK}/count${count}/best.safetensors sum)
  if(NOT sum STREQUAL sum1)
    message(FATAL_ERROR "need the bits of 32 sentences together with ${count}; got others")
  endif()
endforeach()
foreach(speed IN ITEMS sentences_per_s sentences_per_s_alone training_sentences_per_s
                       training_sentences_per_s_alone)
  expect_result(transition_parser.json ${speed} 1)
endforeach()
run(2 transition_parser --batch 0)

# A tree with arcs that cross is not learnt from. It counts in a test: one head at least is missed.
set(crossing "1\ta\t_\tDET\t_\t_\t3\tdet\t_\t_
2\tb\t_\tDET\t_\t_\t4\tdet\t_\t_
3\tc\t_\tNOUN\t_\t_\t4\tobj\t_\t_
4\td\t_\tVERB\t_\t_\t0\troot\t_\t_

")
file(WRITE ${WORK}/crossing.conllu "${crossing}")
file(WRITE ${WORK}/train.conllu "${parsed}${crossing}")
run(0 transition_parser --train train.conllu --dev crossing.conllu --test crossing.conllu --epochs 1
    --hidden 8)
expect("training without 1 of 3 sentences, whose trees transitions cannot make\n")
expect("test: UAS [0-7][0-9.]+ %, LAS [0-9.]+ % of 4 words\n")

run(2 transition_parser --train crossing.conllu --dev crossing.conllu --test crossing.conllu)
expect("^transition_parser: need a sentence with a projective tree to learn from; got none\n$")

# Formulas: operators cannot be told from their words alone.
run(0 dependency_tree_lstm --report trees.json)
expect("test: [0-9.]+ % of [0-9]+ words with dependants, [0-9.]+ % of [0-9]+ words\n")
expect_result(trees.json with_dependants 0.95)
run(0 dependency_tree_lstm --flat --report flat.json)
file(READ ${WORK}/flat.json json)
string(JSON flat GET "${json}" results with_dependants)
if(flat GREATER 0.75)
  message(FATAL_ERROR "need formulas that single words do not solve; got ${flat}")
endif()
