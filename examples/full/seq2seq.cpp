// Sequence to sequence: an LSTM encoder, and a decoder with attention (Luong et al. 2015).
//
// Decoding is written for one sentence. Where it needs scores, the searches of a minibatch wait for
// each other: so one step of all sentences, and of all hypotheses of their beams, is computed
// together. Results:
//
//   seq2seq
//       commands as in SCAN: more than 98 % of new ones are right, in dev; about 10 seconds
//   seq2seq --train tasks_train_simple.txt --test tasks_test_simple.txt --epochs 10
//       SCAN (Lake and Baroni 2018): 99.95 % of 4,182; half a minute with two threads
//   seq2seq --train tasks_train_length.txt --test tasks_test_length.txt
//       longer commands than in training: 19.3 % of 3,920
//   seq2seq --train tasks_train_addprim_jump.txt --test tasks_test_addprim_jump.txt
//       a verb that was seen only alone: 0.03 % of 7,706, and 0 to 0.4 % with other seeds
#include <algorithm>

#include <fmt/format.h>

#include "examples/full/seq2seq/pairs.h"
#include "examples/full/support/program.h"
#include "nn/data/text.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;
using Strings = std::vector<std::string>;

constexpr unsigned kTogether = 128;  // sentences that are decoded at once
constexpr std::size_t kMeasured = 1024;

void add_options(OptionTable& table) {
  table.file("train", "pairs to train on, with --test");
  table.file("dev", "pairs to choose the best epoch on; without it, a twentieth of --train");
  table.file("test", "pairs to test on");
  table.whole("train-pairs", {1, 2e4}, "4000", kNever, "size of the generated training data");
  table.whole("test-pairs", {1, 1e4}, "500", kNever,
              "size of the development data and of the test data");
  table.whole("min-count", {1, 1e6}, "1", "source words that occur fewer than N times are unknown");
  table.whole("embedding", {1, 4096}, "32", "64", "size of a word's vector");
  table.whole("hidden", {1, 4096}, "96", "128", "size of an LSTM");
  table.real("dropout", {0, 0.95}, "0.1", "0.2", "dropout rate of words and outputs");
  table.whole("beam", {1, 1e4}, "1", "beam size; 1: greedy search").for_apply = true;
  table.real("length-penalty", {0, 10}, "0", "above 0: favours longer translations").for_apply =
      true;
  table.whole("max-length", {1, 1e5}, "100", "largest number of words in a translation").for_apply =
      true;
  table.flag("sample", "sample every word instead of searching").for_apply = true;
}

const Program kProgram = {
    "seq2seq",
    "Learns to translate. Files named *.txt are commands of SCAN; others have lines\n"
    "\"sentence TAB sentence\". Without files it generates commands. --apply translates sentences, "
    "one\n"
    "per line.\n",
    add_options,
    {{"12", "15"}, {"16", "16"}, {"0.006", "0.002"}, {"0.8", "0.8"}},
    "for SCAN",
    [](const Options& options) { return options.text("train").ends_with(".txt"); }};

std::vector<std::string> words_of(const std::string& sentence) { return nn::split_line(sentence); }

struct Model {
  ParameterCollection& parameters;
  const Options& options;
  Vocabularies words;
  unsigned size = options.whole("embedding"), hidden = options.whole("hidden");
  nn::Embedding source{parameters, words.source.size(), size, {.name = "source"}};
  nn::Embedding target{parameters, words.target.size(), size, {.name = "target"}};
  nn::BidirectionalLSTM encoder{parameters, size, hidden};
  nn::Linear start{parameters, 4 * hidden, hidden, {.name = "start"}};
  nn::LSTM decoder{parameters, size, hidden, {.name = "decoder"}};
  nn::BilinearAttention attention{parameters, 2 * hidden, hidden};
  nn::Linear combined{parameters, 3 * hidden, hidden, {.name = "combined"}};
  nn::Linear output{parameters, hidden, words.target.size(), {.name = "output"}};
  float rate = options.real("dropout");

  /// The state that the next word depends on, besides the source sentence.
  using State = nn::LSTM::State;
  struct Source {
    nn::AttentionMemory memory;  ///< what the decoder attends to
    State start;                 ///< of the decoder
  };

  Source read(ComputationGraph& graph, const std::string& sentence) const {
    // A sentence always begins with the unknown word, so that no sentence is empty.
    std::vector<Expression> xs = {source(graph, *words.source.unknown())};
    for (const auto& word : words_of(sentence)) {
      xs.push_back(dropout(source(graph, words.source.id(word)), rate));
    }
    const std::vector<Expression> states = encoder(xs);
    const Expression begin = tanh(start(concatenate({states.front(), states.back()})));
    const State state = {begin, zeros(graph, Dim({hidden}))};
    return {attention.read(states), decoder.step(state, target(graph, Vocabularies::kEnd))};
  }

  Expression scores(const Source& source, const State& state) const {
    const Expression context = attention(source.memory, state.h);
    return output(dropout(tanh(combined(concatenate({context, state.h}))), rate));
  }

  /// Teacher forcing: the decoder reads the correct translation, and predicts each next word.
  Expression loss(ComputationGraph& graph, const nn::TextPair& pair) const {
    const Source source = read(graph, pair.first);
    State state = source.start;
    std::vector<Expression> losses;
    for (const auto& word : words_of(pair.second)) {
      const std::uint32_t id = words.target.id(word);
      losses.push_back(cross_entropy(scores(source, state), id));
      state = decoder.step(state, dropout(target(graph, id), rate));
    }
    losses.push_back(cross_entropy(scores(source, state), Vocabularies::kEnd));
    return sum(losses);
  }

  /// The translation of a sentence: drawn with these random numbers, or the best that is found.
  std::string translate(ComputationGraph& graph, const std::string& sentence, Random random) const {
    const Source source = read(graph, sentence);
    const nn::BatchedSteps<State> steps = {
        .scores = [&](const State& state) { return scores(source, state); },
        .advance =
            [&](const State& state, const std::vector<unsigned>& words) {
              return decoder.step(state, target.minibatch(graph, words));
            }};
    const nn::SearchOptions search = {.end = Vocabularies::kEnd,
                                      .max_length = options.whole("max-length"),
                                      .beam = options.whole("beam"),
                                      .length_penalty = options.real("length-penalty")};
    const auto found = options.has("sample") ? nn::sample(source.start, steps, random, search)
                       : search.beam == 1    ? nn::greedy(source.start, steps, search)
                                             : nn::beam_search(source.start, steps, search).front();
    return nn::join_units(words.target, found.actions);
  }

  /// Translates several sentences, `together` at once. `first` is the number of the first one among
  /// all.
  Strings translate(const Strings& sentences, unsigned threads, unsigned together,
                    std::size_t first = 0) const {
    std::vector<std::uint32_t> sizes;  // similar sizes together: they wait less
    for (const auto& sentence : sentences) sizes.push_back(words_of(sentence).size());
    const auto translation = [&](ComputationGraph& graph, std::size_t i) {
      const Random random(options.seed(), std::uint64_t{first + i} << 32);
      return translate(graph, sentences[i], random);
    };
    return nn::predict(sentences.size(), translation,
                       {.batch_size = together, .sizes = sizes, .graph = {.threads = threads}});
  }
};

Strings sources_of(const std::vector<nn::TextPair>& pairs) {
  Strings sources;
  for (const nn::TextPair& pair : pairs) sources.push_back(pair.first);
  return sources;
}

/// The share of pairs in which every word is right.
double exact_match(const Model& model, const std::vector<nn::TextPair>& pairs) {
  const unsigned threads = model.options.whole("threads");
  const Strings found = model.translate(sources_of(pairs), threads, kTogether);
  nn::Accuracy accuracy;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    accuracy.add(words_of(found[i]) == words_of(pairs[i].second));
  }
  return accuracy.value();
}

int train(const Options& options) {
  options.need_none("sample", {"beam", "length-penalty"});
  const nn::Splits<nn::TextPair> data = load_pairs(options);
  const Vocabularies vocabularies(data.train, options.whole("min-count"));
  ParameterCollection parameters(options.seed());
  const Model model{parameters, options, vocabularies};
  AdamTrainer trainer(parameters);
  trainer.enable_clipping(1);
  nn::TrainingOptions training = options.training("sentences", "exact match");
  training.files.texts = {{"source", vocabularies.source.to_text()},
                          {"target", vocabularies.target.to_text()}};
  for (const auto& pair : data.train) training.sizes.push_back(words_of(pair.second).size());
  training.stopping.dev_score = [&] { return exact_match(model, data.dev); };
  begin_training(options, parameters, data);
  const auto loss = [&](auto& graph, const nn::TextPair& pair) { return model.loss(graph, pair); };
  const auto progress = nn::train(trainer, data.train, loss, training);
  if (progress.interrupted) return stopped();
  if (options.has("explain")) explain_minibatch(data.train, training.batch_size, loss);
  Strings sentences = sources_of(data.test);
  sentences.resize(std::min(sentences.size(), kMeasured));
  const auto decide = [&](unsigned together) { return model.translate(sentences, 1, together); };
  nlohmann::json report = measure_waiting("sentences", sentences.size(), kTogether, decide);
  report["exact_match"] = exact_match(model, data.test);
  report["dev_exact_match"] = progress.best_score;
  fmt::print("test: {:.2f} % of {} sentences are right\n",
             100 * report["exact_match"].get<double>(), data.test.size());
  return finish(options, training, progress, report);
}

int apply(Options& options) {
  options.need_none("sample", {"beam", "length-penalty"});
  const nn::SavedModel saved = options.load_model();
  ParameterCollection parameters;
  const Model model{parameters, options, Vocabularies(saved)};
  saved.load(parameters);
  answer_lines(std::cin, std::cout, kTogether, [&](const auto& lines, std::size_t first) {
    const Strings sentences(lines.begin(), lines.end());
    const unsigned threads = options.whole("threads");
    return fmt::format("{}\n",
                       fmt::join(model.translate(sentences, threads, kTogether, first), "\n"));
  });
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }
