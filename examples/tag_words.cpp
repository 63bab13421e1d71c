// Tags words with their parts of speech: a bidirectional LSTM reads the sentence.
//   tag_words [FILE.conllu]    the last tenth of the sentences is for testing
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_conllu_tags(argc > 1 ? argv[1] : "examples/data/sentences.conllu");
  const auto [train, test] = nn::split(data, 0.9);
  const auto words = nn::vocabulary_of(train, &nn::TaggedSentence::words, "<unknown>");
  const auto tags = nn::vocabulary_of(train, &nn::TaggedSentence::tags);

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::Linear output(model, encoder.outputs(), tags.size());
  // A column of scores for every word.
  const auto scores = [&](ComputationGraph& graph, const nn::TaggedSentence& sentence) {
    const auto ids = nn::drop_words(graph, words.ids(sentence.words), *words.unknown(), 0.1f);
    return output(encoder(embedding.columns(graph, ids)));
  };

  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, const nn::TaggedSentence& sentence) {
    return cross_entropy(scores(graph, sentence), tags.ids(sentence.tags));
  };
  nn::train(trainer, train, loss, {.epochs = 10, .batch_size = 16});

  const auto found = nn::predict(test, [&](ComputationGraph& graph, const auto& sentence) {
    return tags.words(argmax_of_columns(scores(graph, sentence).value()));
  });
  nn::Accuracy accuracy;
  for (std::size_t i = 0; i < test.size(); ++i)
    for (std::size_t k = 0; k < found[i].size(); ++k) {
      std::printf("%s\t%s\n", test[i].words[k].c_str(), found[i][k].c_str());
      accuracy.add(found[i][k] == test[i].tags[k]);
    }
  std::printf("%.1f %% of %zu words are right\n", 100 * accuracy.value(), accuracy.count());
}
