// Parses sentences: every word chooses its head, and the best tree counts (Dozat and Manning 2017).
//   parse_by_arcs [FILE.conllu]    the last tenth of the sentences is for testing
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_conllu(argc > 1 ? argv[1] : "examples/data/sentences.conllu");
  const std::size_t train = data.size() * 9 / 10;
  const auto forms = &nn::ConlluColumns::form;
  nn::Vocabulary words;
  const unsigned root = words.set_unknown("<root>");  // or what is unknown
  for (std::size_t i = 0; i < train; ++i) words.add_all(data[i].column(forms));

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::MLP head(model, 64, {32, 32}), dependant(model, 64, {32, 32});
  const nn::BiaffineArcs arcs(model, 32);
  // The scores of all arcs: a row for the root and every head, a column for every dependant.
  const auto scores = [&](ComputationGraph& graph, const nn::ConlluSentence& sentence) {
    std::vector<unsigned> ids = words.ids(sentence.column(forms));
    ids.insert(ids.begin(), root);
    const Expression x = encoder(embedding.columns(graph, ids));
    return arcs(head(x), dependant(pick_range(x, 1, ids.size(), 1)));
  };

  AdamTrainer trainer(model, 0.01f);
  nn::TrainingRun run(model, trainer, {.epochs = 15, .batch_size = 16});
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(batch, train)) {
      for (const unsigned i : samples) {
        const unsigned n = data[i].words.size();
        const Expression x = reshape(scores(batch.new_graph(), data[i]), Dim({n + 1}, n));
        batch.add_loss(pickneglogsoftmax(x, data[i].heads()));
      }
      run.update(batch);
    }
    run.finish_epoch();
  }

  nn::AttachmentScores attachments;
  for (const nn::ConlluSentence& gold : std::span(data).subspan(train)) {
    ComputationGraph graph;
    nn::ConlluSentence found = gold;
    found.set_heads(nn::chu_liu_edmonds(scores(graph, gold).value()));
    std::printf("%s", nn::to_conllu(std::span(&found, 1)).c_str());
    attachments.add(gold, found);
  }
  std::printf("UAS %.1f %% of %zu words\n", 100 * attachments.unlabelled(), attachments.words());
}
