// Classifies texts: attention finds the words that count, and their mean tells the class.
//   classify_texts [FILE]    lines "label TAB text"
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_labelled_texts(argc > 1 ? argv[1] : "examples/data/reviews.tsv");
  const std::size_t train = data.size() * 9 / 10;
  nn::Vocabulary words, labels;
  words.set_unknown("<unknown>");
  for (std::size_t i = 0; i < data.size(); ++i) {
    labels.add(data[i].label);
    if (i < train) words.add_all(nn::split_line(data[i].text, nn::TextUnit::word));
  }

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const Parameter query = model.add_parameters({64});
  const nn::BilinearAttention attention(model, 64, 64);
  const nn::Linear output(model, 64, labels.size());
  const auto scores = [&](ComputationGraph& graph, const std::string& text) {
    const auto ids = words.ids(nn::split_line(text, nn::TextUnit::word));
    const nn::AttentionMemory memory = attention.read(encoder(embedding.columns(graph, ids)));
    return output(attention(memory, parameter(graph, query)));
  };

  AdamTrainer trainer(model, 0.01f);
  nn::TrainingRun run(model, trainer, {.epochs = 15, .batch_size = 16});
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(batch, train)) {
      for (const unsigned i : samples) {
        const Expression x = scores(batch.new_graph(), data[i].text);
        batch.add_loss(pickneglogsoftmax(x, labels.id(data[i].label)));
      }
      run.update(batch);
    }
    run.finish_epoch();
  }

  nn::Accuracy accuracy;
  for (std::size_t i = train; i < data.size(); ++i) {
    ComputationGraph graph;
    const std::string& found = labels.word(argmax(scores(graph, data[i].text).value()));
    accuracy.add(found == data[i].label);
    std::printf("%s: %s\n", found.c_str(), data[i].text.c_str());
  }
  std::printf("%.1f %% of %zu texts are right\n", 100 * accuracy.value(), accuracy.count());
}
