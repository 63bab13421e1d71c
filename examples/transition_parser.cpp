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
//       the noun before it
//   transition_parser --output parser --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu
//                     --test en_ewt-ud-test.conllu
//       the English Web Treebank (Universal Dependencies 2.16), words and parts of speech as
//       annotated, punctuation and subtypes of labels counted
//   transition_parser --apply --output parser < SENTENCES > TREES
#include <chrono>
#include <cstdio>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "examples/support/flags.h"
#include "examples/support/program.h"
#include "examples/support/toy_treebank.h"
#include "examples/transition_parser/arc_hybrid.h"
#include "nn/data/conllu.h"
#include "nn/nn.h"
#include "nn/train.h"

using namespace dynet_like;
using examples::ArcHybrid;
using examples::Transition;

namespace {

using Sentences = std::vector<nn::ConlluSentence>;
constexpr float kDropout = 0.33f;
constexpr float kWordDropout = 0.25f;  // Kiperwasser and Goldberg's alpha
constexpr float kMargin = 1, kExploration = 0.1f;
constexpr unsigned kLeastHidden = 4, kMostHidden = 4096;

std::vector<std::uint32_t> lengths_of(const Sentences& sentences) {
  std::vector<std::uint32_t> lengths;
  for (const auto& sentence : sentences)
    lengths.push_back(static_cast<std::uint32_t>(sentence.words.size()));
  return lengths;
}

struct Vocabularies {
  explicit Vocabularies(const Sentences& sentences) {
    words.set_unknown("<unknown>");
    tags.set_unknown("<unknown>");
    for (const nn::ConlluSentence& sentence : sentences) {
      words.add("<root>");
      tags.add("<root>");
      for (const nn::ConlluColumns& word : sentence.words) {
        words.add(word.form);
        tags.add(word.upos);
        labels.add(word.deprel);
      }
    }
  }
  explicit Vocabularies(const nn::SavedModel& saved)
      : words(saved.vocabulary("words")),
        tags(saved.vocabulary("tags")),
        labels(saved.vocabulary("labels")) {}

  nn::Vocabulary words, tags, labels;
};

// A sentence as columns, of which the first is the root.
struct Encoded {
  Expression places;  // what a word says in each place of a state
  Expression label_heads, label_dependants;
};

struct Choice {
  Transition transition = Transition::shift;
  float score = -std::numeric_limits<float>::infinity();
};

// The transition with the highest score among those that are accepted.
template <class Accept>
Choice best(const Tensor& scores, const Accept& accept) {
  Choice best;
  for (const Transition transition : examples::kTransitions) {
    const float score = scores.v[static_cast<unsigned>(transition)];
    if (score > best.score && accept(transition)) best = {transition, score};
  }
  return best;
}

struct Parser {
  Parser(const Vocabularies& vocabularies, unsigned hidden)
      : v(vocabularies),
        hidden(hidden),
        words(model, v.words.size(), hidden / 2, "words"),
        tags(model, v.tags.size(), hidden / 4, "tags"),
        encoder(model, hidden / 2 + hidden / 4, hidden, 2, kDropout),
        places(model, 2 * hidden, kPlaces * hidden, true, "places"),
        transitions(model, hidden, examples::kTransitions.size(), true, "transitions"),
        label_heads(model, 2 * hidden, 2 * hidden / 5, true, "label_heads"),
        label_dependants(model, 2 * hidden, 2 * hidden / 5, true, "label_dependants"),
        labels(model, 2 * hidden / 5, v.labels.size()) {}

  // With random numbers it is for training: words that are rare are unknown now and then.
  Encoded encode(ComputationGraph& graph, const nn::ConlluSentence& sentence,
                 Random* random) const {
    std::vector<unsigned> word_rows = {v.words.id("<root>")}, tag_rows = {v.tags.id("<root>")};
    for (const nn::ConlluColumns& word : sentence.words) {
      const unsigned row = v.words.id(word.form);
      const auto count = static_cast<float>(v.words.count(row));
      const bool is_dropped =
          random != nullptr && random->uniform() < kWordDropout / (kWordDropout + count);
      word_rows.push_back(is_dropped ? *v.words.unknown() : row);
      tag_rows.push_back(v.tags.id(word.upos));
    }
    const bool training = random != nullptr;
    const Expression x = drop(
        concatenate({words.columns(graph, word_rows), tags.columns(graph, tag_rows)}), training);
    std::vector<Expression> xs;
    for (unsigned i = 0; i < word_rows.size(); ++i) xs.push_back(pick(x, i, 1));
    const Expression all = drop(concatenate_cols(encoder(xs, training)), training);
    const Expression own = pick_range(all, 1, static_cast<unsigned>(xs.size()), 1);
    return {reshape(places(all), Dim({hidden, kPlaces * static_cast<unsigned>(xs.size())})),
            drop(rectify(label_heads(all)), training),
            drop(rectify(label_dependants(own)), training)};
  }

  // A number per transition. The first layer of the network is linear in the words of a state, so
  // that it is computed once for every word and place, and added up here. Shapes: {3}.
  Expression scores(const Encoded& x, const ArcHybrid& state) const {
    const std::uint32_t word[kPlaces] = {state.stack(2), state.stack(1), state.stack(0),
                                         state.buffer()};
    std::vector<Expression> parts;
    for (unsigned i = 0; i < kPlaces; ++i)
      parts.push_back(pick(x.places, kPlaces * word[i] + i, 1));
    return transitions(tanh(sum(parts)));
  }

  // A column of scores per word.
  Expression label_scores(const Encoded& x, const std::vector<unsigned>& heads) const {
    return labels(select_cols(x.label_heads, heads), x.label_dependants);
  }

  // Hinge losses of the transitions, and cross-entropies of the labels.
  Expression loss(ComputationGraph& graph, const nn::ConlluSentence& sentence,
                  Random& random) const {
    const std::vector<unsigned> heads = sentence.heads();
    std::vector<unsigned> gold_labels;
    for (const auto& word : sentence.words) gold_labels.push_back(v.labels.id(word.deprel));
    const auto n = static_cast<unsigned>(heads.size());
    const Encoded x = encode(graph, sentence, &random);
    std::vector<Expression> losses = {sum_batches(pickneglogsoftmax(
        reshape(label_scores(x, heads), Dim({v.labels.size()}, n)), gold_labels))};
    for (ArcHybrid state(n); !state.is_done();) {
      const Expression scores = this->scores(x, state);
      const Tensor value = scores.value();
      const Choice good =
          best(value, [&](Transition t) { return state.can(t) && state.cost(t, heads) == 0; });
      const Choice bad =
          best(value, [&](Transition t) { return state.can(t) && state.cost(t, heads) > 0; });
      const bool is_close = bad.score > good.score - kMargin;
      if (is_close)
        losses.push_back(pick(scores, static_cast<unsigned>(bad.transition)) -
                         pick(scores, static_cast<unsigned>(good.transition)) + kMargin);
      const bool explores = bad.score > good.score || (is_close && random.uniform() < kExploration);
      state.apply((explores ? bad : good).transition);
    }
    return sum(losses);
  }

  // Writes heads and labels into the sentence.
  void parse(ComputationGraph& graph, nn::ConlluSentence& sentence) const {
    const Encoded x = encode(graph, sentence, nullptr);
    ArcHybrid state(sentence.words.size());
    while (!state.is_done()) {
      const Expression scores = this->scores(x, state);
      state.apply(best(scores.value(), [&](Transition t) { return state.can(t); }).transition);
    }
    const std::vector<unsigned> found = argmax_of_columns(label_scores(x, state.heads()).value());
    for (std::size_t i = 0; i < found.size(); ++i) {
      sentence.words[i].head = static_cast<std::int32_t>(state.heads()[i]);
      sentence.words[i].deprel = v.labels.word(found[i]);
    }
  }

  // The same sentences with the heads and labels that the parser finds.
  Sentences parse(Sentences sentences, std::size_t together, GraphOptions options) const {
    options.inference = true;
    Minibatch batch(options);
    for (const auto& samples : nn::sorted_minibatches(lengths_of(sentences), together)) {
      batch.clear();
      for_each_sample(batch, samples, [&](ComputationGraph& graph, std::uint32_t sample) {
        parse(graph, sentences[sample]);
      });
    }
    return sentences;
  }

  nn::AttachmentScores evaluate(const Sentences& gold, std::size_t together,
                                const GraphOptions& options) const {
    nn::AttachmentScores scores;
    const Sentences found = parse(gold, together, options);
    for (std::size_t i = 0; i < gold.size(); ++i) scores.add(gold[i], found[i]);
    return scores;
  }

  static constexpr unsigned kPlaces = 4;
  const Vocabularies& v;
  unsigned hidden;
  ParameterCollection model{1};
  nn::Embedding words, tags;
  nn::BidirectionalLSTM encoder;
  nn::Linear places, transitions, label_heads, label_dependants;
  nn::BiaffineLabels labels;
  nn::Dropout drop{kDropout};
};

int train(const examples::Flags& flags, GraphOptions options) {
  const bool is_given = flags.has("--train");
  const auto part = [&](const char* name, std::uint64_t seed, std::size_t generated) {
    if (flags.has(name) != is_given)
      throw UsageError("need all of --train, --dev and --test, or none; got some");
    return is_given ? nn::read_conllu(flags.text(name)) : examples::toy_treebank(seed, generated);
  };
  Sentences train = part("--train", 1, 1500);
  const Sentences dev = part("--dev", 2, 200), test = part("--test", 3, 500);
  const Vocabularies vocabularies(train);
  const std::size_t left_out = std::erase_if(train, [](const nn::ConlluSentence& sentence) {
    const std::vector<unsigned> heads = sentence.heads();
    return !nn::is_tree(heads, nn::Roots::one) || !nn::is_projective(heads);
  });
  std::printf("%zu sentences to learn from; %zu more are not projective\n", train.size(), left_out);
  const unsigned together = flags.whole("--batch", 32, 1, 4096);
  const unsigned hidden = flags.whole("--hidden", is_given ? 200 : 32, kLeastHidden, kMostHidden);
  const Parser parser(vocabularies, hidden);

  nn::TrainingOptions training;
  training.epochs = flags.whole("--epochs", is_given ? 15 : 8, 1, 1000);
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

  const GraphOptions inference = options;
  options.random = &run.random();
  Minibatch batch(options);
  const std::vector<std::uint32_t> lengths = lengths_of(train);
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(lengths)) {
      batch.clear();
      const std::uint64_t seed = run.random()();
      std::size_t words = 0;
      for (std::size_t begin = 0; begin < samples.size(); begin += together) {
        const std::size_t count = std::min<std::size_t>(together, samples.size() - begin);
        batch.add_losses(for_each_sample(batch, count, [&](ComputationGraph& graph, std::size_t i) {
          Random random(seed, (begin + i) << 32);
          return parser.loss(graph, train[samples[begin + i]], random);
        }));
      }
      for (const std::uint32_t sample : samples) words += lengths[sample];
      run.update(batch, words);
    }
    run.finish_epoch([&] { return parser.evaluate(dev, together, inference).labelled(); });
  }
  if (run.interrupted()) return 130;
  if (flags.has("--explain")) std::cout << batch.explain() << std::flush;
  const nn::AttachmentScores scores = parser.evaluate(test, together, inference);
  std::printf("%s\ntest: UAS %.1f %%, LAS %.1f %% of %zu words\n", run.summary().c_str(),
              100 * scores.unlabelled(), 100 * scores.labelled(), scores.words());
  if (flags.has("--report")) {
    run.write_report(flags.text("--report"),
                     {{"uas", scores.unlabelled()}, {"las", scores.labelled()}});
  }
  return 0;
}

// Parses the sentences of standard input.
int apply(const examples::Flags& flags, const GraphOptions& options) {
  const nn::SavedModel saved(flags.text("--output"));
  const auto hidden = saved.number<unsigned>("hidden");
  if (hidden < kLeastHidden || hidden > kMostHidden)
    throw FileError(flags.text("--output"), "need a size as of --hidden; got another one");
  const Vocabularies vocabularies(saved);
  const Parser parser(vocabularies, hidden);
  saved.load(parser.model);
  std::cout << nn::to_conllu(parser.parse(nn::read_conllu(std::cin, "standard input"),
                                          flags.whole("--batch", 32, 1, 4096), options));
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
         {"--epochs", "N", "passes over the data (8; 15 with --train)"},
         {"--hidden", "N", "units of an LSTM (32; 200 with --train)"},
         {"--batch", "N", "sentences that are parsed together, which changes no result (32)"},
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
