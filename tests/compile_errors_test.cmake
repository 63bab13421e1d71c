# Calls that cannot be compiled: the compiler's first error says in words what is needed.
# Arguments: ROOT, the project; COMPILER; WORK, a folder.
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY ${WORK})

# All programs below begin with these headers, which are compiled once.
set(compile ${COMPILER} -std=c++20 -I ${ROOT})
set(headers ${WORK}/headers.h)
file(WRITE ${headers} [[
#include <dynet_like/dynet_like.h>
#include <dynet_like/serve/server.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <nn/decode/decode.h>
#include <nn/decode/steps.h>
#include <nn/structured/ctc.h>
#include <nn/structured/parser_state.h>
#include <optional>
]])
execute_process(COMMAND ${compile} -x c++-header ${headers} -o ${headers}.gch
                COMMAND_ERROR_IS_FATAL ANY)

# expect_error(TEXT CODE): what stands in a function, where `batch` is a Minibatch. All functions
# without an error, those with an empty TEXT, are compiled together at the end.
set(good "using namespace dynet_like;\n")
set(functions 0)
function(expect_error text code)
  if(text STREQUAL "")
    math(EXPR functions "${functions} + 1")
    string(APPEND good "void run_${functions}(Minibatch& batch) { (void)batch; ${code} }\n")
    set(functions ${functions} PARENT_SCOPE)
    set(good "${good}" PARENT_SCOPE)
    return()
  endif()
  file(WRITE ${WORK}/program.cpp
       "using namespace dynet_like;\nvoid run(Minibatch& batch) { ${code} }\n")
  execute_process(COMMAND ${compile} -fsyntax-only -include ${headers} ${WORK}/program.cpp
                  ERROR_VARIABLE errors OUTPUT_QUIET)
  string(REGEX MATCH "error: [^\n]*" first "${errors}")
  if(NOT first MATCHES "${text}")
    message(FATAL_ERROR "need a first error with \"${text}\" for ${code}; got\n${errors}")
  endif()
endfunction()

set(expression "that returns an Expression")
expect_error("" "batch.add_losses(3, [](auto& graph, int) { return input(graph, 1.0f); });")
expect_error("${expression}" "batch.add_losses(3, [](auto& graph, int) { input(graph, 1.0f); });")
expect_error("${expression}" "batch.add_losses(3, [](ComputationGraph&, int) { return 1.0f; });")
expect_error("${expression}" "batch.record(3, [](ComputationGraph&) { return Expression(); });")

set(samples "const std::vector<int> samples(3);")
set(const_sample "const Sample& sample")
expect_error("" "${samples} for_each_sample(batch, samples, [](ComputationGraph&, int) {});")
expect_error("" "std::vector<int> mine(3); for_each_sample(batch, mine, [](auto&, int& x) { ++x; });")
expect_error("${const_sample}"
             "${samples} for_each_sample(batch, samples, [](ComputationGraph&, int&) {});")
expect_error("${const_sample}"
             "${samples} auto x = for_each_sample(batch, samples, [](int) { return 1; });")
expect_error("" "${samples} nn::predict(samples, [](ComputationGraph&, int i) { return i; });")
expect_error("${const_sample}" "nn::predict(3, [](ComputationGraph&, int&) { return 1; });")
set(numbers "a function that returns numbers")
expect_error("${numbers}" "nn::predict(3, [](auto& graph, int) { return input(graph, 1.0f); });")
expect_error("${numbers}" "nn::predict(3, [](ComputationGraph&, int) {});")
set(model "ParameterCollection model; SimpleSGDTrainer trainer(model);")
expect_error("" "${model} nn::train(trainer, 3, [](auto& graph, int) { return input(graph, 1.0f); });")
expect_error("${const_sample}" "${model} nn::train(trainer, 3, [](int) { return Expression(); });")
expect_error("an Expression, or a vector"
             "${model} nn::train(trainer, 3, [](ComputationGraph&, int) { return 1; });")
expect_error("std::size_t i" "for_each_sample(batch, 3, [](ComputationGraph&, int&) {});")
expect_error("count or a range" "for_each_sample(batch, 1.5, [](ComputationGraph&, int) {});")
set(next "[](bool) { return std::optional<int>(); }")
expect_error("" "for_each_arriving(batch, 2, ${next}, [](ComputationGraph&, int) {});")
expect_error("${const_sample}" "for_each_arriving(batch, 2, ${next}, [](ComputationGraph&) {});")
expect_error("std::optional" "for_each_arriving(batch, 2, [] { return 1; }, [](auto&, int) {});")

set(before "const std::vector<Expression>& before")
set(x "const Expression& x")
expect_error("" "recursion<Expression>([](${x}, ${before}) { return x; }, \"words\");")
expect_error("" "recursion<CellState>([](unsigned, auto x, auto&) { return CellState{x, x}; });")
set(vertex "Expression& column, const std::vector<State>& before")
expect_error("${vertex}" "recursion<Expression>([](${x}) { return x; });")
expect_error("${vertex}" "recursion<Expression>([](${x}, ${before}) { return 1; });")
expect_error("${vertex}" "recursion<CellState>([](${x}, ${before}) { return x; });")
expect_error("${vertex}" "int n = 0; recursion<Expression>([n](${x}, ${before}) mutable { ++n; return x; });")
expect_error("${vertex}" "recursion<Expression>(1);")
set(state "struct of at most 8 expressions")
expect_error("${state}" "recursion<float>([](${x}, const std::vector<float>&) { return 1.0f; });")
expect_error("${state}" "cell([](${x}) { return 1; });")
expect_error("${state}" "cell([](${x}) {});")
expect_error("" "cell([](${x}, unsigned, float, ${before}) { return x; });")
expect_error("arguments have types" "cell([](auto x) { return x; });")
expect_error("arguments have types" "cell(1);")
expect_error("a cell takes" "cell([](${x}, const unsigned* i) { return pick(x, i); })(Expression(), nullptr);")

set(steps "struct Mine { Expression h; }; using Actions = const std::vector<unsigned>&; nn::BatchedSteps<Mine> steps = {
    .scores = [](const Mine& x) { return x.h; }, .advance = [](const Mine& x, Actions) { return x; }")
expect_error("" "${steps}, .pick = [](const Mine& x, Actions) { return x; }};")
expect_error("need `pick` for this type of states" "${steps}};")

# Whoever names some members gets the defaults of all others, without a warning for those.
string(APPEND good [[
void name_some_members() {
  GraphOptions{.threads = 2}; ParameterGroup{.rate = 0.5f}; CyclicalRate{.rate_max = 0.2f};
  serve::Options{.port = 80}; nn::TextLimits{}; nn::TreebankOptions{.label_count = 8};
  nn::TabSeparatedOptions{.has_header = true}; nn::LabelledTextColumns{.text = 2}; nn::LabelledText{.text = "a"};
  nn::TextPair{.first = "a"}; nn::TaggedSentence{.words = {}}; nn::ConlluColumns{.form = "a"};
  nn::ConlluMultiword{.first = 1}; nn::ConlluEmptyNode{.after = 1}; nn::ConlluSentence{.words = {}};
  nn::Splits<int>{.train = {}}; nn::LayerOptions{.name = "a"}; nn::StackOptions{.layers = 2};
  nn::LinearOptions{.bias = false}; nn::EmbeddingOptions{.name = "a"}; nn::HighwayOptions{.layers = 2};
  nn::MLPOptions{.dropout = 0.1f}; nn::CharacterCNNOptions{.filters = {}}; nn::CharacterLSTMOptions{.hidden = 2};
  nn::NaryTreeLSTMOptions{.children = 2}; nn::AdditiveAttentionOptions{.hidden = 2};
  nn::CopyOutputOptions{.means = 2}; nn::MultiHeadAttentionOptions{.heads = 2};
  nn::SemiMarkovCRFOptions{.max_length = 2}; nn::TransformerOptions{.causal = true}; nn::CharacterFilters{.width = 2};
  nn::SearchOptions{.beam = 2}; nn::ListOpsFileOptions{.max_depth = 9}; nn::CtcLabels{.log_probability = 1};
  nn::LabelledSpan{.end = 1}; nn::TransitionSystem{.labels = 2}; nn::TransitionStep{.kind = nn::TransitionKind::left};
  nn::TransitionStep::LabelledArc{.head = 1}; nn::Arc{.head = 1}; nn::TypedSpan{.begin = 1};
  nn::TrainingOptions{.epochs = 1}; nn::GroupsFrom{.epoch = 2}; nn::ConstantRate{}; nn::CosineRate{.peak = 1};
  nn::Plateau{.patience = 1};
}
]])
file(WRITE ${WORK}/good.cpp "${good}")
execute_process(COMMAND ${compile} -fsyntax-only -Wall -Wextra -Werror -Wno-unused -include ${headers}
                ${WORK}/good.cpp RESULT_VARIABLE got ERROR_VARIABLE errors OUTPUT_QUIET)
if(NOT got EQUAL 0)
  message(FATAL_ERROR "need programs that compile without warnings; got\n${errors}")
endif()
