# Runs the programs that read dependency trees, as a user would.
# Arguments: PROGRAMS, their folder; WORK, a folder.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

# expect_result(REPORT NAME LEAST): checks a number of the report.
function(expect_result report name least)
  file(READ ${WORK}/${report} json)
  string(JSON value GET "${json}" ${name})
  if(value LESS least)
    message(FATAL_ERROR "need ${name} of at least ${least} in ${report}; got ${value}")
  endif()
endfunction()

foreach(example IN ITEMS biaffine_parser transition_parser stack_lstm_parser dependency_tree_lstm)
  run(2 ${example} --dev somewhere)
  expect("^${example}: need all of --train, --dev, --test, or none; got some\n$")
  run(1 ${example} --train nowhere --dev nowhere --test nowhere)
  expect("^${example}: nowhere: there is no such file\n$")
endforeach()

# "with hats" belongs to people, "with nets" to verbs.
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

# Parsers. Only the noun after "with" tells which word the phrase depends on.
foreach(parser IN ITEMS biaffine_parser transition_parser stack_lstm_parser)
  run(0 ${parser} --output ${parser} --report ${parser}.json)
  expect("test: UAS [0-9.]+ %, LAS [0-9.]+ % of [0-9]+ words\n")
  foreach(name IN ITEMS uas las)
    expect_result(${parser}.json ${name} 0.94)
  endforeach()

  # One thread and two give the same bits, and resuming a complete run changes nothing.
  foreach(threads IN ITEMS 1 2)
    run(0 ${parser} --hidden 8 --epochs 2 --output threads${threads} --threads ${threads})
    string(REGEX MATCH "test: [^\n]*" result${threads} "${output}")
    file(SHA256 ${WORK}/threads${threads}/best.safetensors sum${threads})
  endforeach()
  if(NOT sum1 STREQUAL sum2)
    message(FATAL_ERROR "need the bits of one thread with two; got others")
  endif()
  run(0 ${parser} --output threads2 --resume)
  expect("${result1}")
  # The learning rate falls until the last epoch, so the number of epochs is fixed.
  run(2 ${parser} --output threads2 --resume --epochs 3)
  expect("--epochs was \"2\"; got \"3\"")

  # Only heads and labels change.
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
endforeach()

# Measured speeds are in the report only if sentences have the same trees and losses together and
# alone.
foreach(name IN ITEMS seconds sentences_per_s sentences_per_s_alone training_sentences_per_s
                      training_sentences_per_s_alone)
  expect_result(transition_parser.json ${name} 0.001)
endforeach()

# A tree with crossing arcs is not used for training. In a test it counts: at least one head is
# missed.
set(crossing "1\ta\t_\tDET\t_\t_\t3\tdet\t_\t_
2\tb\t_\tDET\t_\t_\t4\tdet\t_\t_
3\tc\t_\tNOUN\t_\t_\t4\tobj\t_\t_
4\td\t_\tVERB\t_\t_\t0\troot\t_\t_

")
file(WRITE ${WORK}/crossing.conllu "${crossing}")
file(WRITE ${WORK}/train.conllu "${parsed}${crossing}")
foreach(parser IN ITEMS transition_parser stack_lstm_parser)
  run(0 ${parser} --train train.conllu --dev crossing.conllu --test crossing.conllu --epochs 1
      --hidden 8 --output crossing)
  expect("left out 1 training trees, which transitions cannot build\n.*test: UAS [0-7][0-9.]+ %, LAS [0-9.]+ % of 4 words")
  run(2 ${parser} --train crossing.conllu --dev crossing.conllu --test crossing.conllu)
  expect("^${parser}: need a tree without crossing arcs and with one root to learn from; got none\n$")
endforeach()

# Formulas: a word alone does not tell an operator's value.
run(0 dependency_tree_lstm --output trees --report trees.json)
expect("test: [0-9.]+ % of [0-9]+ words with dependants, [0-9.]+ % of [0-9]+ words\n")
expect_result(trees.json with_dependants 0.95)
# The values of "odd (all yes no) yes" and "any (no)", for input with labels and without.
set(formulas)
foreach(line IN ITEMS "1\todd\t0\ttrue" "2\tall\t1\tfalse" "3\tyes\t2\ttrue" "4\tno\t2\tfalse"
                      "5\tyes\t1\ttrue" "" "1\tany\t0\tfalse" "2\tno\t1\tfalse" "")
  string(REGEX REPLACE "^(.*)\t(.*)\t(.*)\t(.*)$" "\\1\t\\2\t_\t_\t_\t_\t\\3\t\\4\t_\t_" line "${line}")
  string(APPEND formulas "${line}\n")
endforeach()
string(REGEX REPLACE "(true|false)" "_" bare "${formulas}")
file(WRITE ${WORK}/bare.conllu "${bare}")
set(input ${WORK}/bare.conllu)
run(0 dependency_tree_lstm --apply --output trees)
if(NOT output STREQUAL formulas)
  message(FATAL_ERROR "need the values\n${formulas}got\n${output}")
endif()
run(0 dependency_tree_lstm --flat --output flat --report flat.json)
file(READ ${WORK}/flat.json json)
string(JSON flat GET "${json}" with_dependants)
if(flat GREATER 0.75)
  message(FATAL_ERROR "need formulas that single words do not solve; got ${flat}")
endif()
