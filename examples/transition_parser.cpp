// A transition-based dependency parser: it reads a sentence from left to right, and decides step by
// step which word gets which head.
//
// Kiperwasser and Goldberg (2016): arc-hybrid transitions, scored from the outputs of LSTMs from
// both ends for three words on the stack and one in the buffer. In training the parser follows its
// own decisions, wrong ones too, and a dynamic oracle says what is best there (Goldberg and Nivre
// 2013). So the next step depends on what the model says now: `for_each_sample` lets every sentence
// be plain code, and runs the steps of all sentences of a minibatch together.
//
//   transition_parser
//       sentences of a toy grammar, in which "with ropes" depends on the verb and "with hats" on
//       the noun before it: UAS and LAS above 99 %; a second of processor time
//   transition_parser --output parser --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu
//                     --test en_ewt-ud-test.conllu
//       the English Web Treebank (Universal Dependencies 2.16), words and parts of speech as
//       annotated, punctuation and subtypes of labels counted: UAS 89.0 %, LAS 87.0 %; 4 minutes
//       of processor time
//   transition_parser --apply --output parser < SENTENCES > TREES
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "examples/support/flags.h"
#include "examples/support/program.h"
#include "examples/support/speeds.h"
#include "examples/support/toy_treebank.h"
#include "examples/transition_parser/parser.h"
#include "nn/data/conllu.h"
#include "nn/train.h"

using namespace dynet_like;
using examples::ParserVocabularies;
using examples::TransitionParser;

namespace {

using Sentences = std::vector<nn::ConlluSentence>;
constexpr unsigned kLeastHidden = 4, kMostHidden = 4096;

std::vector<std::uint32_t> lengths_of(const Sentences& sentences) {
  std::vector<std::uint32_t> lengths;
  for (const auto& sentence : sentences)
    lengths.push_back(static_cast<std::uint32_t>(sentence.words.size()));
  return lengths;
}

// The same sentences with the trees that the parser finds, so many sentences together.
Sentences parse(const TransitionParser& parser, Sentences sentences, std::size_t together,
                GraphOptions options = {}) {
  options.inference = true;
  Minibatch batch(options);
  for (const auto& samples : nn::sorted_minibatches(lengths_of(sentences), together)) {
    batch.clear();
    for_each_sample(batch, samples, [&](ComputationGraph& graph, std::uint32_t sample) {
      parser.parse(graph, sentences[sample]);
    });
  }
  return sentences;
}

nn::AttachmentScores compare(const Sentences& gold, const Sentences& found) {
  nn::AttachmentScores scores;
  for (std::size_t i = 0; i < gold.size(); ++i) scores.add(gold[i], found[i]);
  return scores;
}

// The losses of some sentences, so many of them together.
std::vector<Expression> losses(Minibatch& batch, const TransitionParser& parser,
                               const Sentences& sentences, std::span<const std::uint32_t> samples,
                               std::size_t together, std::uint64_t seed, bool dropout) {
  std::vector<Expression> losses;
  for (std::size_t begin = 0; begin < samples.size(); begin += together) {
    const auto some = samples.subspan(begin, std::min(together, samples.size() - begin));
    const auto of_some =
        for_each_sample(batch, some, [&](ComputationGraph& graph, std::uint32_t sample) {
          Random random(seed, std::uint64_t{sample} << 32);  // numbers of this sentence alone
          return parser.loss(graph, sentences[sample], random, dropout);
        });
    losses.insert(losses.end(), of_some.begin(), of_some.end());
  }
  return losses;
}

// Trains for an epoch without dropout, whose numbers depend on the minibatch, and without updates.
// Returns the losses.
std::vector<float> rehearse(const TransitionParser& parser, const Sentences& sentences,
                            std::size_t together) {
  std::vector<float> values;
  Minibatch batch;
  for (const auto& samples : nn::sorted_minibatches(lengths_of(sentences), together)) {
    batch.clear();
    const auto terms = losses(batch, parser, sentences, samples, together, 1, false);
    batch.add_losses(terms);
    batch.forward();
    batch.backward();
    for (const Expression& term : terms) values.push_back(as_scalar(term.value()));
  }
  return values;
}

// Sentences per second, with one thread.
std::map<std::string, double> speeds(const TransitionParser& parser, Sentences train,
                                     Sentences test, std::size_t together) {
  constexpr std::size_t kMost = 500;
  train.resize(std::min(train.size(), kMost));
  test.resize(std::min(test.size(), kMost));
  const auto parsing = examples::measure_speeds(
      test.size(), together, [&](std::size_t count) { return parse(parser, test, count); });
  const auto training = examples::measure_speeds(
      train.size(), together, [&](std::size_t count) { return rehearse(parser, train, count); });
  return {{"sentences_per_s", parsing.together},
          {"sentences_per_s_alone", parsing.alone},
          {"training_sentences_per_s", training.together},
          {"training_sentences_per_s_alone", training.alone}};
}

// Those whose trees transitions can make.
Sentences possible(Sentences sentences) {
  std::erase_if(sentences, [](const nn::ConlluSentence& sentence) {
    const std::vector<unsigned> heads = sentence.heads();
    return !nn::is_tree(heads, nn::Roots::one) || !nn::is_projective(heads);
  });
  return sentences;
}

unsigned together_of(const examples::Flags& flags) { return flags.whole("--batch", 32, 1, 4096); }

int train(const examples::Flags& flags, GraphOptions options) {
  const bool is_given = flags.has("--train");
  const auto part = [&](const char* name, std::uint64_t seed, std::size_t generated) {
    if (flags.has(name) != is_given)
      throw UsageError("need all of --train, --dev and --test, or none; got some");
    return is_given ? nn::read_conllu(flags.text(name)) : examples::toy_treebank(seed, generated);
  };
  const Sentences all = part("--train", 1, 1500), dev = part("--dev", 2, 200),
                  test = part("--test", 3, 500), train = possible(all);
  if (train.empty())
    throw UsageError("need a sentence with a projective tree to learn from; got none");
  const unsigned hidden = flags.whole("--hidden", is_given ? 200 : 32, kLeastHidden, kMostHidden);
  const unsigned together = together_of(flags);
  const ParserVocabularies vocabularies(all);
  const TransitionParser parser(vocabularies, hidden);

  nn::TrainingOptions training;
  training.epochs = flags.whole("--epochs", is_given ? 15 : 6, 1, 1000);
  training.mean_losses = true;
  const std::size_t updates = training.epochs * ((train.size() + 31) / training.batch_size);
  training.schedule = nn::WarmUp{
      100, nn::CosineRate{.peak = is_given ? 0.002f : 0.01f, .updates = updates, .floor = 1e-5f}};
  training.output = flags.text("--output");
  training.resume = flags.has("--resume");
  training.settings = {{"hidden", std::to_string(hidden)}};
  training.texts = {{"words", vocabularies.words.to_text()},
                    {"tags", vocabularies.tags.to_text()},
                    {"labels", vocabularies.labels.to_text()}};
  training.unit = "sentences";
  training.score_name = "LAS";
  AdamTrainer trainer(parser.model, 0.001f, 0.9f, 0.99f);
  trainer.enable_clipping(5);
  nn::TrainingRun run(parser.model, trainer, training);
  std::printf("training without %zu of %zu sentences, whose trees transitions cannot make\n",
              all.size() - train.size(), all.size());

  const GraphOptions inference = options;
  options.random = &run.random();
  Minibatch batch(options);
  const std::vector<std::uint32_t> lengths = lengths_of(train);
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(lengths)) {
      batch.clear();
      batch.add_losses(losses(batch, parser, train, samples, together, run.random()(), true));
      std::size_t words = 0;
      for (const std::uint32_t sample : samples) words += lengths[sample];
      run.update(batch, words);
    }
    run.finish_epoch(
        [&] { return compare(dev, parse(parser, dev, together, inference)).labelled(); });
  }
  if (run.interrupted()) return 130;
  if (flags.has("--explain")) std::cout << batch.explain() << std::flush;
  const nn::AttachmentScores scores = compare(test, parse(parser, test, together, inference));
  std::printf("%s\ntest: UAS %.1f %%, LAS %.1f %% of %zu words\n", run.summary().c_str(),
              100 * scores.unlabelled(), 100 * scores.labelled(), scores.words());
  if (flags.has("--report")) {
    auto results = speeds(parser, train, test, together);
    results.insert({{"uas", scores.unlabelled()}, {"las", scores.labelled()}});
    run.write_report(flags.text("--report"), results);
  }
  return 0;
}

// Parses the sentences of standard input.
int apply(const examples::Flags& flags, const GraphOptions& options) {
  const nn::SavedModel saved(flags.text("--output"));
  const auto hidden = saved.number<unsigned>("hidden");
  if (hidden < kLeastHidden || hidden > kMostHidden)
    throw FileError(flags.text("--output"), "need a size as of --hidden; got another one");
  const ParserVocabularies vocabularies(saved);
  const TransitionParser parser(vocabularies, hidden);
  saved.load(parser.model);
  std::cout << nn::to_conllu(
      parse(parser, nn::read_conllu(std::cin, "standard input"), together_of(flags), options));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program("transition_parser", [&] {
    const examples::Flags flags(
        argc, argv,
        {{"--train", "FILE", "CoNLL-U to learn from, in place of generated sentences"},
         {"--dev", "FILE", "CoNLL-U that chooses the best epoch"},
         {"--test", "FILE", "CoNLL-U that the best epoch is tested on"},
         {"--epochs", "N", "passes over the data (6; 15 with --train)"},
         {"--hidden", "N", "units of an LSTM (32; 200 with --train)"},
         {"--batch", "N", "sentences that run together, which changes no result (32)"},
         {"--threads", "N", "threads, which change no result (2)"},
         {"--output", "FOLDER", "for the best model and the checkpoint"},
         {"--resume", "", "go on from the checkpoint in that folder"},
         {"--explain", "", "show how the last minibatch ran"},
         {"--report", "FILE", "write the results there as JSON"},
         {"--apply", "", "parse CoNLL-U of standard input with the model in that folder"}});
    if (flags.has("--help")) {
      std::cout << "usage: transition_parser [OPTION...]\n" << flags.help();
      return 0;
    }
    if (flags.has("--apply") && !flags.has("--output"))
      throw UsageError("need --output with --apply; got none");
    GraphOptions options;
    options.threads = flags.whole("--threads", 2, 1, 256);
    return flags.has("--apply") ? apply(flags, options) : train(flags, options);
  });
}
