// Parses sentences decision by decision, and learns from its own (Kiperwasser and Goldberg 2016).
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
  const std::size_t train = data.size() * 9 / 10;
  const auto forms = &nn::ConlluColumns::form;
  nn::Vocabulary words;
  const unsigned root = words.set_unknown("<root>");  // or what is unknown
  for (std::size_t i = 0; i < train; ++i) words.add_all(data[i].column(forms));
  constexpr nn::TransitionSystem system{nn::TransitionSystem::arc_hybrid};

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::MLP mlp(model, 192, {32, system.size()});
  const auto parse = [&](ComputationGraph& graph, unsigned i) {  // heads, and losses of decisions
    std::vector<unsigned> ids = words.ids(data[i].column(forms));
    ids.insert(ids.begin(), root);
    const Expression all = encoder(embedding.columns(graph, ids));
    std::vector<Expression> losses;
    nn::ParserState s(system, data[i].words.size());
    while (s.apply_forced(), !s.is_done()) {
      const Expression three = select_cols(all, {s.stack(1), s.stack(0), s.buffer()});
      const Expression x = mlp(reshape(three, {192}));
      const Tensor scores = x.value();  // waits for the other sentences of a minibatch
      losses.push_back(pickneglogsoftmax(x, argmax(scores, s.judge(data[i].heads()).right)));
      s.apply(argmax(scores, s.allowed()));
    }
    return std::pair{s.heads(), losses};
  };
  AdamTrainer trainer(model, 0.01f);
  nn::TrainingRun run(model, trainer, {.epochs = 15, .batch_size = 16});
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(batch, train)) {
      for (const auto& [heads, losses] : for_each_sample(batch, samples, parse))
        batch.add_losses(losses);
      run.update(batch);
    }
    run.finish_epoch();
  }
  nn::AttachmentScores scores;
  for (std::size_t i = train; i < data.size(); ++i) {
    ComputationGraph graph;
    nn::ConlluSentence found = data[i];
    found.set_heads(parse(graph, i).first);
    std::printf("%s", nn::to_conllu(std::span(&found, 1)).c_str());
    scores.add(data[i], found);
  }
  std::printf("UAS %.1f %% of %zu words\n", 100 * scores.unlabelled(), scores.words());
}
