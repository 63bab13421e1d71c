// Says how positive every part of a sentence is: a Tree-LSTM (Tai et al. 2015) reads its tree.
//   classify_trees [FILE]    trees in brackets, as of the Stanford Sentiment Treebank
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto trees = nn::read_treebank(argc > 1 ? argv[1] : "examples/data/sentiment.txt");
  const std::size_t train = trees.size() * 9 / 10;
  const nn::Vocabulary words = nn::vocabulary_of(std::span(trees).first(train));

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::TreeLSTM tree_lstm(model, 32, 64);
  const nn::Linear output(model, 64, 5);
  // The scores of five labels, a column for every node.
  const auto scores = [&](ComputationGraph& graph, const nn::Tree& tree) {
    const auto states = tree_lstm(tree, embedding.columns(graph, words.ids(tree.words())));
    return output(states.all().h);
  };
  const auto labels_of = [](const nn::Tree& tree) {
    std::vector<unsigned> labels;
    for (unsigned node = 0; node < tree.size(); ++node) labels.push_back(tree.label(node));
    return labels;
  };

  AdamTrainer trainer(model, 0.01f);
  nn::TrainingRun run(model, trainer, {.epochs = 10, .batch_size = 16});
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(batch, train)) {
      for (const unsigned i : samples) {
        const Expression columns = scores(batch.new_graph(), trees[i]);
        const Expression by_node = reshape(columns, Dim({5}, trees[i].size()));
        batch.add_loss(pickneglogsoftmax(by_node, labels_of(trees[i])));
      }
      run.update(batch);
    }
    run.finish_epoch();
  }

  nn::Accuracy accuracy;
  for (std::size_t i = train; i < trees.size(); ++i) {
    ComputationGraph graph;
    const auto best = argmax_of_columns(scores(graph, trees[i]).value());
    nn::Tree found = trees[i];
    for (unsigned node = 0; node < found.size(); ++node) found.set_label(node, best[node]);
    accuracy.add(best.back() == labels_of(trees[i]).back());
    std::printf("%s\n", nn::to_string(found).c_str());
  }
  std::printf("%.1f %% of %zu sentences are right\n", 100 * accuracy.value(), accuracy.count());
}
