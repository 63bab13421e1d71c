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

const Program kProgram = {
    "text_classifier",
    "Classifies texts. A line is \"label TAB text\". --apply reads texts, one per line, and writes "
    "each\n"
    "with its label and a tab in front.\n",
    "with --train",
    [](const Options& options) { return options.has("train"); },
    {{"train", "FILE", "", "", "texts to train on, with --dev"},
     {"dev", "FILE", "", "", "texts to choose the best epoch on"},
     {"test", "FILE", "", "", "texts to test on (optional)"},
     {"train-texts", "N", "8000", kNever, "size of the generated training data", {1, 1e7}},
     {"min-count", "N", "2", "2", "words that occur fewer than N times are unknown", {1, 1e6}},
     {"embedding", "N", "64", "64", "size of a word's vector", {1, 4096}},
     {"hidden", "N", "128", "128", "size of a window's vector", {1, 4096}},
     {"heads", "N", "4", "4", "attention heads", {1, 64}},
     {"dropout", "X", "0.4", "0.4", "dropout rate of words and texts", {0, 0.95}},
     kVectors,
     kVectorsRate,
     kMoreWords,
     kLowerCase,
     kDigits,
     kEncoder,
     kEncoderRate,
     kFrozen,
     kAdapters},
    {{"10", "10"}, {"32", "32"}, {"0.003", "0.003"}}};

nn::Splits<Text> load(const Options& options) {
  const auto read = [](const std::string& file) { return nn::read_labelled_texts(file); };
  if (auto data = read_splits<Text>(options, read)) return *data;
  const auto make = [&](auto n, int part) { return generated_opinions(n, options.seed() + part); };
  return {make(options.whole("train-texts"), 0), make(500, 1), {}};
}

const std::string kEdge = "<edge>", kUnknown = "<unknown>";
struct Vocabularies {
  nn::Vocabulary words, labels;
};

Vocabularies vocabularies_of(const Texts& texts, const Options& options) {
  Vocabularies v = {nn::Vocabulary(normalisation_of(options)), {}};
  v.words.set_unknown(kUnknown);
  for (const auto& [label, text] : texts) {
    v.labels.add(label);
    v.words.add_all(nn::split_line(text, nn::TextUnit::word));
  }
  v.words = known_words(v.words, options);
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
    std::vector<std::string> words = nn::split_line(text, nn::TextUnit::word);
    if (words.empty()) words.push_back(kUnknown);
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
  training.schedule = nn::CosineRate{.peak = options.real("learning-rate"),
                                     .updates = training.updates(data.train.size())};
  training.texts = {{"words", model.v.words.to_text()}, {"labels", model.v.labels.to_text()}};
  tune(encoder, options, data.train.size(), trainer, training);
  training.dev_score = [&] { return accuracy(data.dev, model.labels(data.dev)); };
  begin_training(options, parameters, data);
  const auto loss = [&](auto& graph, const Text& sample) { return model.loss(graph, sample); };
  const auto progress = nn::train(parameters, trainer, data.train, loss, training);
  if (progress.interrupted) return stopped(options);
  nlohmann::json report = measure_batching(options, progress, data.train, "texts_per_s", loss);
  report["dev_accuracy"] = progress.best_score;
  if (!data.test.empty()) report_test(report, accuracy(data.test, model.labels(data.test)));
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
