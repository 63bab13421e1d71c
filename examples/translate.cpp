// Translates: a decoder attends to the states of an encoder (Luong et al. 2015).
//   translate [FILE]    lines "text TAB translation"; the last tenth is for testing
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_text_pairs(argc > 1 ? argv[1] : "examples/data/numbers.tsv");
  const auto [train, test] = nn::split(data, 0.9);
  nn::Vocabulary words;  // of both languages
  const unsigned end = words.set_unknown("<end>");
  for (const auto& pair : data) words.add_all(nn::split_line(pair.first + ' ' + pair.second));
  ParameterCollection model(1);
  const nn::Embedding vectors(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::LSTM decoder(model, 32, 64, {.name = "decoder"});
  const nn::BilinearAttention attend(model, 64, 64);
  const nn::MLP mlp(model, 128, {64, words.size()});
  const auto steps_of = [&](ComputationGraph& graph, const std::string& text) {
    const auto seen = attend.read(encoder(vectors.columns(graph, words.ids(nn::split_line(text)))));
    const auto scores = [&, seen](auto& s) { return mlp(concatenate({attend(seen, s.h), s.h})); };
    const auto advance = [&](auto& s, auto w) { return decoder.step(s, vectors[w]); };
    return nn::Steps<nn::LSTM::State>{.scores = scores, .advance = advance};
  };
  AdamTrainer trainer(model, 0.01f);
  const auto losses = [&](ComputationGraph& graph, const nn::TextPair& pair) {
    const auto right = words.ids(nn::split_line(pair.second + " <end>"));
    return nn::losses(decoder.start(graph), steps_of(graph, pair.first), right);
  };
  nn::train(trainer, train, losses, {.epochs = 20, .batch_size = 16});
  const auto found = nn::predict(test, [&](ComputationGraph& graph, const nn::TextPair& pair) {
    const auto best = nn::greedy(decoder.start(graph), steps_of(graph, pair.first), {.end = end});
    return nn::join_units(words, best.actions);
  });
  for (std::size_t i = 0; i < test.size(); ++i)
    std::printf("%s: %s\n", test[i].first.c_str(), found[i].c_str());
  const double right = nn::accuracy(found, test, &nn::TextPair::second);
  std::printf("%.1f %% of %zu texts are right\n", 100 * right, test.size());
}
