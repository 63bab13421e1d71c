// Indices that are negative numbers of the caller's: the message shows the number that he wrote.
#include "nn/data/vocabulary.h"
#include "nn/evaluate/metrics.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

TEST(NegativeIndices, AreShownAsTheyWereWritten) {
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(3, {4});
  const LinearChainCRF crf(model, 3);
  const CharacterCNN cnn(model, 8, 3, {.filters = {{2, 4}}});
  const LearnedPositions positions(model, 5, 4);
  Minibatch batch;
  ComputationGraph& graph = batch.new_graph();
  const Expression x = input(graph, {4, 2}, std::vector<float>(8)), column = pick(x, 0u, 1);
  const int minus = -1;
  const auto none = static_cast<unsigned>(minus);
  Vocabulary words;
  words.add("a");
  ClassScores classes(3);

  const std::map<std::string, std::function<void()>> calls = {
      {"lookup", [&] { lookup(graph, table, minus); }},
      {"lookup of several",
       [&] {
         lookup(graph, table, std::vector<unsigned>{0, none});
       }},
      {"values of a row", [&] { table.values(minus); }},
      {"pick", [&] { pick(x, minus); }},
      {"pick of several",
       [&] {
         pick(x, std::vector<unsigned>{0, none});
       }},
      {"pick_range", [&] { pick_range(x, minus, none + 1); }},
      {"pick_batch_elem", [&] { pick_batch_elem(x, minus); }},
      {"pick_batch_elems", [&] { pick_batch_elems(x, std::vector<unsigned>{none}); }},
      {"select_rows", [&] { select_rows(x, std::vector<unsigned>{none}); }},
      {"one_hot", [&] { one_hot(graph, 3, minus); }},
      {"input of some", [&] { input(graph, {3}, std::vector<unsigned>{none}, {1.0f}); }},
      {"cross_entropy", [&] { cross_entropy(column, minus); }},
      {"hinge", [&] { hinge(column, minus); }},
      {"log_softmax", [&] { log_softmax(column, std::vector<unsigned>{none}); }},
      {"batch_elem", [&] { x.value().batch_elem(minus); }},
      {"graph of a minibatch", [&] { batch.graph(static_cast<std::size_t>(minus)); }},
      {"masked", [&] { masked(column, {none}); }},
      {"tags", [&] { crf.loss(pick_range(column, 0, 3), std::vector<unsigned>{none}); }},
      {"characters", [&] { cnn(graph, {none}); }},
      {"positions", [&] { positions(x, minus); }},
      {"words", [&] { words.word(minus); }},
      {"classes", [&] { classes.add(static_cast<std::size_t>(minus), 0); }},
  };
  for (const auto& [name, call] : calls) {
    const std::string message = message_of<std::invalid_argument>(call);
    EXPECT_NE(message.find("which is -1 without its sign"), std::string::npos)
        << name << ": " << message;
  }
}

}  // namespace
}  // namespace dynet_like::nn
