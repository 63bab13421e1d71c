// Tagger: learns to label the words of sentences, batched automatically across the sentences.
//
// Every sentence is recorded by itself, with plain loops over its words and their characters. Words
// are read by a vector of their own and by two LSTMs over their characters (Ling et al. 2015),
// sentences by LSTMs in both directions; labels are chosen one by one or, with --crf, as a sequence
// (Lample et al. 2016). Run time of one thread, beside other work:
//
//   tagger
//       parts of speech in generated sentences: all test words; 5 seconds
//   tagger --data FOLDER
//       parts of speech in the English Web Treebank (Universal Dependencies 2.16): 95.0 % of the
//       test words; 3 minutes
//   tagger --data FOLDER --crf
//       named entities of WNUT-17 (Derczynski et al. 2017): F1 21.1 % on emerging.test.annotated,
//       where most names are new; no vectors from elsewhere; 2.5 minutes
#include <algorithm>
#include <cmath>
#include <optional>

#include "examples/support/program.h"
#include "examples/tagger/sentences.h"
#include "nn/data/text.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;
using Strings = std::vector<std::string>;

const Program kProgram = {
    "tagger",
    "Labels words. It learns parts of speech (UPOS) from a folder with "
    "*-ud-{train,dev,test}.conllu,\n"
    "named entities from wnut17train.conll, emerging.dev.conll and emerging.test.annotated, any\n"
    "labels from three files, in CoNLL-U where they are named so, or else with \"word TAB label\" "
    "in\n"
    "every line, or from sentences that it generates. --apply labels sentences, one per line.\n",
    "with --crf",
    [](const Options& options) { return options.has("crf"); },
    {{"data", "FOLDER", "", "", "train, choose and test on the files in this folder"},
     {"train", "FILE", "", "", "train on this file, with --dev and --test"},
     {"dev", "FILE", "", "", "choose the best epoch on this file"},
     {"test", "FILE", "", "", "test on this file"},
     {"train-sentences", "N", "1000", "1000", "generated sentences to train on", {1, 1e8}},
     {"test-sentences", "N", "500", "500", "those to choose and to test on", {1, 1e7}},
     {"min-count", "N", "2", "2", "words that are rarer have characters only", {1, 1e6}},
     {"embedding", "N", "64", "64", "size of a word's vector", {1, 4096}},
     {"characters", "N", "20", "20", "size of a character's vector", {1, 4096}},
     {"character-hidden", "N", "32", "64", "size of an LSTM over characters", {1, 4096}},
     {"hidden", "N", "100", "100", "size of an LSTM over words", {1, 4096}},
     {"layers", "N", "1", "1", "layers over the words", {1, 16}},
     {"crf", "", "", "", "score sequences of labels, not every label by itself: for entities"},
     {"dropout", "X", "0.4", "0.4", "share of zeros between layers", {0, 0.95}},
     {"word-dropout", "X", "0.1", "0.4", "share of words that have characters only", {0, 0.95}},
     {"outside-bias",
      "X",
      "0",
      "1",
      "lowers O when labels are chosen: more is found",
      {-100, 100}}},
    {{"10", "20"}, {"32", "10"}, {"0.003", "0.003"}, {"0.8", "0.93"}}};

/// In lower case; the characters tell the case. Letters outside ASCII stay as they are.
std::string lower_case(std::string word) {
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

/// Numbers for all that the training sentences contain. Rare words, and what is new later on, are
/// unknown.
struct Vocabularies {
  nn::Vocabulary words, characters, labels;

  Vocabularies(const Sentences& sentences, unsigned min_count) {
    words.set_unknown("<unknown>");
    characters.set_unknown("<unknown>");
    for (const nn::TaggedSentence& sentence : sentences) {
      for (const std::string& word : sentence.words) {
        words.add(lower_case(word));
        for (const auto character : nn::split_line(word, nn::TextUnit::character)) {
          characters.add(character);
        }
      }
      for (const std::string& label : sentence.tags) labels.add(label);
    }
    words = words.trimmed(min_count);
    for (nn::Vocabulary* vocabulary : {&words, &characters, &labels}) vocabulary->freeze();
  }
  explicit Vocabularies(const nn::SavedModel& model)
      : words(model.vocabulary("words")),
        characters(model.vocabulary("characters")),
        labels(model.vocabulary("labels")) {}
};

// --------------------------------------------------------------------------------------------
// model

class Model {
 public:
  Model(ParameterCollection& parameters, const Options& options, Vocabularies vocabularies)
      : vocabularies_(std::move(vocabularies)),
        words_(parameters, vocabularies_.words.size(), options.whole("embedding"), "words"),
        characters_(parameters, vocabularies_.characters.size(), options.whole("characters"),
                    "characters"),
        character_lstm_(parameters, options.whole("characters"), options.whole("character-hidden"),
                        1, 0, "character_lstm"),
        word_lstm_(parameters, options.whole("embedding") + 2 * options.whole("character-hidden"),
                   options.whole("hidden"), options.whole("layers"), options.real("dropout"),
                   "word_lstm"),
        output_(parameters, 2 * options.whole("hidden"), vocabularies_.labels.size(), true,
                "output"),
        dropout_(options.real("dropout")),
        word_dropout_(options.real("word-dropout")),
        label_bias_(vocabularies_.labels.size(), 0.0f) {
    if (options.has("crf")) crf_.emplace(parameters, vocabularies_.labels.size());
    const nn::Vocabulary& labels = vocabularies_.labels;
    if (labels.contains("O")) label_bias_[labels.id("O")] = -options.real("outside-bias");
  }

  /// The sum of the losses of a sentence's words.
  Expression loss(ComputationGraph& graph, const nn::TaggedSentence& sentence) const {
    const std::vector<Expression> scores = read(graph, sentence.words, true);
    std::vector<unsigned> labels;
    for (const std::string& tag : sentence.tags) labels.push_back(vocabularies_.labels.id(tag));
    if (crf_) return crf_->loss(scores, labels);
    std::vector<Expression> losses;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      losses.push_back(pickneglogsoftmax(scores[i], labels[i]));
    }
    return sum(losses);
  }

  /// The labels of the words of every sentence.
  std::vector<Strings> labels(const std::vector<Strings>& sentences, const Options& options) const {
    const auto record = [&](ComputationGraph& graph, std::size_t i) {
      std::vector<Expression> scores = read(graph, sentences[i], false);
      const Expression bias = input(graph, scores[0].dim(), label_bias_);
      for (Expression& score : scores) score = score + bias;
      return concatenate_cols(crf_ ? crf_->best(scores) : scores);
    };
    const auto read_labels = [&](const Tensor& columns) {
      const std::vector<float> values = as_vector(columns);
      Strings labels;
      for (auto begin = values.begin(); begin != values.end();) {
        const auto end = begin + columns.d.rows();
        const auto best = std::max_element(begin, end) - begin;
        labels.push_back(vocabularies_.labels.word(static_cast<unsigned>(best)));
        begin = end;
      }
      return labels;
    };
    std::vector<std::uint32_t> sizes;
    for (const Strings& words : sentences) sizes.push_back(words.size());
    return nn::predict(sentences.size(), record, read_labels,
                       {.sizes = sizes, .graph = options.graph()});
  }

 private:
  /// The scores of the labels of every word.
  std::vector<Expression> read(ComputationGraph& graph, const Strings& words, bool training) const {
    std::vector<Expression> xs;
    for (const std::string& word : words) {
      xs.push_back(dropout_(read_word(graph, word, training), training));
    }
    std::vector<Expression> scores = word_lstm_(xs, training);
    for (Expression& score : scores) score = output_(dropout_(score, training));
    return scores;
  }

  Expression read_word(ComputationGraph& graph, const std::string& word, bool training) const {
    constexpr std::size_t kEnd = 16;  // so many characters are read at either end of a word
    std::vector<std::string_view> characters = nn::split_line(word, nn::TextUnit::character);
    if (characters.size() > 2 * kEnd)
      characters.erase(characters.begin() + kEnd, characters.end() - kEnd);
    std::vector<Expression> xs;
    for (const std::string_view character : characters) {
      xs.push_back(characters_(graph, vocabularies_.characters.id(character)));
    }
    Expression whole = words_(graph, vocabularies_.words.id(lower_case(word)));
    // All of the vector or nothing: so it learns to do without.
    if (training) whole = block_dropout(whole, word_dropout_);
    return concatenate({whole, character_lstm_.final_states(xs)});
  }

  Vocabularies vocabularies_;
  nn::Embedding words_, characters_;
  nn::BidirectionalLSTM character_lstm_, word_lstm_;
  nn::Linear output_;
  std::optional<nn::LinearChainCRF> crf_;
  nn::Dropout dropout_;
  float word_dropout_;
  std::vector<float> label_bias_;  ///< of the scores, when labels are chosen
};

nn::SpanScores evaluate(const Model& model, const Sentences& sentences, const Options& options) {
  std::vector<Strings> words;
  for (const nn::TaggedSentence& sentence : sentences) words.push_back(sentence.words);
  const std::vector<Strings> labels = model.labels(words, options);
  nn::SpanScores scores;
  for (std::size_t i = 0; i < sentences.size(); ++i) scores.add(sentences[i].tags, labels[i]);
  return scores;
}

int train(const Options& options) {
  const TaggedData data = load_sentences(options);
  const bool has_entities = data.score_name == "entity_f1";
  const Vocabularies vocabularies(data.train, options.whole("min-count"));
  std::vector<std::uint32_t> sizes;
  for (const nn::TaggedSentence& sentence : data.train) sizes.push_back(sentence.words.size());
  ParameterCollection parameters(options.seed());
  const Model model(parameters, options, vocabularies);
  AdamTrainer trainer(parameters);
  // Over about the last epoch: averages are better than the last values, and less of an accident.
  const double updates = std::ceil(static_cast<double>(sizes.size()) / options.whole("batch-size"));
  trainer.exponential_moving_average(static_cast<float>(1 - 1 / std::max(updates, 2.0)));
  nn::TrainingOptions training = options.training("sentences", data.score_name);
  training.texts = {{"words", vocabularies.words.to_text()},
                    {"characters", vocabularies.characters.to_text()},
                    {"labels", vocabularies.labels.to_text()}};
  begin_training(options, parameters, {data.train.size(), data.dev.size(), data.test.size()});
  nn::TrainingRun run(parameters, trainer, training);
  Minibatch batch(options.graph(&run.random()));
  const auto loss = [&](auto& graph, auto i) { return model.loss(graph, data.train[i]); };
  const auto main_score = [&](const nn::SpanScores& scores) {
    return has_entities ? scores.f1() : scores.labels().value();
  };
  while (run.next_epoch()) {
    for (const auto& sentences : run.minibatches(sizes)) {
      batch.clear();
      batch.add_losses(sentences.size(),
                       [&](auto& graph, auto i) { return loss(graph, sentences[i]); });
      std::size_t words = 0;
      for (const std::uint32_t sentence : sentences) words += sizes[sentence];
      run.update(batch, words);
    }
    run.finish_epoch([&] { return main_score(evaluate(model, data.dev, options)); });
  }
  if (run.interrupted()) return stopped(options);
  const nn::SpanScores test = evaluate(model, data.test, options);
  const nn::PrecisionRecall& entities = test.all();
  fmt::print("test {}: {:.2f} %", data.score_name, 100 * main_score(test));
  if (has_entities) {
    fmt::print(" (precision {:.2f} %, recall {:.2f} %)", 100 * entities.precision(),
               100 * entities.recall());
  }
  nlohmann::json report =
      measure_batching(options, run, sizes.size(), "sentences_per_second", loss);
  report.update({{data.score_name, main_score(test)}, {"dev_score", run.progress().best_score}});
  if (has_entities) {
    report["entity_precision"] = entities.precision();
    report["entity_recall"] = entities.recall();
  }
  return finish(options, run, report);
}

int apply(Options& options) {
  const nn::SavedModel saved = options.load_model();
  ParameterCollection parameters;
  const Model model(parameters, options, Vocabularies(saved));
  saved.load(parameters);
  constexpr std::size_t kTogether = 64;
  answer_lines(std::cin, std::cout, kTogether, [&](const auto& lines, std::size_t) {
    std::vector<Strings> sentences;
    for (const std::string& line : lines) {
      const auto words = nn::split_line(line, nn::TextUnit::word);
      if (!words.empty()) sentences.emplace_back(words.begin(), words.end());
    }
    const std::vector<Strings> labels = model.labels(sentences, options);
    std::string text;
    for (std::size_t s = 0; s < sentences.size(); ++s) {
      for (std::size_t i = 0; i < sentences[s].size(); ++i) {
        text += sentences[s][i] + '\t' + labels[s][i] + '\n';
      }
      text += '\n';
    }
    return text;
  });
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }
