// Tagger: each word has a vector of its own, and two LSTMs read its characters (Ling et al. 2015);
// bidirectional LSTMs read the sentence. Labels are chosen one by one or, with --crf, as a sequence
// (Lample et al. 2016). Each sentence is recorded separately, with plain loops over its words and
// their characters. Run time of one thread, on a busy machine:
//   tagger
//       parts of speech in generated sentences: all test words; 5 seconds
//   tagger --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu
//       --test en_ewt-ud-test.conllu
//       parts of speech in the English Web Treebank (Universal Dependencies 2.16): 95.0 % of the
//       test words; 3 minutes
//   tagger --train wnut17train.conll --dev emerging.dev.conll --test emerging.test.annotated --crf
//       named entities of WNUT-17 (Derczynski et al. 2017): F1 20.7 % of the test sentences, where
//       most names are new; with pretrained vectors 32.2 % (docs/data.md); 1 to 2 minutes
#include <optional>

#include "examples/full/support/encoder.h"
#include "examples/full/support/program.h"
#include "examples/full/support/tagging.h"
#include "examples/full/support/word_vectors.h"
#include "examples/full/tagger/sentences.h"
#include "nn/data/text.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;

void add_options(OptionTable& table) {
  table.files("sentences");
  table.whole("train-sentences", {1, 1e8}, "1000", "size of the generated training data");
  table.whole("test-sentences", {1, 1e7}, "500",
              "size of the development data and of the test data");
  table.whole("min-count", {1, 1e6}, "2",
              "words that occur fewer than N times are known only by their characters");
  table.whole("embedding", {1, 4096}, "64", "size of a word's vector");
  table.whole("characters", {1, 4096}, "20", "size of a character's vector");
  table.whole("character-hidden", {1, 4096}, "32", "64", "size of an LSTM over characters");
  table.whole("hidden", {1, 4096}, "100", "size of an LSTM over words");
  table.whole("layers", {1, 16}, "1", "layers over the words");
  table.flag("crf", "use a conditional random field over labels, for entities");
  table.real("dropout", {0, 0.95}, "0.4", "dropout rate between layers");
  table.real("word-dropout", {0, 0.95}, "0.1", "0.4",
             "share of words whose vectors training drops, leaving their characters");
  table.real("outside-bias", {-100, 100}, "0", "1",
             "lower the score of O by X, so that more names are found");
  add_vector_options(table);
  add_encoder_options(table);
}

const Program kProgram = {
    "tagger",
    "Labels words. Files named *.conllu have parts of speech (UPOS); others have lines\n"
    "\"word TAB label\". Without files it generates sentences. --apply labels sentences, one per "
    "line.\n",
    add_options,
    {{"10", "20"}, {"32", "10"}, {"0.003", "0.003"}, {"0.8", "0.93"}},
    "with --crf",
    [](const Options& options) { return options.has("crf"); }};

/// Numbers of the words, characters and labels of the training sentences. Rare and new ones are
/// unknown. Words are in lower case; their characters tell the case.
struct Vocabularies {
  nn::Vocabulary words, characters, labels;
};

Vocabularies vocabularies_of(const std::vector<nn::TaggedSentence>& sentences,
                             const Options& options) {
  Vocabularies v;
  v.words = nn::Vocabulary({.lower_case = true, .digits = options.has("digits")});
  for (nn::Vocabulary* some : {&v.words, &v.characters}) some->set_unknown("<unknown>");
  for (const auto& [words, labels] : sentences) {
    v.words.add_all(words);
    for (const std::string& word : words) {
      v.characters.add_all(nn::split_line(word, nn::TextUnit::character));
    }
    v.labels.add_all(labels);
  }
  v.words = known_words(v.words, options);
  return v;
}

struct Model {
  ParameterCollection& parameters;
  const Options& options;
  Vocabularies v;
  std::optional<nn::TextEncoder> encoder;
  unsigned size = options.whole("embedding"), letter_size = options.whole("characters");
  unsigned letter_hidden = options.whole("character-hidden"), hidden = options.whole("hidden");
  nn::Embedding words{parameters, v.words.size(), size, {.name = "words"}};
  nn::Embedding characters{parameters, v.characters.size(), letter_size, {.name = "characters"}};
  unsigned layers = options.whole("layers"),
           word_size = size + 2 * letter_hidden + size_of(encoder);
  float rate = options.real("dropout");
  nn::BidirectionalLSTM spelling{
      parameters, letter_size, letter_hidden, {.name = "character_lstm"}};
  nn::BidirectionalLSTM word_lstm{
      parameters, word_size, hidden, {.layers = layers, .dropout = rate, .name = "word_lstm"}};
  nn::Linear output{parameters, 2 * hidden, v.labels.size(), {.name = "output"}};
  std::optional<nn::LinearChainCRF> crf = new_crf();

  std::optional<nn::LinearChainCRF> new_crf() {
    if (!options.has("crf")) return {};
    return nn::LinearChainCRF(parameters, v.labels.size());
  }
  Expression read_word(ComputationGraph& graph, const std::string& word) const {
    constexpr std::size_t kEnd = 16;  // so many characters at either end of a word are read
    auto text = nn::split_line(word, nn::TextUnit::character);
    if (text.size() > 2 * kEnd) text.erase(text.begin() + kEnd, text.end() - kEnd);
    const Expression letters = characters.columns(graph, v.characters.ids(text));
    const Expression vector = words(graph, v.words.id(word));
    // Drops the whole vector or nothing, so that the model learns to do without it.
    const Expression whole = block_dropout(vector, options.real("word-dropout"));
    return concatenate({whole, spelling.final_states(letters)});
  }
  /// The scores of the labels, a column per word.
  Expression scores(ComputationGraph& graph, const Strings& sentence) const {
    std::vector<Expression> xs;
    for (const std::string& word : sentence) xs.push_back(dropout(read_word(graph, word), rate));
    Expression x = concatenate_cols(xs);
    if (encoder) x = concatenate({x, dropout(encoder->words(graph, sentence), rate)});
    return output(dropout(word_lstm(x), rate));
  }
  /// The sum of the losses of a sentence's words.
  Expression loss(ComputationGraph& graph, const nn::TaggedSentence& sentence) const {
    const Expression all = scores(graph, sentence.words);
    const std::vector<unsigned> labels = v.labels.ids(sentence.tags);
    if (crf) return crf->loss(all, labels);
    return sum_batches(cross_entropy(all, labels));
  }
  /// The labels of the words of every sentence.
  std::vector<Strings> labels(const std::vector<Strings>& sentences) const {
    std::vector<std::uint32_t> sizes;
    for (const Strings& words : sentences) sizes.push_back(words.size());
    std::vector<float> bias(v.labels.size(), 0.0f);
    if (v.labels.contains("O")) bias[v.labels.id("O")] = -options.real("outside-bias");
    const auto best = [&](ComputationGraph& graph, const Strings& words) {
      const Expression b = input(graph, {v.labels.size()}, bias);
      const Expression all = scores(graph, words) + b;
      return v.labels.words(argmax_of_columns((crf ? crf->best(all) : all).value()));
    };
    return nn::predict(sentences, best,
                       {.sizes = sizes, .graph = options.graph(), .ranks = &options.ranks()});
  }
};

int train(const Options& options) {
  const TaggedData data = load_sentences(options);
  ParameterCollection parameters(options.seed());
  const auto encoder = load_encoder(options, parameters);
  const Model model{parameters, options, vocabularies_of(data.train, options), encoder};
  AdamTrainer trainer(parameters);
  load_vectors(options, model.v.words, model.words, trainer);
  nn::TrainingOptions training = options.training("sentences", data.score_name);
  training.sum_losses = true;
  average_last_epoch(trainer, training, data.train.size());
  training.files.texts = {{"words", model.v.words.to_text()},
                          {"characters", model.v.characters.to_text()},
                          {"labels", model.v.labels.to_text()}};
  training.sizes = nn::sizes_of(data.train);
  tune(encoder, options, data.train.size(), trainer, training);
  const auto labels = [&](const auto& sentences) { return model.labels(sentences); };
  training.stopping.dev_score = [&] {
    return data.has_entities() ? span_scores(data.dev, labels).f1()
                               : tag_accuracy(data.dev, labels).value();
  };
  begin_training(options, parameters, data);
  const auto loss = [&](auto& graph, const auto& each) { return model.loss(graph, each); };
  const auto progress = nn::train(trainer, data.train, loss, training);
  if (progress.interrupted) return stopped();
  auto report = measure_batching(options, progress, data.train, "sentences_per_second", loss);
  report["dev_score"] = progress.best_score;
  if (data.has_entities() && !data.test.empty()) {
    const nn::PrecisionRecall test = span_scores(data.test, labels).all();
    fmt::print("test entity_f1: {:.2f} % (precision {:.2f} %, recall {:.2f} %)\n", 100 * test.f1(),
               100 * test.precision(), 100 * test.recall());
    report.update({{"entity_f1", test.f1()},
                   {"entity_precision", test.precision()},
                   {"entity_recall", test.recall()}});
  } else if (!data.test.empty()) {
    report[data.score_name] = tag_accuracy(data.test, labels).value();
    fmt::print("test {}: {:.2f} %\n", data.score_name, 100 * report[data.score_name].get<double>());
  }
  return finish(options, training, progress, report);
}

int apply(Options& options) {
  const nn::SavedModel saved = options.load_model();
  ParameterCollection parameters;
  const auto encoder = saved_encoder(options, saved, parameters);
  const Model model{
      parameters,
      options,
      {saved.vocabulary("words"), saved.vocabulary("characters"), saved.vocabulary("labels")},
      encoder};
  saved.load(parameters);
  return tag_lines([&](const auto& sentences) { return model.labels(sentences); });
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }
