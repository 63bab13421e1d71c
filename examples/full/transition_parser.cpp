// A transition-based dependency parser. It reads a sentence from left to right, and decides step by
// step which head each word gets.
//
// Kiperwasser and Goldberg (2016): arc-hybrid transitions, scored from the outputs of bidirectional
// LSTMs for three words of the stack and one of the buffer. In training the parser follows its own
// decisions, wrong ones too, and a dynamic oracle tells which ones are best there (Goldberg and
// Nivre 2013). So the next step depends on the model's current scores. Still every sentence is
// plain code: `nn::train` and `nn::predict` run the steps of all sentences of a minibatch together.
// Labels do not change steps, so all of them are chosen when the tree is complete.
//   transition_parser    a toy grammar: UAS and LAS 99.9 %; 2 seconds of processor time
//   transition_parser --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu
//       --test en_ewt-ud-test.conllu    the English Web Treebank (Universal Dependencies 2.16),
//       words and parts of speech as annotated, punctuation and subtypes of labels counted: UAS
//       89.7 %, LAS 87.9 %; 3.5 minutes of processor time
#include <algorithm>

#include "examples/full/support/parsing.h"
#include "examples/full/support/program.h"
#include "examples/full/support/word_vectors.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;
using Sentence = nn::ConlluSentence;
using Sentences = std::vector<Sentence>;

constexpr unsigned kTogether = 128;     // sentences that are parsed at once
constexpr std::size_t kMeasured = 512;  // sentences
constexpr float kMargin = 1;            // by which a correct transition should beat wrong ones
constexpr double kExploration = 0.1;    // probability to take a wrong one within the margin
constexpr nn::TransitionSystem kSystem{nn::TransitionSystem::arc_hybrid};
constexpr double kRare = 0.25;  // a word with n occurrences is dropped at kRare / (kRare + n)

const Program kProgram = {
    "transition_parser",
    "Learns to parse sentences in CoNLL-U. --apply reads sentences in CoNLL-U from standard input, "
    "and\n"
    "writes them with predicted heads and labels.\n",
    "with --train",
    [](const Options& options) { return options.has("train"); },
    {{"train", "FILE", "", "", "sentences to train on, with --dev and --test"},
     {"dev", "FILE", "", "", "development data: sentences to choose the best epoch on"},
     {"test", "FILE", "", "", "sentences to test on"},
     {"train-sentences", "N", "1500", kNever, "size of the generated training data", {1, 1e7}},
     {"embedding", "N", "16", "100", "size of a word's vector", {1, 4096}},
     {"hidden", "N", "32", "200", "size of an LSTM; a tag's vector has a quarter of it", {4, 4096}},
     {"dropout", "X", "0.33", "0.33", "dropout rate", {0, 0.95}},
     kVectors,
     kVectorsRate,
     kMoreWords,
     kLowerCase,
     kDigits},
    {{"6", "15"}, {"32", "32"}, {"0.01", "0.002"}}};

struct Model {
  ParameterCollection& parameters;
  const Options& options;
  TreeVocabularies v;
  float rate = options.real("dropout");
  unsigned size = options.whole("embedding");
  unsigned hidden = options.whole("hidden"), small = hidden / 2;
  nn::Embedding words{parameters, v.words.size(), size, {.name = "words"}};
  nn::Embedding tags{parameters, v.tags.size(), hidden / 4, {.name = "tags"}};
  nn::BidirectionalLSTM encoder{
      parameters, size + hidden / 4, hidden, {.layers = 2, .dropout = rate}};
  nn::Linear places{parameters, 2 * hidden, 4 * small, {.name = "places"}};
  nn::Linear transitions{parameters, small, kSystem.size(), {.name = "transitions"}};
  nn::Linear heads{parameters, 2 * hidden, small, {.name = "label_heads"}};
  nn::Linear dependants{parameters, 2 * hidden, small, {.bias = false, .name = "label_dependants"}};
  nn::Linear labels{parameters, small, v.labels.size(), {.name = "labels"}};

  /// Columns for the words of a sentence. Except for dependants, the root comes first.
  struct Encoded {
    Expression places;             ///< four columns per word, one for each place of scores()
    Expression heads, dependants;  ///< for labels
  };
  Encoded encode(ComputationGraph& graph, const Sentence& sentence,
                 const std::vector<unsigned>& word_ids) const {
    const Expression word = words.columns(graph, word_ids);
    const Expression x =
        dropout(concatenate({word, tags.columns(graph, v.tag_ids(sentence))}), rate);
    std::vector<Expression> xs;
    const unsigned n = word_ids.size();
    for (unsigned i = 0; i < n; ++i) xs.push_back(pick(x, i, 1));
    const Expression all = dropout(concatenate_cols(encoder(xs)), rate);
    return {reshape(places(all), Dim({small, 4 * n})), heads(all),
            dependants(pick_range(all, 1, n, 1))};
  }
  /// A score per transition, from the words in four places. The root stands for a missing word.
  Expression scores(const Encoded& x, const nn::ParserState& state) const {
    std::vector<Expression> parts;
    for (const unsigned word : {state.buffer(), state.stack(0), state.stack(1), state.stack(2)})
      parts.push_back(pick(x.places, 4 * word + parts.size(), 1));
    return transitions(tanh(sum(parts)));
  }
  /// For each word with one of these heads, a column of scores.
  Expression label_scores(const Encoded& x, const std::vector<unsigned>& heads) const {
    return labels(tanh(select_cols(x.heads, heads) + x.dependants));
  }

  /// Follows the model's decisions. There is a loss wherever the best correct transition does not
  /// beat all wrong ones by a margin. Some words are dropped, rare ones most often.
  Expression loss(ComputationGraph& graph, const Sentence& sentence) const {
    Random random = graph.random();
    std::vector<unsigned> ids = v.word_ids(sentence);
    for (unsigned& id : ids) {
      if (random.uniform() < kRare / (kRare + v.words.count(id))) id = *v.words.unknown();
    }
    const Encoded x = encode(graph, sentence, ids);
    const std::vector<unsigned> tree = sentence.heads(), gold = v.label_ids(sentence);
    std::vector<Expression> losses = {sum_batches(cross_entropy(label_scores(x, tree), gold))};
    for (nn::ParserState state(kSystem, tree.size()); state.apply_forced(), !state.is_done();) {
      const auto [right, wrong] = state.judge(tree);
      const Expression score = scores(x, state);
      const Tensor values = score.value();  // waits for the other sentences
      unsigned next = argmax(values, right);
      if (!wrong.empty()) {
        const unsigned rival = argmax(values, wrong);
        const float lead = values.v[next] - values.v[rival];
        if (lead < kMargin) losses.push_back(pick(score, rival) - pick(score, next) + kMargin);
        if (lead < 0 || (lead < kMargin && random.uniform() < kExploration)) next = rival;
      }
      state.apply(next);
    }
    return sum(losses);
  }

  HeadsAndLabels tree(ComputationGraph& graph, const Sentence& sentence) const {
    const Encoded x = encode(graph, sentence, v.word_ids(sentence));
    nn::ParserState state(kSystem, sentence.words.size());
    while (state.apply_forced(), !state.is_done()) {
      state.apply(argmax(scores(x, state).value(), state.allowed()));
    }
    return {state.heads(), argmax_of_columns(label_scores(x, state.heads()).value())};
  }
  /// The same sentences with predicted heads and labels.
  Sentences parse(const Sentences& sentences, const nn::PredictionOptions& how) const {
    const auto find = [&](auto& graph, const Sentence& each) { return tree(graph, each); };
    return parsed(sentences, v.labels, find, how);
  }
  Sentences parse(const Sentences& sentences) const {
    return parse(sentences,
                 {.batch_size = kTogether, .graph = options.graph(), .ranks = &options.ranks()});
  }
};

/// Measures parsing, and training without updates, both together and one by one: without dropout,
/// so that only the time differs.
nlohmann::json measure(const Model& trained, Sentences train, Sentences test) {
  ParameterCollection parameters;
  const Model model{
      .parameters = parameters, .options = trained.options, .v = trained.v, .rate = 0};
  copy_values(trained.parameters, parameters);
  for (Sentences* part : {&train, &test}) part->resize(std::min(part->size(), kMeasured));
  const auto parse = [&](unsigned together) {
    return model.parse(test, {.batch_size = together, .graph = {}});
  };
  const auto learn = [&](unsigned together) {
    std::vector<float> values;
    Minibatch batch;
    for (const auto& some : nn::sorted_minibatches(nn::sizes_of(train), together)) {
      batch.clear();
      batch.seed_samples(std::vector<std::uint64_t>(some.begin(), some.end()));
      const auto losses = for_each_sample(
          batch, some, [&](auto& graph, std::uint32_t i) { return model.loss(graph, train[i]); });
      batch.add_losses(losses);
      batch.forward();
      batch.backward();
      for (const Expression& loss : losses) values.push_back(as_scalar(loss.value()));
    }
    return values;
  };
  nlohmann::json report = measure_waiting("sentences", test.size(), kTogether, parse);
  const unsigned minibatch = model.options.whole("batch-size");
  report.update(measure_waiting("training_sentences", train.size(), minibatch, learn));
  return report;
}

int train(const Options& options) {
  const nn::Splits<Sentence> data = load_trees(options);
  ParameterCollection parameters(options.seed());
  const Model model{parameters, options, TreeVocabularies(data.train, options)};
  const Sentences trees = projective_trees(data.train);
  AdamTrainer trainer(parameters, 0.001f, 0.9f, 0.99f);
  load_vectors(options, model.v.words, model.words, trainer);
  trainer.enable_clipping(75);
  const nn::TrainingOptions training = parser_training(options, model, trees, data.dev);
  begin_training(options, parameters, data);
  const auto loss = [&](auto& graph, const Sentence& each) { return model.loss(graph, each); };
  const auto progress = nn::train(parameters, trainer, trees, loss, training);
  if (progress.interrupted) return stopped(options);
  if (options.has("explain")) explain_minibatch(trees, training.batch_size, loss);
  nlohmann::json report = measure(model, trees, data.test);
  report_test(report, attachment_scores(model, data.test));
  return finish(options, training, progress, report);
}

int apply(Options& options) {
  const nn::SavedModel saved = options.load_model();
  ParameterCollection parameters;
  const Model model{parameters, options, TreeVocabularies(saved)};
  saved.load(parameters);
  fmt::print("{}", nn::to_conllu(model.parse(nn::read_conllu(std::cin, kStandardInput))));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }
