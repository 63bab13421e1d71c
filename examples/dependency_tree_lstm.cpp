// A child-sum Tree-LSTM (Tai et al. 2015) that reads dependency trees from the leaves up.
//
// It labels the arcs of a tree that is given, as in the second half of parsing. A word's label
// follows from the state of its node, which has read the word and all below it, and from that of
// its head. Only words are read, no parts of speech, and not their order: the states of children
// are summed. With --flat every word is a tree of its own, so that the difference is what
// dependants add. Accuracy is given for the words that have dependants, and for all.
//
//   dependency_tree_lstm
//       generated formulas such as "odd (all yes no) yes", where the label of a word is its
//       value: 97.2 % and 98.9 %, --flat 66.8 % and 87.2 %; 3 seconds of processor time
//   dependency_tree_lstm --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu
//                        --test en_ewt-ud-test.conllu
//       the relations of the English Web Treebank (Universal Dependencies 2.16), subtypes counted:
//       88.2 % and 90.4 %, --flat 51.7 % and 75.2 %; half a minute of processor time
//
// Single words tell little about a relation, since prepositions and conjunctions are dependants of
// what they mark. The trees are those of annotators; found by a parser, they would have errors.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "examples/support/flags.h"
#include "examples/support/program.h"
#include "nn/data/conllu.h"
#include "nn/nn.h"
#include "nn/train.h"

using namespace dynet_like;

namespace {

using Sentences = std::vector<nn::ConlluSentence>;

// Adds a formula below `head` and returns its value. Operators have one to four operands.
bool add_formula(unsigned deepest, std::int32_t head, Random& random,
                 nn::ConlluSentence& sentence) {
  const std::size_t place = sentence.words.size();
  sentence.words.push_back({"", "_", "_", "_", "_", head, "", "_", "_"});
  std::string form;
  bool value = random.below(2) == 1;
  if (deepest == 0 || random.below(3) == 0) {
    form = value ? "yes" : "no";
  } else {
    const unsigned operands = 1 + random.below(4);
    unsigned yes = 0;
    for (unsigned i = 0; i < operands; ++i)
      yes += add_formula(deepest - 1, static_cast<std::int32_t>(place + 1), random, sentence);
    const unsigned which = random.below(4);
    form = std::array{"all", "any", "most", "odd"}[which];
    value = std::array{yes == operands, yes > 0, 2 * yes > operands, yes % 2 == 1}[which];
  }
  sentence.words[place].form = form;
  sentence.words[place].deprel = value ? "true" : "false";
  return value;
}

Sentences generate(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  Sentences sentences(count);
  for (nn::ConlluSentence& sentence : sentences) {
    do {
      sentence = {};
      add_formula(4, 0, random, sentence);
    } while (sentence.words.size() == 1);
  }
  return sentences;
}

// Words that come once are unknown.
struct Vocabularies {
  explicit Vocabularies(const Sentences& sentences) {
    words.set_unknown("<unknown>");
    for (const nn::ConlluSentence& sentence : sentences) {
      for (const nn::ConlluColumns& word : sentence.words) {
        words.add(word.form);
        labels.add(word.deprel);
      }
    }
    words = words.trimmed(2);
  }

  nn::Vocabulary words, labels;
};

struct Result {
  nn::Accuracy with_dependants, all;
};

struct Labeller {
  Labeller(const Sentences& train, unsigned hidden, bool is_flat)
      : vocabularies(train),
        embedding(model, vocabularies.words.size(), hidden / 2),
        tree(model, hidden / 2, hidden),
        output(model, 2 * hidden, {hidden, vocabularies.labels.size()}, {.dropout = 0.3f}),
        flat(is_flat) {}

  // A column of scores per word. Shapes: {labels, words}.
  Expression scores(ComputationGraph& graph, const nn::ConlluSentence& sentence,
                    bool training) const {
    std::vector<unsigned> rows;
    for (const auto& word : sentence.words) rows.push_back(vocabularies.words.id(word.form));
    const Expression x = dropped(embedding.columns(graph, rows), training);
    std::vector<Expression> xs, outputs = {zeros(graph, {tree.hidden()})};  // the root's
    for (unsigned i = 0; i < rows.size(); ++i) xs.push_back(pick(x, i, 1));
    const std::vector<unsigned> heads = sentence.heads();
    const std::vector<unsigned> none(heads.size(), 0);
    for (const auto& state : tree(flat ? none : heads, xs)) outputs.push_back(state.h);
    const Expression all = concatenate_cols(outputs);
    const Expression own = pick_range(all, 1, static_cast<unsigned>(outputs.size()), 1);
    return output(dropped(concatenate({own, select_cols(all, heads)}), training), training);
  }

  Expression loss(ComputationGraph& graph, const nn::ConlluSentence& sentence) const {
    std::vector<unsigned> gold;
    for (const auto& word : sentence.words) gold.push_back(vocabularies.labels.id(word.deprel));
    const Dim word({vocabularies.labels.size()}, static_cast<unsigned>(gold.size()));
    return pickneglogsoftmax(reshape(scores(graph, sentence, true), word), gold);
  }

  Result evaluate(const Sentences& sentences, const GraphOptions& options) const {
    Result result;
    nn::predict_outputs(
        sentences.size(),
        [&](ComputationGraph& graph, std::size_t i) {
          return std::vector<Expression>{scores(graph, sentences[i], false)};
        },
        [&](std::size_t i, std::span<const Tensor> values) {
          const std::vector<unsigned> heads = sentences[i].heads();
          const float* begin = values[0].v;
          for (std::size_t word = 0; word < heads.size(); ++word) {
            const float* end = begin + vocabularies.labels.size();
            const auto best = static_cast<unsigned>(std::max_element(begin, end) - begin);
            const bool is_right = vocabularies.labels.word(best) == sentences[i].words[word].deprel;
            result.all.add(is_right);
            if (std::count(heads.begin(), heads.end(), word + 1) > 0)
              result.with_dependants.add(is_right);
            begin = end;
          }
        },
        {.graph = options});
    return result;
  }

  Vocabularies vocabularies;
  ParameterCollection model{1};
  nn::Embedding embedding;
  nn::ChildSumTreeLSTM tree;
  nn::MLP output;
  nn::Dropout dropped{0.3f};
  bool flat;
};

int train(const examples::Flags& flags) {
  const bool is_given = flags.has("--train");
  const auto part = [&](const char* name, std::uint64_t seed, std::size_t generated) {
    if (flags.has(name) != is_given)
      throw UsageError("need all of --train, --dev and --test, or none; got some");
    return is_given ? nn::read_conllu(flags.text(name)) : generate(seed, generated);
  };
  const Sentences train = part("--train", 1, 2000), dev = part("--dev", 2, 300),
                  test = part("--test", 3, 1000);
  const unsigned hidden = flags.whole("--hidden", is_given ? 200 : 32, 2, 4096);
  const Labeller labeller(train, hidden, flags.has("--flat"));

  nn::TrainingOptions training;
  training.epochs = flags.whole("--epochs", is_given ? 8 : 15, 1, 1000);
  training.mean_losses = true;
  const std::size_t updates = training.epochs * ((train.size() + 31) / training.batch_size);
  training.schedule =
      nn::WarmUp{100, nn::CosineRate{.peak = is_given ? 0.002f : 0.01f, .updates = updates}};
  training.unit = "trees";
  training.score_name = "accuracy";
  AdamTrainer trainer(labeller.model, 0.001f, 0.9f, 0.99f);
  trainer.enable_clipping(5);
  nn::TrainingRun run(labeller.model, trainer, training);
  GraphOptions options;
  options.threads = flags.whole("--threads", 2, 1, 256);
  const GraphOptions inference = options;
  options.random = &run.random();
  Minibatch batch(options);
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(train.size())) {
      batch.clear();
      batch.add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
        return labeller.loss(graph, train[samples[i]]);
      });
      std::size_t words = 0;
      for (const std::uint32_t sample : samples) words += train[sample].words.size();
      run.update(batch, words);
    }
    run.finish_epoch([&] { return labeller.evaluate(dev, inference).all.value(); });
  }
  if (run.interrupted()) return 130;
  const Result result = labeller.evaluate(test, inference);
  std::printf("%s\ntest: %.1f %% of %zu words with dependants, %.1f %% of %zu words\n",
              run.summary().c_str(), 100 * result.with_dependants.value(),
              result.with_dependants.count(), 100 * result.all.value(), result.all.count());
  if (flags.has("--report")) {
    run.write_report(flags.text("--report"), {{"accuracy", result.all.value()},
                                              {"with_dependants", result.with_dependants.value()}});
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program("dependency_tree_lstm", [&] {
    const examples::Flags flags(
        argc, argv,
        {{"--train", "FILE", "CoNLL-U to learn from, in place of generated formulas"},
         {"--dev", "FILE", "CoNLL-U that chooses the best epoch"},
         {"--test", "FILE", "CoNLL-U that the best epoch is tested on"},
         {"--flat", "", "leave out dependants: every word is a tree of its own"},
         {"--epochs", "N", "passes over the data (15; 8 with --train)"},
         {"--hidden", "N", "size of a state (32; 200 with --train)"},
         {"--threads", "N", "threads, which change no result (2)"},
         {"--report", "FILE", "write the results there as JSON"}});
    if (!flags.has("--help")) return train(flags);
    std::cout << "usage: dependency_tree_lstm [OPTION...]\n" << flags.help();
    return 0;
  });
}
