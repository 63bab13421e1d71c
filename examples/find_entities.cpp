// Finds names: LSTMs from both ends read the sentence, and a conditional random field chooses the
// labels of its words together, so that I-PER stands behind B-PER or I-PER only.
//   find_entities [FILE]    lines "word TAB label", and a blank line behind each sentence
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_columns(argc > 1 ? argv[1] : "examples/data/entities.tsv");
  const std::size_t train = data.size() * 9 / 10;
  nn::Vocabulary words, labels;
  const unsigned unknown = words.set_unknown("<unknown>");
  for (const nn::TaggedSentence& sentence : std::span(data).first(train)) {
    words.add_all(sentence.words);
    labels.add_all(sentence.tags);
  }

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::Linear output(model, 64, labels.size());
  const nn::LinearChainCRF crf(model, labels.size());
  // A column of scores for every word.
  const auto emissions = [&](ComputationGraph& graph, const std::vector<unsigned>& sentence) {
    return output(encoder(embedding.columns(graph, sentence)));
  };

  AdamTrainer trainer(model, 0.01f);
  nn::TrainingRun run(model, trainer, {.epochs = 15, .batch_size = 16});
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(batch, train)) {
      for (const unsigned i : samples) {
        std::vector<unsigned> ids = words.ids(data[i].words);
        for (unsigned& id : ids)
          id = run.random().below(10) == 0 ? unknown : id;  // to know what to do
        const Expression x = emissions(batch.new_graph(), ids);
        batch.add_loss(crf.loss(x, labels.ids(data[i].tags)));
      }
      run.update(batch);
    }
    run.finish_epoch();
  }

  nn::SpanScores scores;
  for (std::size_t i = train; i < data.size(); ++i) {
    ComputationGraph graph;
    const Expression best = crf.best(emissions(graph, words.ids(data[i].words)));
    const auto found = labels.words(argmax_of_columns(best.value()));
    for (std::size_t k = 0; k < found.size(); ++k)
      std::printf("%s\t%s\n", data[i].words[k].c_str(), found[k].c_str());
    scores.add(data[i].tags, found);
  }
  std::printf("F1 of names: %.1f %%\n", 100 * scores.f1());
}
