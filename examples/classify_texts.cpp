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
  const auto words_of = [](const nn::LabelledText& each) { return nn::split_line(each.text); };
  const auto words = nn::vocabulary_of(train, words_of, "<unknown>");
  const auto labels = nn::vocabulary_of(data, &nn::LabelledText::label);

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const Parameter query = model.add_parameters({encoder.outputs()});  // what matters in a text?
  const nn::Linear output(model, encoder.outputs(), labels.size());
  const auto scores = [&](ComputationGraph& graph, const nn::LabelledText& each) {
    const Expression x = encoder(embedding.columns(graph, words.ids(words_of(each))));
    return output(attention(query, x, x));
  };

  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, const nn::LabelledText& each) {
    return cross_entropy(scores(graph, each), labels.id(each.label));
  };
  nn::train(trainer, train, loss, {.epochs = 15, .batch_size = 16});

  const auto found = nn::predict(test, [&](ComputationGraph& graph, const auto& each) {
    return labels.word(argmax(scores(graph, each).value()));
  });
  for (std::size_t i = 0; i < test.size(); ++i)
    std::printf("%s: %s\n", found[i].c_str(), test[i].text.c_str());
  const double right = nn::accuracy(found, test, &nn::LabelledText::label);
  std::printf("%.1f %% of %zu texts are right\n", 100 * right, test.size());
}
