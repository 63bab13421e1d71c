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
  const std::size_t train = data.size() * 9 / 10;
  nn::Vocabulary words, tags;
  const unsigned unknown = words.set_unknown("<unknown>");
  for (const nn::TaggedSentence& sentence : std::span(data).first(train)) {
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
  nn::TrainingRun run(model, trainer, {.epochs = 10, .batch_size = 16});
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(train)) {
      batch.clear();
      for (const unsigned i : samples) {
        std::vector<unsigned> ids = words.ids(data[i].words);
        for (unsigned& id : ids)
          id = run.random().below(10) == 0 ? unknown : id;       // to know what to do
        const Dim by_word({tags.size()}, data[i].words.size());  // each is a minibatch element
        const Expression x = reshape(scores(batch.new_graph(), ids), by_word);
        batch.add_loss(cross_entropy(x, tags.ids(data[i].tags)));
      }
      run.update(batch);
    }
    run.finish_epoch();
  }

  nn::Accuracy accuracy;
  for (std::size_t i = train; i < data.size(); ++i) {
    ComputationGraph graph;
    const auto found = argmax_of_columns(scores(graph, words.ids(data[i].words)).value());
    for (std::size_t k = 0; k < found.size(); ++k) {
      std::printf("%s\t%s\n", data[i].words[k].c_str(), tags.word(found[k]).c_str());
      accuracy.add(tags.word(found[k]) == data[i].tags[k]);
    }
  }
  std::printf("%.1f %% of %zu words are right\n", 100 * accuracy.value(), accuracy.count());
}
