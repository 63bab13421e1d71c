// Translates: a decoder looks at what an encoder has read, and writes it (Luong et al. 2015).
//   translate [FILE]    lines "text TAB translation"; the last tenth is for testing
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_text_pairs(argc > 1 ? argv[1] : "examples/data/numbers.tsv");
  const std::size_t train = data.size() * 9 / 10;
  const auto split = [](const auto& text) { return nn::split_line(text, nn::TextUnit::word); };
  nn::Vocabulary words;  // of both languages
  const unsigned end = words.set_unknown("<end>");
  for (const auto& pair : data) words.add_all(split(pair.first + ' ' + pair.second));

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::LSTM decoder(model, 32, 64, "decoder");
  const nn::BilinearAttention attend(model, 64, 64);
  const nn::MLP mlp(model, 128, {64, words.size()});
  const auto steps_of = [&](ComputationGraph& graph, const std::string& text) {
    const auto seen = attend.read(encoder(embedding.columns(graph, words.ids(split(text)))));
    const auto scores = [&, seen](auto& s) { return mlp(concatenate({attend(seen, s.h), s.h})); };
    const auto advance = [&](auto& s, auto w) { return decoder.step(s, embedding(graph, w)); };
    return nn::Steps<nn::LSTM::State>{.scores = scores, .advance = advance};
  };

  AdamTrainer trainer(model, 0.01f);
  nn::TrainingRun run(model, trainer, {.epochs = 20, .batch_size = 16});
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(batch, train)) {
      for (const unsigned i : samples) {
        ComputationGraph& graph = batch.new_graph();
        const auto steps = steps_of(graph, data[i].first);
        nn::LSTM::State state = decoder.start(graph);
        for (const unsigned word : words.ids(split(data[i].second + " <end>"))) {
          batch.add_loss(pickneglogsoftmax(steps.scores(state), word));
          state = steps.advance(state, word);
        }
      }
      run.update(batch);
    }
    run.finish_epoch();
  }
  nn::Accuracy accuracy;
  for (std::size_t i = train; i < data.size(); ++i) {
    ComputationGraph graph;
    const auto steps = steps_of(graph, data[i].first);
    const auto found = nn::greedy(decoder.start(graph), steps, {.end = end, .max_length = 50});
    const std::string text = nn::join_units(words, found.actions, nn::TextUnit::word);
    std::printf("%s: %s\n", data[i].first.c_str(), text.c_str());
    accuracy.add(text == data[i].second);
  }
  std::printf("%.1f %% of %zu texts are right\n", 100 * accuracy.value(), accuracy.count());
}
