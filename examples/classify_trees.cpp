// Finds how positive every part of a sentence is: a Tree-LSTM (Tai et al. 2015) reads its tree.
//   classify_trees [FILE]    trees in brackets, as of the Stanford Sentiment Treebank
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto trees = nn::read_treebank(argc > 1 ? argv[1] : "examples/data/sentiment.txt");
  const auto [train, test] = nn::split(trees, 0.9);
  const nn::Vocabulary words = nn::vocabulary_of(train);

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::TreeLSTM tree_lstm(model, 32, 64);
  const nn::Linear output(model, 64, 5);
  // The scores of five labels, a column for every node.
  const auto scores = [&](ComputationGraph& graph, const nn::Tree& tree) {
    const auto states = tree_lstm(tree, embedding.columns(graph, words.ids(tree.words())));
    return output(states.all().h);
  };

  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, const nn::Tree& tree) {
    return cross_entropy(scores(graph, tree), tree.labels());
  };
  nn::train(trainer, train, loss, {.epochs = 10, .batch_size = 16});

  const auto found = nn::predict(test, [&](ComputationGraph& graph, const nn::Tree& tree) {
    return argmax_of_columns(scores(graph, tree).value());
  });
  nn::Accuracy accuracy;
  for (std::size_t i = 0; i < test.size(); ++i) {
    nn::Tree tree = test[i];
    for (unsigned node = 0; node < tree.size(); ++node) tree.set_label(node, found[i][node]);
    std::printf("%s\n", nn::to_string(tree).c_str());
    accuracy.add(tree.label(tree.root()) == test[i].label(tree.root()));
  }
  std::printf("%.1f %% of %zu sentences are right\n", 100 * accuracy.value(), accuracy.count());
}
