// Models language: an LSTM predicts every character of a text from the characters before
// it, and then writes a text.
//   model_language [FILE]    any text
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const nn::Text text = nn::read_text(argc > 1 ? argv[1] : "LICENSE", nn::TextUnit::character);
  const unsigned characters = text.vocabulary.size(), length = 64;  // of a sample

  ParameterCollection model(1);
  const nn::Embedding embedding(model, characters, 32);
  const nn::LSTM lstm(model, 32, 128);
  const nn::Linear output(model, 128, characters);

  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, std::size_t sample) {
    const auto begin = text.units.begin() + sample * length;
    const std::vector<unsigned> read(begin, begin + length), next(begin + 1, begin + length + 1);
    return cross_entropy(output(lstm(embedding.columns(graph, read)).all().h), next);
  };
  const std::size_t samples = (text.units.size() - 1) / length;
  nn::train(trainer, samples, loss, {.epochs = 15, .batch_size = 16});

  ComputationGraph graph({.inference = true});
  const nn::Steps<nn::LSTM::State> steps = {
      .scores = [&](const auto& state) { return output(state.h); },
      .advance = [&](const auto& state,
                     unsigned unit) { return lstm.step(state, embedding(graph, unit)); }};
  const std::string beginning = "The ";
  nn::LSTM::State state = lstm.start(graph);
  for (const char c : beginning) state = steps.advance(state, text.vocabulary.id({&c, 1}));
  Random random(1);
  const auto units =
      nn::sample(state, steps, random, {.max_length = 200, .temperature = 0.5f}).actions;
  const std::string more = nn::join_units(text.vocabulary, units, nn::TextUnit::character);
  std::printf("%s%s\n", beginning.c_str(), more.c_str());
}
