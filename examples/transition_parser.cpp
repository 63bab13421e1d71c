// A transition-based dependency parser: it reads a sentence from left to right, and decides step by
// step which word gets which head.
#include "examples/support/generated.h"
#include "examples/support/program.h"
#include "examples/transition_parser/parser.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;
using Sentences = std::vector<nn::ConlluSentence>;

const Program kProgram = {
    "transition_parser",
    "Learns to parse from files in CoNLL-U. --apply reads sentences in CoNLL-U from standard "
    "input\n"
    "and writes them with the heads and labels that it finds.\n",
    "with --train",
    [](const Options& options) { return options.has("train"); },
    {{"train", "FILE", "", "", "sentences to train on, with --dev and --test"},
     {"dev", "FILE", "", "", "sentences to choose the best epoch on"},
     {"test", "FILE", "", "", "sentences to test on"},
     {"hidden",
      "N",
      "32",
      "200",
      "size of an LSTM; of words a half, of tags a quarter",
      {4, 4096}}},
    {{"6", "15"}, {"32", "32"}, {"0.01", "0.002"}}};

nn::Splits<nn::ConlluSentence> load(const Options& options) {
  options.need_all_or_none({"train", "dev", "test"});
  const auto read = [&](const char* name) { return nn::read_conllu(options.text(name)); };
  if (options.is_special()) return {read("train"), read("dev"), read("test")};
  const auto make = [&](auto n, int part) { return generated_trees(n, options.seed() + part); };
  return {make(1500, 0), make(200, 1), make(500, 2)};
}

Sentences parse(const TransitionParser& parser, Sentences sentences, std::size_t together,
                GraphOptions options) {
  options.inference = true;
  Minibatch batch(options);
  for (const auto& samples : nn::sorted_minibatches(nn::sizes_of(sentences), together)) {
    batch.clear();
    for_each_sample(batch, samples, [&](ComputationGraph& graph, std::uint32_t sample) {
      parser.parse(graph, sentences[sample]);
    });
  }
  return sentences;
}

int train(const Options& options) {
  const nn::Splits<nn::ConlluSentence> data = load(options);
  Sentences train = data.train;
  std::erase_if(train, [](const nn::ConlluSentence& sentence) {
    const std::vector<unsigned> heads = sentence.heads();
    return !nn::is_tree(heads, nn::Roots::one) || !nn::is_projective(heads);
  });
  const ParserVocabularies vocabularies(data.train);
  TransitionParser parser(vocabularies, options.whole("hidden"));
  AdamTrainer trainer(parser.model, 0.001f, 0.9f, 0.99f);
  trainer.enable_clipping(5);
  nn::TrainingOptions training = options.training("sentences", "LAS");
  training.mean_losses = true;
  const nn::CosineRate cosine = {.peak = options.real("learning-rate"),
                                 .updates = training.updates(train.size()),
                                 .floor = 1e-5f};
  training.schedule = nn::WarmUp{100, cosine};
  training.texts = {{"words", vocabularies.words.to_text()},
                    {"tags", vocabularies.tags.to_text()},
                    {"labels", vocabularies.labels.to_text()}};
  begin_training(options, parser.model, data);
  fmt::print("left out: {} trees\n", data.train.size() - train.size());
  nn::TrainingRun run(parser.model, trainer, training);
  Minibatch batch(options.graph(&run.random()));
  const std::vector<std::uint32_t> sizes = nn::sizes_of(train);
  const auto evaluate = [&](const Sentences& gold) {
    return nn::AttachmentScores(gold, parse(parser, gold, 32, options.graph()));
  };
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(sizes)) {
      batch.clear();
      const std::uint64_t seed = run.random()();
      batch.add_losses(for_each_sample(batch, samples, [&](ComputationGraph& graph, auto sample) {
        Random random(seed, std::uint64_t{sample} << 32);
        return parser.loss(graph, train[sample], random, true);
      }));
      run.update(batch, nn::total_size(sizes, samples));
    }
    run.finish_epoch([&] { return evaluate(data.dev).labelled(); });
  }
  if (run.interrupted()) return stopped(options);
  const nn::AttachmentScores test = evaluate(data.test);
  fmt::print("test: UAS {:.1f} %, LAS {:.1f} % of {} words\n", 100 * test.unlabelled(),
             100 * test.labelled(), test.words());
  return finish(options, run, {{"uas", test.unlabelled()}, {"las", test.labelled()}});
}

int apply(Options& options) {
  const nn::SavedModel saved = options.load_model();
  const ParserVocabularies vocabularies(saved);
  TransitionParser parser(vocabularies, options.whole("hidden"));
  saved.load(parser.model);
  const Sentences sentences = nn::read_conllu(std::cin, kStandardInput);
  fmt::print("{}", nn::to_conllu(parse(parser, sentences, 32, options.graph())));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }
