// Reading the command line, and the network's part of it from a model file.
#include "examples/tagger/options.h"

#include <sstream>
#include <string_view>

#include <boost/program_options.hpp>
#include <fmt/core.h>

#include "dynet_like/core/errors.h"
#include "examples/support/command_line.h"

namespace dynet_like::examples {

namespace {

namespace po = boost::program_options;

constexpr unsigned kMostThreads = 8;  // by default: more find too little to do in a minibatch

constexpr std::string_view kUsage =
    "usage: tagger [OPTION...]\n"
    "       tagger --apply [--output FOLDER] < SENTENCES > LABELS\n\n"
    "Trains a network that gives every word of a sentence a label. It reads words by their\n"
    "characters and by a vector of their own, and sentences from both ends. By default it\n"
    "generates sentences of an artificial language and learns their parts of speech.\n\n"
    "  tagger --data FOLDER --output pos          with the files of a Universal Dependencies\n"
    "                                             treebank: parts of speech (UPOS)\n"
    "  tagger --data FOLDER --crf --output names  with the files of WNUT-17: named entities\n"
    "  tagger --format columns --train FILE --dev FILE --test FILE\n"
    "                                             any labels, one \"word TAB label\" per line\n"
    "  echo \"I saw a saw .\" | tagger --apply --output pos\n"
    "                                             labels tokenised sentences, one per line\n\n"
    "Ctrl-C saves, and --resume goes on from there.\n\n";

// Entities are few, and new ones are met all the time: such data needs more steps, and a network
// that does not rely on the words it knows.
TaggerOptions defaults(bool has_crf) {
  TaggerOptions options;
  options.threads = default_threads(kMostThreads);
  if (!has_crf) return options;
  options.character_hidden = 64;
  options.word_dropout = 0.4f;
  options.outside_bias = 1;
  options.epochs = 20;
  options.batch_size = 10;
  options.decay = 0.93f;
  return options;
}

po::options_description all_options() {
  using Options = TaggerOptions;
  const auto group = [](const char* title) {
    return OptionGroup<Options>(title, defaults(false), "with --crf", defaults(true));
  };
  po::options_description all("Options, with their defaults in parentheses");
  all.add(
      group("Data")
          .add("data", "FOLDER",
               "train, choose and test on the files in this folder: *-ud-train.conllu, "
               "*-ud-dev.conllu and *-ud-test.conllu; or wnut17train.conll, "
               "emerging.dev.conll and emerging.test.annotated")
          .add("train", "FILE", "train on this file, with --dev, --test and --format")
          .add("dev", "FILE", "choose the best epoch on this file")
          .add("test", "FILE", "test on this file")
          .add("format", "FORMAT",
               "of these files: conllu (the columns FORM and UPOS) or columns (word TAB label, "
               "with blank lines between sentences)")
          .add("train-sentences", "N", "generated sentences to train on", &Options::train_sentences)
          .add("dev-sentences", "N", "generated sentences to choose the best epoch on",
               &Options::dev_sentences)
          .add("test-sentences", "N", "generated sentences to test on", &Options::test_sentences)
          .add("min-count", "N", "words that are rarer have characters only", &Options::min_count));
  all.add(group("Network")
              .add("embedding", "N", "size of a word's vector", &Options::embedding)
              .add("characters", "N", "size of a character's vector", &Options::characters)
              .add("character-hidden", "N", "size of what one direction says of the characters",
                   &Options::character_hidden)
              .add("hidden", "N", "size of what one direction says of the words", &Options::hidden)
              .add("layers", "N", "layers over the words", &Options::layers)
              .add_flag("crf",
                        "score sequences of labels, not every label by itself: for named entities")
              .add("dropout", "P", "share of zeros between layers when training", &Options::dropout)
              .add("word-dropout", "P", "share of words that have characters only when training",
                   &Options::word_dropout)
              .add("outside-bias", "X",
                   "lowers the score of the label O when labels are chosen: more entities are "
                   "found, and more that are none",
                   &Options::outside_bias));
  all.add(group("Training")
              .add("epochs", "N", "how often all sentences are seen", &Options::epochs)
              .add("batch-size", "N", "sentences in a minibatch", &Options::batch_size)
              .add("learning-rate", "X", "of Adam, in the first epoch", &Options::learning_rate)
              .add("decay", "X", "the learning rate's factor from epoch to epoch", &Options::decay)
              .add("seed", "N", "of everything random", &Options::seed)
              .add("threads", "N", "threads; they change no result", &Options::threads));
  all.add(device_options());
  all.add(group("Files")
              .add("output", "FOLDER", "for the best model and the checkpoint", &Options::output)
              .add_flag("resume", "go on from the checkpoint in that folder")
              .add("report", "FILE", "write the results there as JSON")
              .add_flag("apply",
                        "label sentences from standard input with the best model in that folder")
              .add_flag("help,h", "show this"));
  return all;
}

void check(const ValueReader& reader, const TaggerOptions& options) {
  reader.need_only("apply", {"output", "batch-size", "threads", "device"});
  for (const char* source : {"data", "train"}) {
    reader.need_none(source, {"train-sentences", "dev-sentences", "test-sentences"});
  }
  reader.need_none("data", {"train", "format"});
  reader.need_with("train", "format");
  reader.need_with("format", "train");
  const bool has_files = !options.train.empty() || !options.dev.empty() || !options.test.empty();
  if (has_files && (options.train.empty() || options.dev.empty() || options.test.empty())) {
    throw UsageError("need all of --train, --dev and --test; got some");
  }
}

}  // namespace

TaggerOptions parse_tagger_options(int argc, char** argv) {
  const OptionValues values = read_command_line(argc, argv, all_options());
  const ValueReader reader(values);
  TaggerOptions options = defaults(reader.has("crf"));
  reader.read("help", options.help);
  if (options.help) return options;
  reader.read("data", options.data);
  reader.read("train", options.train);
  reader.read("dev", options.dev);
  reader.read("test", options.test);
  reader.read("format", options.format, {"conllu", "columns"});
  reader.read("train-sentences", options.train_sentences, 1, 1e8);
  reader.read("dev-sentences", options.dev_sentences, 1, 1e7);
  reader.read("test-sentences", options.test_sentences, 1, 1e7);
  reader.read("min-count", options.min_count, 1, 1e6);
  read_network(reader, options);
  reader.read("epochs", options.epochs, 1, 1e6);
  reader.read("batch-size", options.batch_size, 1, 1e5);
  reader.read("learning-rate", options.learning_rate, 1e-9, 10);
  reader.read("decay", options.decay, 0.01, 1);
  reader.read("seed", options.seed, 0, 1e15);
  reader.read("threads", options.threads, 1, 256);
  reader.read("output", options.output);
  reader.read("resume", options.resume);
  reader.read("report", options.report);
  reader.read("apply", options.apply);
  check(reader, options);
  options.resume_command = resume_command(argc, argv);
  return options;
}

std::string tagger_help_text() {
  std::ostringstream text;
  text << kUsage << all_options();
  return text.str();
}

Metadata metadata_of(const NetworkOptions& options) {
  const auto real = [](float number) { return fmt::format("{}", number); };  // reads back the same
  return {{"--embedding", std::to_string(options.embedding)},
          {"--characters", std::to_string(options.characters)},
          {"--character-hidden", std::to_string(options.character_hidden)},
          {"--hidden", std::to_string(options.hidden)},
          {"--layers", std::to_string(options.layers)},
          {"--dropout", real(options.dropout)},
          {"--word-dropout", real(options.word_dropout)},
          {"--outside-bias", real(options.outside_bias)},
          {"--crf", options.crf ? "yes" : "no"}};
}

void read_network(const ValueReader& reader, NetworkOptions& options) {
  reader.read("embedding", options.embedding, 1, 4096);
  reader.read("characters", options.characters, 1, 4096);
  reader.read("character-hidden", options.character_hidden, 1, 4096);
  reader.read("hidden", options.hidden, 1, 4096);
  reader.read("layers", options.layers, 1, 16);
  reader.read("crf", options.crf);
  reader.read("dropout", options.dropout, 0, 0.95);
  reader.read("word-dropout", options.word_dropout, 0, 0.95);
  reader.read("outside-bias", options.outside_bias, -100, 100);
}

}  // namespace dynet_like::examples
