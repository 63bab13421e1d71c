// Classifies texts. A network reads each word with its two neighbours, and attention decides which
// of these windows matter for the class. Texts of any length share batches. With two threads:
//   text_classifier     opinions such as "word3 not good word8 bad": 99.8 % of dev; 3 seconds
//   text_classifier --train train.tsv --dev dev.tsv        78.4 % of dev; 4 seconds
// These files are the sentences of the Stanford Sentiment Treebank that are not neutral, 6,920 for
// training and 872 for dev; labels of parts of sentences are not used (docs/data.md has --vectors):
//   for part in train dev; do sed -E '
//     s/^\(([0-4]) /\1\t/; s/\([0-4] //g; s/\)//g
//     /^2/d; s/^[01]/negative/; s/^[34]/positive/' ../shared/data/sst/$part.txt > $part.tsv; done
#include "examples/full/support/encoder.h"
#include "examples/full/support/generated.h"
#include "examples/full/support/program.h"
#include "examples/full/support/word_vectors.h"
#include "nn/data/text.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;
using Text = nn::LabelledText;
using Texts = std::vector<Text>;

void add_options(OptionTable& table) {
  table.files("texts");
  table.whole("train-texts", {1, 1e7}, "8000", kNever, "size of the generated training data");
  table.whole("min-count", {1, 1e6}, "2", "words that occur fewer than N times are unknown");
  table.whole("embedding", {1, 4096}, "64", "size of a word's vector");
  table.whole("hidden", {1, 4096}, "128", "size of a window's vector");
  table.whole("heads", {1, 64}, "4", "attention heads");
  table.real("dropout", {0, 0.95}, "0.4", "dropout rate of words and texts");
  add_vector_options(table);
  add_encoder_options(table);
}

const Program kProgram = {"text_classifier",
                          "Classifies texts. A line is \"label TAB text\". --apply reads texts, "
                          "one per line, and writes each\n"
                          "with its label and a tab in front.\n",
                          add_options,
                          {{"10", "10"}, {"32", "32"}, {"0.003", "0.003"}}};

nn::Splits<Text> load(const Options& options) {
  const auto read = [](const std::string& file) { return nn::read_labelled_texts(file); };
  if (auto data = read_splits<Text>(options, read)) return *data;
  const auto make = [&](auto n, int part) { return generated_opinions(n, options.seed() + part); };
  return {make(options.whole("train-texts"), 0), make(500, 1), {}};
}

const std::string kEdge = "<edge>";
struct Vocabularies {
  nn::Vocabulary words, labels;
};

Vocabularies vocabularies_of(const Texts& texts, const Options& options) {
  const auto words_of = [](const Text& each) { return nn::split_line(each.text); };
  Vocabularies v = {known_words(texts, words_of, options), nn::vocabulary_of(texts, &Text::label)};
  v.words.add(kEdge);
  return v;
}

/// Windows of three words, their mean by attention, and a linear classifier.
struct Model {
  ParameterCollection& parameters;
  const Options& options;
  Vocabularies v;
  std::optional<nn::TextEncoder> encoder;
  unsigned size = options.whole("embedding"), hidden = options.whole("hidden");
  nn::Embedding embedding{parameters, v.words.size(), size};
  nn::Linear before{parameters, size, hidden, {.bias = false, .name = "before"}};
  nn::Linear here{parameters, size, hidden, {.name = "here"}};
  nn::Linear behind{parameters, size, hidden, {.bias = false, .name = "behind"}};
  Parameter query = parameters.add_parameters({hidden}, "query");  ///< tells which windows matter
  nn::Linear output{parameters, hidden + size_of(encoder), v.labels.size()};
  float rate = options.real("dropout");

  /// The scores of the classes.
  Expression scores(ComputationGraph& graph, const std::string& text) const {
    std::vector<std::string> words = nn::split_line(text);
    if (words.empty()) words.push_back("<unknown>");
    words.insert(words.begin(), kEdge);
    words.push_back(kEdge);
    // A column per word.
    const Expression x = dropout(embedding.columns(graph, v.words.ids(words)), rate);
    const unsigned end = x.dim().cols();
    const Expression windows =
        relu(before(pick_range(x, 0, end - 2, 1)) + here(pick_range(x, 1, end - 1, 1)) +
             behind(pick_range(x, 2, end, 1)));
    Expression read = attention(query, windows, windows, {.heads = options.whole("heads")});
    if (encoder) read = concatenate({read, encoder->text(graph, text)});
    return output(dropout(read, rate));
  }
  Expression loss(ComputationGraph& graph, const Text& sample) const {
    return cross_entropy(scores(graph, sample.text), v.labels.id(sample.label));
  }
  /// The best label of every text.
  std::vector<std::string> labels(const Texts& texts) const {
    const auto label = [&](ComputationGraph& graph, const Text& sample) {
      return v.labels.word(argmax_of_columns(scores(graph, sample.text).value()).front());
    };
    return nn::predict(texts, label, {.graph = options.graph()});
  }
};

int train(const Options& options) {
  const nn::Splits<Text> data = load(options);
  ParameterCollection parameters(options.seed());
  const auto encoder = load_encoder(options, parameters);
  const Model model{parameters, options, vocabularies_of(data.train, options), encoder};
  AdamWTrainer trainer(parameters);
  load_vectors(options, model.v.words, model.embedding, trainer);
  nn::TrainingOptions training = options.training("texts", "accuracy");
  training.schedule.rate = nn::CosineRate{.peak = options.real("learning-rate"),
                                          .updates = training.updates(data.train.size())};
  training.files.texts = {{"words", model.v.words.to_text()}, {"labels", model.v.labels.to_text()}};
  tune(encoder, options, data.train.size(), trainer, training);
  training.stopping.dev_score = [&] {
    return nn::accuracy(model.labels(data.dev), data.dev, &Text::label);
  };
  begin_training(options, parameters, data);
  const auto loss = [&](auto& graph, const Text& sample) { return model.loss(graph, sample); };
  const auto progress = nn::train(trainer, data.train, loss, training);
  if (progress.interrupted) return stopped();
  nlohmann::json report = measure_batching(options, progress, data.train, "texts_per_s", loss);
  report["dev_accuracy"] = progress.best_score;
  if (!data.test.empty())
    report_test(report, nn::accuracy(model.labels(data.test), data.test, &Text::label));
  return finish(options, training, progress, report);
}

int apply(Options& options) {
  const nn::SavedModel saved = options.load_model();
  ParameterCollection parameters;
  const Model model{parameters,
                    options,
                    {saved.vocabulary("words"), saved.vocabulary("labels")},
                    saved_encoder(options, saved, parameters)};
  saved.load(parameters);
  const auto parse = [](const auto& line, auto) { return Text{"", line}; };
  const auto label = [&](const Texts& texts) { return model.labels(texts); };
  return label_lines(parse, label, BlankLines::label);
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }
