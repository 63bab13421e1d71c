// Finds names: a bidirectional LSTM reads the sentence, and a conditional random field chooses
// the labels of its words together, so that I-PER only follows B-PER or I-PER.
//   find_entities [FILE]    lines "word TAB label", and a blank line after each sentence
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_columns(argc > 1 ? argv[1] : "examples/data/entities.tsv");
  const auto [train, test] = nn::split(data, 0.9);
  const auto words = nn::vocabulary_of(train, &nn::TaggedSentence::words, "<unknown>");
  const auto labels = nn::vocabulary_of(train, &nn::TaggedSentence::tags);

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::Linear output(model, encoder.outputs(), labels.size());
  const nn::LinearChainCRF crf(model, labels.size());
  // A column of scores for every word.
  const auto emissions = [&](ComputationGraph& graph, const nn::TaggedSentence& sentence) {
    const auto ids = nn::drop_words(graph, words.ids(sentence.words), *words.unknown(), 0.1f);
    return output(encoder(embedding.columns(graph, ids)));
  };

  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, const nn::TaggedSentence& sentence) {
    return crf.loss(emissions(graph, sentence), labels.ids(sentence.tags));
  };
  nn::train(trainer, train, loss, {.epochs = 15, .batch_size = 16});

  const auto found = nn::predict(test, [&](ComputationGraph& graph, const auto& sentence) {
    return labels.words(argmax_of_columns(crf.best(emissions(graph, sentence)).value()));
  });
  nn::SpanScores scores;
  for (std::size_t i = 0; i < test.size(); ++i) scores.add(test[i].tags, found[i]);
  std::printf("F1 of names: %.1f %%\n", 100 * scores.f1());
}
