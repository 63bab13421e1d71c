// Parses by transitions; training follows the model's decisions (Kiperwasser and Goldberg 2016).
//   parse_by_transitions [FILE.conllu]    the last tenth of the sentences is for testing
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  auto data = nn::read_conllu(argc > 1 ? argv[1] : "examples/data/sentences.conllu");
  std::erase_if(data, [](auto& s) { return !nn::TransitionSystem::can_make(s.heads()); });
  const auto [train, test] = nn::split(data, 0.9);
  const auto words = nn::vocabulary_of(train, &nn::ConlluSentence::forms, "<root>");  // or unknown
  constexpr nn::TransitionSystem system{nn::TransitionSystem::arc_hybrid};
  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::MLP mlp(model, 192, {32, system.size()});
  const auto parse = [&](ComputationGraph& graph, nn::ConlluSentence sentence) {
    std::vector<unsigned> ids = words.ids(sentence.forms());
    ids.insert(ids.begin(), *words.unknown());
    const Expression h = encoder(embedding.columns(graph, ids));
    std::vector<Expression> losses;
    nn::ParserState s(system, sentence.words.size());
    while (s.apply_forced(), !s.is_done()) {
      const auto x = mlp(reshape(select_cols(h, {s.stack(1), s.stack(0), s.buffer()}), {192}));
      const Tensor scores = x.value();  // waits for the other sentences of a minibatch
      losses.push_back(cross_entropy(x, argmax(scores, s.judge(sentence.heads()).right)));
      s.apply(argmax(scores, s.allowed()));
    }
    sentence.set_heads(s.heads());  // the predicted ones
    return std::pair{sentence, losses};
  };
  AdamTrainer trainer(model, 0.01f);
  const auto losses = [&](auto& graph, auto& sentence) { return parse(graph, sentence).second; };
  nn::train(trainer, train, losses, {.epochs = 15, .batch_size = 16});
  const auto found = nn::predict(test, [&](auto& g, auto& s) { return parse(g, s).first; });
  std::printf("%s", nn::to_conllu(found).c_str());
  const nn::AttachmentScores scores(test, found);
  std::printf("UAS %.1f %% of %zu words\n", 100 * scores.unlabelled(), scores.words());
}
