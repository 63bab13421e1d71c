# What the documents show compiles and runs.

# printed_block(RESULT TEXT): the regular expression of the first block of text in a part of a page.
function(printed_block result text)
  string(FIND "${text}" "```text\n" begin)
  math(EXPR begin "${begin} + 8")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "\n```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  string(REGEX REPLACE "([][+.*()^$?|])" "\\\\\\1" text "${text}")
  string(REPLACE ";" "." text "${text}")  # else the property would be a list
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# The first C++ block of each, or behind some words. It is run by `document_runner`, if there is one.
# If a block of text follows it, the program must print this text, and nothing else.
function(add_document_test name document main)
  file(READ ${PROJECT_SOURCE_DIR}/${document} text)
  if(ARGC GREATER 3)
    string(FIND "${text}" "${ARGV3}" heading)
    string(SUBSTRING "${text}" ${heading} -1 text)
  endif()
  string(REGEX MATCH "```cpp\n(.*)" text "${text}")
  string(FIND "${CMAKE_MATCH_1}" "```" end)
  string(SUBSTRING "${CMAKE_MATCH_1}" 0 ${end} code)
  string(SUBSTRING "${CMAKE_MATCH_1}" ${end} -1 rest)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "@code@@main@" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${document})
  dynet_like_program(${name} ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  add_test(NAME ${name} COMMAND ${document_runner} $<TARGET_FILE:${name}>)
  set_tests_properties(${name} PROPERTIES LABELS pages)
  if(rest MATCHES "^```\n\n```text\n")
    printed_block(expected "${rest}")
    set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "^${expected}[ \n]*$")
  endif()
endfunction()
add_document_test(readme_program README.md "")
set_tests_properties(readme_program PROPERTIES PASS_REGULAR_EXPRESSION "epoch 5/5: loss 0\\.[01]")
if(TARGET dynet_like_mpi)
  add_document_test(distributed_program docs/distributed.md "")
  target_link_libraries(distributed_program PRIVATE dynet_like::mpi)
  set_tests_properties(distributed_program PROPERTIES PASS_REGULAR_EXPRESSION "1 processes: status 0"
                       ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
  add_test(NAME distributed_program_of_3 COMMAND ${MPIEXEC_EXECUTABLE} -n 3 $<TARGET_FILE:distributed_program>)
  set_tests_properties(distributed_program_of_3 PROPERTIES LABELS pages
                       PASS_REGULAR_EXPRESSION "3 processes: status 0" ENVIRONMENT
    "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1")
endif()
add_document_test(text_program docs/text.md [=[
#include <fstream>
int main() {
  const std::string processor = R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]})";
  std::ofstream("tokenizer.json") << R"({"normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"BertPreTokenizer"},
      "post_processor":)" << processor << R"(,"model":{"type":"WordPiece","unk_token":"[UNK]",
      "continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,
      "a":3,"an":4,"un":5,"##aff":6,"##able":7,"cat":8,".":9,"animal":10}}})";
  encode(".");
}
]=])
set_tests_properties(text_program PROPERTIES WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} PASS_REGULAR_EXPRESSION
  "6 ##aff of word 1: aff.*9 . of word 3.*2 .SEP.\na piece of unaffable.*a piece of cat\n1, 11 rows")
find_package(Python3 QUIET COMPONENTS Interpreter)
if(TARGET dynet_like_serve AND Python3_FOUND)
  set(document_runner Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/serve/program_test.py
      "once upon a" "[a-z]+")
  add_document_test(serving_program docs/serving.md "")
  target_link_libraries(serving_program PRIVATE dynet_like::serve)
  unset(document_runner)
endif()
add_document_test(pipeline_program docs/pipeline.md "")
set_tests_properties(pipeline_program PROPERTIES WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
                     PASS_REGULAR_EXPRESSION "# text = Anna waited in the kitchen \\.\n1\tAnna\t")
add_document_test(explain_program docs/reports.md "" "## What did not batch")
target_compile_options(explain_program PRIVATE -g)
string(JOIN "\n" expected
  "^not together: softmax \"weights\", 4 nodes of 4 types in 4 batches"
  "  split by length: input 0 is {5}, {6}, {7} or {8}"
  "  at [^\n]*explain_program.cpp:14 .softmax."
  "  instead: segment_softmax.x, {n}, 0. takes any length. so does attention.q, k, v., which takes the products with keys and values, too"
  "  saves up to 3 batches, 3 kernel calls")
set_tests_properties(explain_program PROPERTIES PASS_REGULAR_EXPRESSION "${expected}")
add_document_test(timeline_program docs/reports.md "" "## What ran when")
set_tests_properties(timeline_program PROPERTIES PASS_REGULAR_EXPRESSION "[1-9][0-9]+ events, 0 dropped")
add_document_test(picture_program docs/reports.md "" "## What ran together")
set_tests_properties(picture_program PROPERTIES FIXTURES_SETUP picture WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
add_test(NAME picture_of_the_page COMMAND ${CMAKE_COMMAND} -E compare_files --ignore-eol
         ${PROJECT_SOURCE_DIR}/docs/batches.svg ${CMAKE_CURRENT_BINARY_DIR}/batches.svg)
set_tests_properties(picture_of_the_page PROPERTIES FIXTURES_REQUIRED picture LABELS pages)
if(TARGET dynet_like_serve)
  add_document_test(encoders_program docs/encoders.md [=[
#include <filesystem>
#include <fstream>
#include <sstream>
int main() {
  ParameterCollection model;
  nn::EncoderConfig config;
  config.vocabulary = 9;
  config.size = config.hidden = 16;
  config.heads = config.layers = 2;
  config.initial_deviation = 0.3f;
  nn::Encoder(model, config).save("small_encoder");
  std::ofstream("small_encoder/tokenizer.json") <<
    R"({"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
      "max_input_chars_per_word":9,"vocab":{"[UNK]":0,"it":1,"works":2,".":3,"we":4,"work":5,"##s":6}},
      "pre_tokenizer":{"type":"WhitespaceSplit"}})";
  std::ofstream("small.conllu") << "1\tit\t_\tPRON\t_\t_\t2\t_\t_\t_\n2\tworks\t_\tVERB\t_\t_\t0\t_\t_\t_\n\n"
    "1\twe\t_\tPRON\t_\t_\t2\t_\t_\t_\n2\twork\t_\tVERB\t_\t_\t0\t_\t_\t_\n3\t.\t_\tPUNCT\t_\t_\t2\t_\t_\t_\n\n";
  const auto sentences = nn::read_conllu_tags("small.conllu");
  train("small_encoder", sentences, sentences);
  const nn::SavedModel saved("tagger");
  ParameterCollection again;
  const Tagger tagger(again, nn::TextEncoder(again, saved.metadata()), saved.vocabulary("labels"));
  saved.load(again);
  ComputationGraph graph({.inference = true});
  std::cout << tagger.tag(graph, {"it", "works", "."}).size() << " labels\n";
  Minibatch batch;
  for (const nn::TaggedSentence& each : sentences) batch.add_loss(tagger.loss(batch.new_graph(), each));
  batch.forward();
  batch.backward();
  std::ostringstream report;
  report << batch.explain();
  if (report.str().find("split by length") != std::string::npos) std::cout << report.str();
}
]=])
  target_link_libraries(encoders_program PRIVATE dynet_like::serve)
  set_tests_properties(encoders_program PROPERTIES WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
                       PASS_REGULAR_EXPRESSION "epoch 3/3: loss.*3 labels\n$")
endif()
add_document_test(recursions_program docs/recursions.md "")
set_tests_properties(recursions_program PROPERTIES PASS_REGULAR_EXPRESSION "^64 nodes in 4 batches")
add_document_test(cell_program docs/recursions.md "" "## Step by step")
set_tests_properties(cell_program PROPERTIES PASS_REGULAR_EXPRESSION "tree node +.* 2 +2 ")
# The page shows parts of what the program prints, the last first.
file(READ ${PROJECT_SOURCE_DIR}/docs/deciding.md page)
string(FIND "${page}" "## How to see it" place)
string(SUBSTRING "${page}" ${place} -1 page)
printed_block(waves "${page}")
string(FIND "${page}" "The table of nodes" place)
string(SUBSTRING "${page}" ${place} -1 page)
printed_block(nodes "${page}")
add_document_test(deciding_program docs/deciding.md "")
set_tests_properties(deciding_program PROPERTIES PASS_REGULAR_EXPRESSION
                     "${nodes}.*${waves}.*\n(100|9[5-9])[.0-9]* % of 1000 new")
add_document_test(layers_program docs/layers.md "")
set_tests_properties(layers_program PROPERTIES PASS_REGULAR_EXPRESSION "step 200: loss 0\\.[01]")
add_document_test(own_layer_program docs/layers.md [[
int main() {
  ParameterCollection model;
  const ScaledResidual first(model, 16, 32), second(model, 16, 32);
  const bool named = model.find("/scaled_residual/mlp/layer_0/W") != nullptr &&
                     model.find("/scaled_residual_1/scale") != nullptr && model.size() == 10;
  Minibatch batch({.verify_batching = true});
  for (const unsigned n : {3, 5}) {
    const Expression x = input(batch.new_graph(), {16, n}, std::vector<float>(16 * n, 1));
    batch.add_loss(squared_norm(second(first(x))));
  }
  batch.add_loss(squared_norm(first(zeros(batch.new_graph(), {16}))));
  batch.forward();
  batch.backward();
  return named ? 0 : 1;
}
]] "## A layer of your own")
add_document_test(graph_sizes_program docs/layers.md [[
int main() {
  ParameterCollection model;
  const nn::Linear update(model, 16, 16);
  const Edges ring{{2, 0, 1}, {1, 1, 1}}, star{{1, 2, 3, 4, 0, 0, 0, 0}, {4, 1, 1, 1, 1}};
  const auto batches = [&](const std::vector<Edges>& graphs) {
    Minibatch batch;
    for (const Edges& edges : graphs) {
      const auto nodes = static_cast<unsigned>(edges.degrees.size());
      const Expression h = input(batch.new_graph(), {16, nodes}, std::vector<float>(16 * nodes, 1));
      batch.add_loss(squared_norm(segment_sum(pass_messages(update, h, edges), {nodes})));
    }
    batch.forward();
    batch.backward();
    return batch.explain().batches;
  };
  return batches({ring, star, ring}) == batches({star}) ? 0 : 1;
}
]] "## Graphs of different sizes")
add_document_test(pointer_program docs/layers.md [[
int main() {
  ParameterCollection model;
  const PointerGenerator generator(model);
  const auto batches = [&](const std::vector<unsigned>& lengths) {
    Minibatch batch;
    for (const unsigned n : lengths) {
      std::vector<unsigned> source(n);
      for (unsigned i = 0; i < n; ++i) source[i] = i * i % 10;
      batch.add_loss(generator.loss(batch.new_graph(), source, {source[n - 1], 7, 0}));
    }
    batch.forward();
    batch.backward();
    return batch.explain().batches;
  };
  return batches({5, 9, 3, 30, 17, 8}) == batches({9, 9, 9, 9, 9, 9}) ? 0 : 1;
}
]] "## Pointing and copying")
add_document_test(translator_program docs/layers.md [[
int main() {
  ParameterCollection model(1);
  const Translator translator(model);
  AdamTrainer trainer(model, 0.003f);
  const std::vector<Words> sources = {{5, 7, 9}, {9, 5}, {7, 7, 5, 6}, {8}};
  const auto target_of = [](const Words& source) {  // backwards, each word the next number
    Words target(source.rbegin(), source.rend());
    for (unsigned& word : target) ++word;
    return target;
  };
  Minibatch batch;
  for (int step = 0; step < 150; ++step, batch.clear()) {
    for (const Words& source : sources) batch.add_loss(translator.loss(batch.new_graph(), source, target_of(source)));
    batch.forward();
    trainer.update(batch.backward());
  }
  ComputationGraph graph;
  for (const Words& source : sources) {
    if (translator.translate(graph, source) != target_of(source)) return 1;
  }
}
]] "## Transformers that write")
# A program per model, at its heading.
foreach(model IN ITEMS "tags|## Tags" "segments|## Segments" "spans|## Constituents" "trees|## Dependency trees"
        "transitions|## Dependency trees by transitions" "stacks|### Stacks that an LSTM reads"
        "ctc|## Labels without alignment")
  string(REPLACE "|" ";" model "${model}")
  list(GET model 0 name)
  list(GET model 1 heading)
  add_document_test(structured_${name}_program docs/structured.md "" ${heading})
  get_test_property(structured_${name}_program PASS_REGULAR_EXPRESSION expected)
  if(NOT expected)
    message(FATAL_ERROR "docs/structured.md: need what the program at \"${heading}\" prints behind it")
  endif()
endforeach()
add_document_test(decoding_program docs/decoding.md "")
set_tests_properties(decoding_program PROPERTIES LABELS "pages;training"
                     PASS_REGULAR_EXPRESSION "(100|9[0-9]) of 100 numbers are right")
add_document_test(training_program docs/training.md "")
set_tests_properties(training_program PROPERTIES
                     PASS_REGULAR_EXPRESSION "accuracy (9|100)[^\n]* after epoch [0-9]+")
add_document_test(custom_ops_program docs/custom_ops.md [[
#include <cmath>

int main() {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}, ParameterInitFromVector({0, 1}));
  Minibatch batch({.verify_batching = true, .detect_anomaly = true});
  std::vector<Expression> outputs;
  for (const float gate : {-2.0f, 0.0f, 1.0f}) {
    ComputationGraph& graph = batch.new_graph();
    outputs.push_back(layer(parameter(graph, w), input(graph, {2}, {gate, gate})));
    batch.add_loss(sum_elems(outputs.back()));
  }
  batch.forward();
  const std::vector<float> gradient = batch.backward().values(w);
  // mish(1) and its slopes at 0 and 1; shares of it, of x the rest.
  const float mish_of_1 = 0.8650984f, slopes[2] = {0.6f, 1.0490363f};
  float expected[2] = {0, 0};
  bool good = true;
  for (std::size_t i = 0; i < 3; ++i) {
    const float share = 1 / (1 + std::exp(std::vector{2.0f, 0.0f, -1.0f}[i]));
    for (const int e : {0, 1}) expected[e] += share * slopes[e] + 1 - share;
    good &= std::abs(as_vector(outputs[i].value())[1] - (share * mish_of_1 + 1 - share)) < 1e-6f;
  }
  for (const int e : {0, 1}) good &= std::abs(gradient[e] - expected[e]) < 1e-5f;
  // Any numbers of columns are one batch.
  Minibatch matrices;
  for (const unsigned n : {1, 4, 2}) {
    matrices.add_output(mish(input(matrices.new_graph(), {9, n}, std::vector<float>(9 * n))));
  }
  matrices.forward();
  for (const Report::Type& type : matrices.explain().types) {
    if (type.op == "mish") return good && type.nodes == 3 && type.batches == 1 ? 0 : 1;
  }
  return 1;
}
]])

add_document_test(open_inputs_program docs/custom_ops.md [[
int main() {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2, 2}, ParameterInitFromVector({1, 0, 0, 1}));
  Minibatch batch({.verify_batching = true, .detect_anomaly = true});
  for (const unsigned n : {1, 4, 2}) {  // columns {1, 2}
    std::vector<float> numbers(2 * n, 1);
    for (unsigned column = 0; column < n; ++column) numbers[2 * column + 1] = 2;
    ComputationGraph& graph = batch.new_graph();
    batch.add_loss(squared_norm(sum_columns(parameter(graph, w) * input(graph, {2, n}, numbers))));
  }
  const bool good = batch.forward() == 5 * (1 + 16 + 4) &&
                    batch.backward().values(w) == std::vector<float>{42, 84, 84, 168};
  for (const Report::Type& type : batch.explain().types) {
    if (type.op == "sum_columns") return good && type.nodes == 3 && type.batches == 1 ? 0 : 1;
  }
  return 1;
}
]] "**As a whole.**")

if(DYNET_LIKE_CUDA)
  add_document_test(cuda_program docs/cuda.md [[
#include <cmath>
#include <dynet_like/dynet_like.h>

int main() {
  Op op;
  op.name = "squareplus";
  op.gradient.needs = Needs::output;
  op.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
  op.cuda_kernels = &squareplus_on_gpus;
  const std::shared_ptr<Device> device = open_device(cuda::kFamily);
  ParameterCollection model(1, DType::f32, device);
  const Parameter w = model.add_parameters({2}, ParameterInitFromVector({0, 1.5f}));
  Minibatch batch({.device = device});
  for (int sample = 0; sample < 3; ++sample) {
    const Expression x = parameter(batch.new_graph(), w) * static_cast<float>(sample + 1);
    batch.add_loss(sum_elems(apply_op(op, std::span(&x, 1))));
  }
  float loss = 0;
  std::vector<float> gradient(2);
  for (const float factor : {1.0f, 2.0f, 3.0f}) {
    for (const std::size_t i : {0u, 1u}) {
      const float x = factor * (i == 0 ? 0 : 1.5f), y = (x + std::hypot(x, 2.0f)) / 2;
      loss += y;
      gradient[i] += factor * (y * y / (1 + y * y));
    }
  }
  const auto near = [](float a, float b) { return std::abs(a - b) < 1e-5f; };
  bool good = near(batch.forward(), loss) && device->counts().fallbacks == 0;
  for (const std::size_t i : {0u, 1u}) {
    good = good && near(batch.backward().values(w)[i], gradient[i]);
  }
  return good ? 0 : 1;
}
]])
  add_dependencies(gpu_tests cuda_program)
endif()
if(DYNET_LIKE_CUDA STREQUAL HOST)
  target_compile_definitions(cuda_program PRIVATE DYNET_LIKE_CUDA_HOST)
  set_tests_properties(cuda_program PROPERTIES LABELS cuda)
elseif(DYNET_LIKE_CUDA)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/cuda_program.cpp PROPERTIES LANGUAGE CUDA
                              COMPILE_OPTIONS "-std=c++20;--expt-relaxed-constexpr;-fmad=false")
  set_tests_properties(cuda_program PROPERTIES LABELS gpu
                       SKIP_REGULAR_EXPRESSION "there is no CUDA driver|finds no GPU")
  if(BUILD_SHARED_LIBS)
    add_test(NAME cuda_program_shares_the_runtime COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM}
             "-DFILES=$<TARGET_FILE:dynet_like>;$<TARGET_FILE:cuda_program>"
             -P ${CMAKE_CURRENT_SOURCE_DIR}/shared_runtime_test.cmake)
  endif()
endif()

add_document_test(migration_program docs/migration.md [[
#include <cstdio>

int main() {
  {
    dynet::ParameterCollection model;
    dynet::LSTMBuilder lstm(1, 16, 32, model);
    dynet::TextFileSaver("migration_old.model").save(model);
  }
  convert("migration_old.model", "migration_new.safetensors");
  dynet::ParameterCollection model;
  dynet::LSTMBuilder lstm(1, 16, 32, model);
  dynet_like::load_parameters("migration_new.safetensors", model);
  const int left = std::remove("migration_old.model") + std::remove("migration_new.safetensors");
  return left;
}
]])
target_link_libraries(migration_program PRIVATE dynet_like::compat)
