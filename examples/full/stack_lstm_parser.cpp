// A transition-based dependency parser whose next step depends on everything that it has read and
// done: the stack LSTM parser of Dyer et al. (2015).
//
// LSTMs read the stack, the buffer from its end, and the actions so far. When a word leaves the
// stack, the LSTM of the stack returns to its earlier state (`nn::StackState`). When a word gets a
// dependant, it is replaced by a composition of both and the label of the arc. Transitions are
// those of arc-standard, with labels. Training follows the static oracle, so nothing waits; in
// parsing, `nn::predict` runs the steps of many sentences together.
//   stack_lstm_parser    a toy grammar: UAS and LAS 100.0 %; 4 seconds of processor time
//   stack_lstm_parser --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu
//       --test en_ewt-ud-test.conllu    the English Web Treebank (Universal Dependencies 2.16),
//       words and parts of speech as annotated, no vectors from elsewhere, punctuation and subtypes
//       of labels counted: UAS 88.0 %, LAS 85.7 %; 15 epochs, 3.5 minutes of processor time
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
using Stack = nn::StackState<nn::LSTM>;

constexpr unsigned kTogether = 128;     // sentences that are parsed at once
constexpr std::size_t kMeasured = 512;  // sentences
constexpr double kRare = 0.25;  // a word with n occurrences is dropped at kRare / (kRare + n)

const Program kProgram = {
    "stack_lstm_parser",
    "Learns to parse sentences in CoNLL-U. --apply reads sentences in CoNLL-U from standard input, "
    "and\n"
    "writes them with predicted heads and labels.\n",
    "with --train",
    [](const Options& options) { return options.has("train"); },
    {{"train", "FILE", "", "", "sentences to train on, with --dev and --test"},
     {"dev", "FILE", "", "", "development data: sentences to choose the best epoch on"},
     {"test", "FILE", "", "", "sentences to test on"},
     {"train-sentences", "N", "1500", kNever, "size of the generated training data", {1, 1e7}},
     {"embedding", "N", "32", "100", "size of a word's vector", {1, 4096}},
     {"hidden", "N", "32", "100", "size of an LSTM", {4, 4096}},
     {"dropout", "X", "0.2", "0.33", "dropout rate", {0, 0.95}},
     kVectors,
     kVectorsRate,
     kMoreWords,
     kLowerCase,
     kDigits},
    {{"6", "15"}, {"32", "32"}, {"0.01", "0.003"}}};

struct Model {
  ParameterCollection& parameters;
  const Options& options;
  TreeVocabularies v;
  nn::TransitionSystem system{nn::TransitionSystem::arc_standard, v.labels.size()};
  unsigned size = options.whole("embedding"), hidden = options.whole("hidden");
  nn::Embedding words{parameters, v.words.size(), size, {.name = "words"}};
  nn::Embedding tags{parameters, v.tags.size(), hidden / 4, {.name = "tags"}};
  nn::Embedding actions{parameters, system.size(), hidden / 4, {.name = "actions"}};
  nn::Embedding relations{parameters, system.size(), hidden / 4, {.name = "relations"}};
  nn::Linear tokens{parameters, size + hidden / 4, hidden, {.name = "tokens"}};
  nn::Linear composition{parameters, 2 * hidden + hidden / 4, hidden, {.name = "composition"}};
  nn::LSTM stack_reader{parameters, hidden, hidden, {.name = "stack"}};
  nn::LSTM buffer_reader{parameters, hidden, hidden, {.name = "buffer"}};
  nn::LSTM action_reader{parameters, hidden / 4, hidden, {.name = "history"}};
  nn::Linear summary{parameters, 3 * hidden, hidden, {.name = "summary"}};
  nn::Linear transitions{parameters, hidden, system.size(), {.name = "transitions"}};
  float rate = options.real("dropout");

  /// A partial parse of a sentence, with the states of the LSTMs.
  struct Parse {
    nn::ParserState state;
    Stack stack, buffer;
    nn::LSTM::State history;
  };
  Parse start(ComputationGraph& graph, const Sentence& sentence,
              const std::vector<unsigned>& word_ids) const {
    const Expression x =
        concatenate({words.columns(graph, word_ids), tags.columns(graph, v.tag_ids(sentence))});
    const Expression all = dropout(relu(tokens(x)), rate);
    Parse parse{{system, sentence.words.size()},
                {stack_reader, stack_reader.start(graph)},
                {buffer_reader, buffer_reader.start(graph)},
                action_reader.start(graph)};
    parse.buffer.push(pick(all, 0, 1));  // the root is behind the words
    for (unsigned i = word_ids.size() - 1; i > 0; --i) parse.buffer.push(pick(all, i, 1));
    return parse;
  }
  Expression scores(const Parse& parse) const {
    const Expression x = summary(
        concatenate({parse.stack.top(), parse.buffer.top(), nn::LSTM::output(parse.history)}));
    return transitions(dropout(relu(x), rate));
  }
  void apply(ComputationGraph& graph, Parse& parse, unsigned transition) const {
    const nn::TransitionStep step = parse.state.apply(transition);
    if (step.pushed) {
      parse.stack.push(parse.buffer.pop());
    } else {
      Expression head = parse.stack.pop(), dependant = parse.stack.pop();
      if (step.kind == nn::TransitionKind::right) std::swap(head, dependant);
      parse.stack.push(
          tanh(composition(concatenate({head, dependant, relations(graph, transition)}))));
    }
    parse.history = action_reader.step(parse.history, actions(graph, transition));
  }

  /// The losses of the oracle's transitions, among those that are allowed. Some words are dropped,
  /// rare ones most often.
  Expression loss(ComputationGraph& graph, const Sentence& sentence) const {
    Random random = graph.random();
    std::vector<unsigned> ids = v.word_ids(sentence);
    for (unsigned& id : ids) {
      if (random.uniform() < kRare / (kRare + v.words.count(id))) id = *v.words.unknown();
    }
    const std::vector<unsigned> heads = sentence.heads(), labels = v.label_ids(sentence);
    std::vector<Expression> losses;
    Parse parse = start(graph, sentence, ids);
    while (!parse.state.is_done()) {
      const unsigned right = parse.state.oracle(heads, labels);
      const std::vector<unsigned> allowed = parse.state.allowed();
      if (allowed.size() > 1) losses.push_back(-pick(log_softmax(scores(parse), allowed), right));
      apply(graph, parse, right);
    }
    return sum(losses);
  }

  HeadsAndLabels tree(ComputationGraph& graph, const Sentence& sentence) const {
    Parse parse = start(graph, sentence, v.word_ids(sentence));
    while (!parse.state.is_done()) {
      const std::vector<unsigned> allowed = parse.state.allowed();
      apply(graph, parse,
            allowed.size() == 1 ? allowed[0] : argmax(scores(parse).value(), allowed));
    }
    return {parse.state.heads(), parse.state.labels()};
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
  Sentences some = data.test;
  some.resize(std::min(some.size(), kMeasured));
  const auto parse = [&](unsigned together) {
    return model.parse(some, {.batch_size = together, .graph = {}});
  };
  nlohmann::json report = measure_waiting("sentences", some.size(), kTogether, parse);
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
