// Reading the command line with Boost.Program_options.
#include "examples/tree_lstm/options.h"

#include <sstream>
#include <string_view>

#include <boost/program_options.hpp>

namespace dynet_like::examples {

namespace {

namespace po = boost::program_options;

constexpr std::string_view kUsage =
    "usage: tree_lstm [OPTION...]\n"
    "       tree_lstm --apply [--output FOLDER] < TREES > LABELS\n\n"
    "Trains a Tree-LSTM to label trees: by default ListOps expressions such as\n"
    "[MAX 2 [MIN 4 7 ] 0 ], which it generates itself, or those of a folder with\n"
    "train.txt, dev.txt and test.txt in the format of the Stanford Sentiment Treebank.\n"
    "--apply reads them as files have them: for ListOps a label, a tab and an expression\n"
    "such as ( ( ( [MAX 2 ) 3 ) ] ).\n"
    "Ctrl-C saves, and --resume goes on from there.\n\n";

Options defaults(bool is_listops) {
  Options options;
  options.threads = default_threads(options.parts);
  if (is_listops) return options;
  options.embedding = options.hidden = 150;
  options.dropout = 0.5f;
  options.epochs = 10;
  options.batch_size = 25;
  options.learning_rate = 0.001f;
  options.decay = 0.8f;
  options.output = "tree_lstm_sst";
  return options;
}

po::options_description all_options() {
  const auto group = [](const char* title) {
    return OptionGroup<Options>(title, defaults(true), "with --data", defaults(false));
  };
  po::options_description all("Options, with their defaults in parentheses");
  all.add(
      group("Data")
          .add("data", "FOLDER", "train, choose and test on the treebank in this folder")
          .add("listops-test", "FILE", "test on this file in ListOps' original format")
          .add("train-trees", "N", "ListOps trees to train on", &Options::train_trees)
          .add("dev-trees", "N", "ListOps trees to choose the best epoch on", &Options::dev_trees)
          .add("test-trees", "N", "ListOps trees to test on", &Options::test_trees)
          .add("max-tokens", "N", "the most tokens of a generated tree", &Options::max_tokens)
          .add("min-count", "N", "rarer words of a treebank are unknown", &Options::min_count));
  all.add(group("Model")
              .add("embedding", "N", "size of a word's vector", &Options::embedding)
              .add("hidden", "N", "size of a node's h and c", &Options::hidden)
              .add("dropout", "P", "share of zeros in words and outputs when training",
                   &Options::dropout));
  all.add(group("Training")
              .add("epochs", "N", "how often all trees are seen", &Options::epochs)
              .add("batch-size", "N", "trees in a minibatch", &Options::batch_size)
              .add("learning-rate", "X", "of Adam, in the first epoch", &Options::learning_rate)
              .add("decay", "X", "the learning rate's factor from epoch to epoch", &Options::decay)
              .add_flag("root-loss", "loss at the root only, not at every node with a label")
              .add("seed", "N", "of everything random", &Options::seed)
              .add("parts", "N",
                   "parts of a minibatch, for threads; they change results in the last "
                   "digits",
                   &Options::parts)
              .add("threads", "N", "threads; they change no result", &Options::threads));
  all.add(device_options());
  all.add(group("Files")
              .add("output", "FOLDER", "for the best model and the checkpoint", &Options::output)
              .add_flag("resume", "go on from the checkpoint in that folder")
              .add("report", "FILE", "write the results there as JSON")
              .add_flag("apply",
                        "write every tree of standard input, one per line, after the label that "
                        "the best model in that folder gives its root and a tab; lines are those "
                        "of --data or --listops-test, and their labels do not matter")
              .add_flag("help,h", "show this"));
  return all;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  const OptionValues values = read_command_line(argc, argv, all_options());
  const ValueReader reader(values);
  Options options = defaults(!reader.has("data"));
  reader.read("help", options.help);
  if (options.help) return options;
  reader.read("data", options.data);
  reader.read("listops-test", options.listops_test);
  reader.read("train-trees", options.train_trees, 1, 1e8);
  reader.read("dev-trees", options.dev_trees, 1, 1e7);
  reader.read("test-trees", options.test_trees, 1, 1e7);
  reader.read("max-tokens", options.max_tokens, 20, 1e4);
  reader.read("min-count", options.min_count, 1, 1e6);
  read_network(reader, options);
  reader.read("epochs", options.epochs, 1, 1e6);
  reader.read("batch-size", options.batch_size, 1, 1e5);
  reader.read("learning-rate", options.learning_rate, 1e-9, 10);
  reader.read("decay", options.decay, 0.01, 1);
  reader.read("root-loss", options.root_loss);
  reader.read("seed", options.seed, 0, 1e15);
  reader.read("parts", options.parts, 1, 256);
  options.threads = default_threads(options.parts);
  reader.read("threads", options.threads, 1, 256);
  reader.read("output", options.output);
  reader.read("resume", options.resume);
  reader.read("apply", options.apply);
  reader.read("report", options.report);
  reader.need_only("apply", {"output", "threads", "device"});
  reader.need_none("data",
                   {"listops-test", "train-trees", "dev-trees", "test-trees", "max-tokens"});
  reader.need_none("listops-test", {"test-trees"});
  reader.need_with("min-count", "data");
  options.resume_command = resume_command(argc, argv);
  return options;
}

void read_network(const ValueReader& reader, NetworkOptions& options) {
  reader.read("embedding", options.embedding, 1, 4096);
  reader.read("hidden", options.hidden, 1, 4096);
  reader.read("dropout", options.dropout, 0, 0.95);
}

std::string help_text() {
  std::ostringstream text;
  text << kUsage << all_options();
  return text.str();
}

}  // namespace dynet_like::examples
