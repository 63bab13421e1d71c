// A child-sum Tree-LSTM (Tai et al. 2015) that reads dependency trees from the leaves up. It labels
// the arcs of given trees, which is the second half of parsing. A word's label depends on two
// states: that of its own node, which has read the word and all words below it, but not their order
// or parts of speech; and that of its head. With --flat every word is a tree by itself: the
// difference shows what dependants add. Accuracy for words with dependants, and for all words:
//   dependency_tree_lstm    formulas such as "odd (all yes no) yes", where a word's label is its
//       value: 97.2 % and 98.9 %, --flat 66.8 % and 87.2 %; 3 seconds of processor time
//   dependency_tree_lstm --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu
//       --test en_ewt-ud-test.conllu    the relations of the English Web Treebank (Universal
//       Dependencies 2.16) in annotators' trees, subtypes counted: 88.2 % and 90.4 %, --flat 51.7 %
//       and 75.2 %; half a minute of processor time
// A single word tells little: prepositions and conjunctions are dependants of the words that they
// mark.
#include <algorithm>

#include "examples/full/support/generated.h"
#include "examples/full/support/program.h"
#include "examples/full/support/word_vectors.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;
using Word = nn::ConlluColumns;
using Sentence = nn::ConlluSentence;
using Sentences = std::vector<Sentence>;

void add_options(OptionTable& table) {
  table.files("trees");
  table.whole("train-trees", {1, 1e7}, "2000", kNever, "size of the generated training data");
  table.flag("flat", "ignore dependants: every word is a tree by itself");
  table.whole("min-count", {1, 1e6}, "2", "words that occur fewer than N times are unknown");
  table.whole("embedding", {1, 4096}, "16", "100", "size of a word's vector");
  table.whole("hidden", {1, 4096}, "32", "200", "size of a state");
  table.real("dropout", {0, 0.95}, "0.3", "dropout rate of words, states and the network");
  add_vector_options(table);
}

const Program kProgram = {
    "dependency_tree_lstm",
    "Learns to label the arcs of dependency trees in CoNLL-U. --apply reads trees in CoNLL-U from\n"
    "standard input, and writes them with predicted labels.\n",
    add_options,
    {{"15", "8"}, {"32", "32"}, {"0.01", "0.002"}}};

nn::Splits<Sentence> load(const Options& options) {
  const auto read = [](const std::string& file) { return nn::read_conllu(file); };
  if (auto data = read_splits<Sentence>(options, read)) return *data;
  const auto make = [&](auto n, int part) { return generated_formulas(n, options.seed() + part); };
  return {make(options.whole("train-trees"), 0), make(300, 1), make(1000, 2)};
}

struct Vocabularies {
  nn::Vocabulary words, labels;
};

Vocabularies vocabularies_of(const Sentences& sentences, const Options& options) {
  const auto labels_of = [](const Sentence& each) { return each.column(&Word::deprel); };
  return {known_words(sentences, &Sentence::forms, options),
          nn::vocabulary_of(sentences, labels_of)};
}

struct Model {
  ParameterCollection& parameters;
  const Options& options;
  Vocabularies v;
  unsigned size = options.whole("embedding"), hidden = options.whole("hidden");
  nn::Embedding embedding{parameters, v.words.size(), size};
  nn::ChildSumTreeLSTM tree{parameters, size, hidden};
  float rate = options.real("dropout");
  nn::MLP output{parameters, 2 * hidden, {hidden, v.labels.size()}, {.dropout = rate}};

  /// A column of scores per word. Shapes: {labels, words}.
  Expression scores(ComputationGraph& graph, const Sentence& sentence) const {
    const std::vector<unsigned> rows = v.words.ids(sentence.forms());
    const Expression x = dropout(embedding.columns(graph, rows), rate);
    const std::vector<unsigned> heads = sentence.heads(), none(heads.size(), 0);
    const Structure structure = nn::heads_bottom_up(options.has("flat") ? none : heads);
    const Expression own = tree(structure, x).all().h;
    const Expression all = concatenate_cols({zeros(graph, {hidden}), own});  // root first
    return output(dropout(concatenate({own, select_cols(all, heads)}), rate));
  }
  /// The losses of all words.
  Expression loss(ComputationGraph& graph, const Sentence& sentence) const {
    return cross_entropy(scores(graph, sentence), v.labels.ids(sentence.column(&Word::deprel)));
  }
  /// The same sentences with predicted labels.
  Sentences label(const Sentences& sentences) const {
    const auto with_labels = [&](ComputationGraph& graph, Sentence sentence) {
      const auto best = argmax_of_columns(scores(graph, sentence).value());
      sentence.set_column(&Word::deprel, v.labels.words(best));
      return sentence;
    };
    return nn::predict(sentences, with_labels, {.graph = options.graph()});
  }
};

/// The accuracy for words with dependants, and for all words.
std::pair<nn::Accuracy, nn::Accuracy> evaluate(const Model& model, const Sentences& gold) {
  const Sentences found = model.label(gold);
  nn::Accuracy with_dependants, all;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    const std::vector<unsigned> heads = gold[i].heads();
    for (std::size_t word = 0; word < heads.size(); ++word) {
      const bool is_right = found[i].words[word].deprel == gold[i].words[word].deprel;
      all.add(is_right);
      if (std::ranges::count(heads, word + 1) > 0) with_dependants.add(is_right);
    }
  }
  return {with_dependants, all};
}

int train(const Options& options) {
  const nn::Splits<Sentence> data = load(options);
  ParameterCollection parameters(options.seed());
  const Model model{parameters, options, vocabularies_of(data.train, options)};
  AdamTrainer trainer(parameters, 0.001f, 0.9f, 0.99f);
  load_vectors(options, model.v.words, model.embedding, trainer);
  trainer.enable_clipping(5);
  nn::TrainingOptions training = options.training("trees", "accuracy");
  const nn::CosineRate cosine = {.peak = options.real("learning-rate"),
                                 .updates = training.updates(data.train.size())};
  training.schedule.rate = nn::WarmUp{100, cosine};
  training.files.texts = {{"words", model.v.words.to_text()}, {"labels", model.v.labels.to_text()}};
  training.stopping.dev_score = [&] { return evaluate(model, data.dev).second.value(); };
  begin_training(options, parameters, data);
  const auto loss = [&](auto& graph, const Sentence& each) { return model.loss(graph, each); };
  const auto progress = nn::train(trainer, data.train, loss, training);
  if (progress.interrupted) return stopped();
  nlohmann::json report = measure_batching(options, progress, data.train, "trees_per_s", loss);
  if (!data.test.empty()) {
    const auto [with_dependants, all] = evaluate(model, data.test);
    fmt::print("test: {:.1f} % of {} words with dependants, {:.1f} % of {} words\n",
               100 * with_dependants.value(), with_dependants.count(), 100 * all.value(),
               all.count());
    report.update({{"accuracy", all.value()}, {"with_dependants", with_dependants.value()}});
  }
  return finish(options, training, progress, report);
}

int apply(Options& options) {
  const nn::SavedModel saved = options.load_model();
  ParameterCollection parameters;
  const Model model{parameters, options, {saved.vocabulary("words"), saved.vocabulary("labels")}};
  saved.load(parameters);
  fmt::print("{}", nn::to_conllu(model.label(nn::read_conllu({std::cin, kStandardInput}))));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }
