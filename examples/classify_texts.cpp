// Classifies texts: attention weights the words, and their mean gives the class.
//   classify_texts [FILE]    lines "label TAB text"; the last tenth is for testing
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_labelled_texts(argc > 1 ? argv[1] : "examples/data/reviews.tsv");
  const auto [train, test] = nn::split(data, 0.9);
  const auto split = [](const auto& text) { return nn::split_line(text, nn::TextUnit::word); };
  nn::Vocabulary words, labels;
  words.set_unknown("<unknown>");
  for (const nn::LabelledText& each : train) words.add_all(split(each.text));
  for (const nn::LabelledText& each : data) labels.add(each.label);

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const Parameter query = model.add_parameters({64});
  const nn::BilinearAttention attention(model, 64, 64);
  const nn::Linear output(model, 64, labels.size());
  const auto scores = [&](ComputationGraph& graph, const nn::LabelledText& each) {
    const Expression columns = embedding.columns(graph, words.ids(split(each.text)));
    return output(attention(attention.read(encoder(columns)), query));
  };

  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, const nn::LabelledText& each) {
    return cross_entropy(scores(graph, each), labels.id(each.label));
  };
  nn::train(model, trainer, train, loss, {.epochs = 15, .batch_size = 16});

  const auto found = nn::predict(test, [&](ComputationGraph& graph, const auto& each) {
    return labels.word(argmax(scores(graph, each).value()));
  });
  nn::Accuracy accuracy;
  for (std::size_t i = 0; i < test.size(); ++i) {
    std::printf("%s: %s\n", found[i].c_str(), test[i].text.c_str());
    accuracy.add(found[i] == test[i].label);
  }
  std::printf("%.1f %% of %zu texts are right\n", 100 * accuracy.value(), accuracy.count());
}
