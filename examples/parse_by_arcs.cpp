// Parses sentences: scores every arc, and finds the best tree (Dozat and Manning 2017).
//   parse_by_arcs [FILE.conllu]    the last tenth of the sentences is for testing
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_conllu(argc > 1 ? argv[1] : "examples/data/sentences.conllu");
  const auto [train, test] = nn::split(data, 0.9);
  const auto words = nn::vocabulary_of(train, &nn::ConlluSentence::forms, "<root>");  // or unknown

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::MLP head(model, encoder.outputs(), {32, 32});
  const nn::MLP dependant(model, encoder.outputs(), {32, 32});
  const nn::BiaffineArcs arcs(model, 32);
  // The scores of all arcs: a row for the root and every head, a column for every dependant.
  const auto scores = [&](ComputationGraph& graph, const nn::ConlluSentence& sentence) {
    std::vector<unsigned> ids = words.ids(sentence.forms());
    ids.insert(ids.begin(), *words.unknown());
    const Expression x = encoder(embedding.columns(graph, ids));
    return arcs(head(x), dependant(pick_range(x, 1, ids.size(), 1)));
  };

  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, const nn::ConlluSentence& sentence) {
    return cross_entropy(scores(graph, sentence), sentence.heads());
  };
  nn::train(trainer, train, loss, {.epochs = 15, .batch_size = 16});

  auto found = nn::predict(test, [&](ComputationGraph& graph, nn::ConlluSentence sentence) {
    sentence.set_heads(nn::chu_liu_edmonds(scores(graph, sentence).value()));
    return sentence;
  });
  std::printf("%s", nn::to_conllu(found).c_str());
  const nn::AttachmentScores attachments(test, found);
  std::printf("UAS %.1f %% of %zu words\n", 100 * attachments.unlabelled(), attachments.words());
}
