// Dependency parsers: one program with three models, which parser/*.cpp describe. Scores are UAS
// and LAS of toy sentences, and of the test data of the English Web Treebank (Universal
// Dependencies 2.16), words and parts of speech as annotated, punctuation and subtypes of labels
// counted:
//   parser [--model biaffine]    96.8 % and 96.8 %; 2 seconds of processor time
//   parser --model transition    100.0 % and 100.0 %; 3 seconds
//   parser --model stack-lstm    100.0 % and 100.0 %; 4 seconds
//   data="--train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu --test en_ewt-ud-test.conllu"
//   parser $data                 88.8 % and 86.6 %; 4.5 minutes, which two threads share
//   parser $data --model transition --min-count 1    89.7 % and 87.9 %; 3.5 minutes
//   parser $data --model stack-lstm --min-count 1 --hidden 100 --learning-rate 0.003
//                                88.0 % and 85.7 %; 3.5 minutes
#include <algorithm>

#include "examples/full/parser/model.h"
#include "examples/full/support/generated.h"
#include "examples/full/support/program.h"
#include "examples/full/support/word_vectors.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;

constexpr unsigned kTogether = 128;     // sentences that are parsed at once
constexpr std::size_t kMeasured = 512;  // sentences

void add_options(OptionTable& table) {
  table.files("sentences");
  table.word("model", "biaffine|transition|stack-lstm", "biaffine", "how sentences are parsed");
  table.whole("train-sentences", {1, 1e7}, "1500", kNever, "size of the generated training data");
  table.whole("min-count", {1, 1e6}, "2", "words that occur fewer than N times are unknown");
  table.whole("embedding", {1, 4096}, "16", "100", "size of a word's vector");
  table.whole("hidden", {4, 4096}, "32", "200",
              "size of an LSTM; a tag's vector has a quarter of it");
  table.real("dropout", {0, 0.95}, "0.33", "dropout rate");
  add_vector_options(table);
  add_encoder_options(table);
}

const Program kProgram = {"parser",
                          "Learns to parse sentences in CoNLL-U. --apply reads sentences in "
                          "CoNLL-U from standard input,\n"
                          "and writes them with predicted heads and labels.\n",
                          add_options,
                          {{"8", "15"}, {"32", "32"}, {"0.01", "0.002"}}};

struct Parser {
  const Inputs& in;
  std::unique_ptr<ParserModel> model = new_model();

  std::unique_ptr<ParserModel> new_model() const {
    const std::string name = in.options.text("model");
    return name == "biaffine"     ? new_biaffine_model(in)
           : name == "transition" ? new_transition_model(in)
                                  : new_stack_lstm_model(in);
  }
  /// The same sentences with predicted heads and labels.
  Sentences parse(Sentences sentences, nn::PredictionOptions how) const {
    const std::vector<unsigned> sizes = nn::sizes_of(sentences);
    how.sizes = sizes;
    const auto tree = [&](auto& graph, const Sentence& each) { return model->tree(graph, each); };
    const std::vector<HeadsAndLabels> found = nn::predict(sentences, tree, how);
    for (std::size_t i = 0; i < found.size(); ++i) {
      sentences[i].set_heads(found[i][0]);
      sentences[i].set_column(&nn::ConlluColumns::deprel, in.v.labels.words(found[i][1]));
    }
    return sentences;
  }
  Sentences parse(const Sentences& sentences) const {
    return parse(
        sentences,
        {.batch_size = kTogether, .graph = in.options.graph(), .ranks = &in.options.ranks()});
  }
  nn::AttachmentScores scores(const Sentences& gold) const { return {gold, parse(gold)}; }
};

nn::Splits<Sentence> load(const Options& options) {
  const auto read = [](const std::string& file) { return nn::read_conllu(file); };
  if (auto data = read_splits<Sentence>(options, read)) return *data;
  const auto make = [&](auto n, int part) { return generated_trees(n, options.seed() + part); };
  return {make(options.whole("train-sentences"), 0), make(200, 1), make(500, 2)};
}

/// The trees that transitions can build: without crossing arcs, and with one root.
Sentences projective(Sentences trees) {
  const auto others = std::erase_if(
      trees, [](const auto& tree) { return !nn::TransitionSystem::can_make(tree.heads()); });
  if (trees.empty())
    throw UsageError("need a tree without crossing arcs and with one root to learn from; got none");
  fmt::print("left out {} training trees, which transitions cannot build\n", others);
  return trees;
}

/// Measures parsing, and training without updates, both together and one by one.
nlohmann::json measure(const Parser& parser, Sentences train, Sentences test) {
  for (Sentences* part : {&train, &test}) part->resize(std::min(part->size(), kMeasured));
  const auto parse = [&](unsigned together) {
    return parser.parse(test, {.batch_size = together, .graph = {}});
  };
  const auto learn = [&](unsigned together) {
    std::vector<float> values;
    Minibatch batch;
    for (const auto& some : nn::sorted_minibatches(nn::sizes_of(train), together)) {
      batch.clear();
      batch.seed_samples(std::vector<std::uint64_t>(some.begin(), some.end()));
      batch.add_losses(for_each_sample(batch, some, [&](auto& graph, std::uint32_t i) {
        return parser.model->loss(graph, train[i]);
      }));
      batch.forward();
      batch.backward();
      for (std::size_t i = 0; i < some.size(); ++i) values.push_back(batch.loss_of(i, i + 1));
    }
    return values;
  };
  nlohmann::json report = measure_waiting("sentences", test.size(), kTogether, parse);
  const unsigned minibatch = parser.in.options.whole("batch-size");
  report.update(measure_waiting("training_sentences", train.size(), minibatch, learn));
  return report;
}

int train(const Options& options) {
  const nn::Splits<Sentence> data = load(options);
  ParameterCollection parameters(options.seed());
  const auto encoder = load_encoder(options, parameters);
  const Inputs inputs{parameters, options, TreeVocabularies(data.train, options), encoder};
  const Parser parser{inputs};
  const bool takes_all = options.text("model") == "biaffine";
  const Sentences trees = takes_all ? data.train : projective(data.train);
  AdamTrainer trainer(parameters, 0.001f, 0.9f, 0.99f);
  load_vectors(options, inputs.v.words, inputs.words, trainer);
  trainer.enable_clipping(75);
  nn::TrainingOptions training = options.training("sentences", "LAS");
  const nn::CosineRate cosine = {.peak = options.real("learning-rate"),
                                 .updates = training.updates(trees.size()),
                                 .floor = 1e-5f};
  training.schedule.rate = nn::WarmUp{100, cosine};
  training.files.texts = inputs.v.texts();
  training.sizes = nn::sizes_of(trees);
  training.stopping.dev_score = [&] { return parser.scores(data.dev).labelled(); };
  tune(encoder, options, trees.size(), trainer, training);
  begin_training(options, parameters, data);
  const auto loss = [&](auto& graph, const Sentence& each) {
    return parser.model->loss(graph, each);
  };
  const auto progress = nn::train(trainer, trees, loss, training);
  if (progress.interrupted) return stopped();
  if (options.has("explain")) explain_minibatch(trees, training.batch_size, loss);
  nlohmann::json report = measure(parser, trees, data.test.empty() ? data.dev : data.test);
  report["dev_las"] = progress.best_score;
  if (!data.test.empty()) {
    const nn::AttachmentScores scores = parser.scores(data.test);
    fmt::print("test: UAS {:.1f} %, LAS {:.1f} % of {} words\n", 100 * scores.unlabelled(),
               100 * scores.labelled(), scores.words());
    report.update({{"uas", scores.unlabelled()}, {"las", scores.labelled()}});
  }
  return finish(options, training, progress, report);
}

int apply(Options& options) {
  const nn::SavedModel saved = options.load_model();
  ParameterCollection parameters;
  const auto encoder = saved_encoder(options, saved, parameters);
  const Inputs inputs{parameters, options, TreeVocabularies(saved), encoder};
  const Parser parser{inputs};
  saved.load(parameters);
  fmt::print("{}", nn::to_conllu(parser.parse(nn::read_conllu({std::cin, kStandardInput}))));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }
