// Tags words with their parts of speech: LSTMs from both ends read the sentence.
//   tag_words [FILE.conllu]    the last tenth of the sentences is for testing
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_conllu_tags(argc > 1 ? argv[1] : "examples/data/sentences.conllu");
  const std::size_t count = data.size() * 9 / 10;
  const auto train = std::span(data).first(count), test = std::span(data).subspan(count);
  nn::Vocabulary words, tags;
  const unsigned unknown = words.set_unknown("<unknown>");
  for (const nn::TaggedSentence& sentence : train) {
    words.add_all(sentence.words);
    tags.add_all(sentence.tags);
  }

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::Linear output(model, 64, tags.size());
  // A column of scores for every word.
  const auto scores = [&](ComputationGraph& graph, const std::vector<unsigned>& sentence) {
    return output(encoder(embedding.columns(graph, sentence)));
  };

  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, const nn::TaggedSentence& sentence) {
    std::vector<unsigned> ids = words.ids(sentence.words);
    ids = nn::drop_words(graph, ids, unknown, 0.1f);  // to know what to do
    const Dim by_word({tags.size()}, ids.size());     // each is a minibatch element
    return pickneglogsoftmax(reshape(scores(graph, ids), by_word), tags.ids(sentence.tags));
  };
  nn::train(model, trainer, train, loss, {.epochs = 10, .batch_size = 16});

  const auto best = [&](ComputationGraph& graph, const nn::TaggedSentence& sentence) {
    return argmax_of_columns(scores(graph, words.ids(sentence.words)).value());
  };
  const auto found = nn::predict(test, best);
  nn::Accuracy accuracy;
  for (std::size_t i = 0; i < test.size(); ++i) {
    for (std::size_t k = 0; k < found[i].size(); ++k) {
      std::printf("%s\t%s\n", test[i].words[k].c_str(), tags.word(found[i][k]).c_str());
      accuracy.add(tags.word(found[i][k]) == test[i].tags[k]);
    }
  }
  std::printf("%.1f %% of %zu words are right\n", 100 * accuracy.value(), accuracy.count());
}
