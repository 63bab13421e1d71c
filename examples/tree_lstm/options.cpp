// Reading the command line with Boost.Program_options.
#include "examples/tree_lstm/options.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>
#include <thread>
#include <type_traits>

#include <boost/program_options.hpp>
#include <fmt/core.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::examples {

namespace {

namespace po = boost::program_options;

constexpr std::string_view kUsage =
    "usage: tree_lstm [OPTION...]\n\n"
    "Trains a Tree-LSTM to label trees: by default ListOps expressions such as\n"
    "[MAX 2 [MIN 4 7 ] 0 ], which it generates itself, or those of a folder with\n"
    "train.txt, dev.txt and test.txt in the format of the Stanford Sentiment Treebank.\n"
    "Ctrl-C saves, and --resume goes on from there.\n\n";

unsigned default_threads(unsigned parts) {
  return std::clamp(std::thread::hardware_concurrency(), 1u, parts);
}

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

/// The options as the help shows them.
class Group {
 public:
  explicit Group(const char* title) : group_(title) {}

  /// An option with a value, whose kind is `value`.
  Group& add(const char* name, const char* value, const std::string& text) {
    group_.add_options()(name, po::value<std::string>()->value_name(value), text.c_str());
    return *this;
  }
  /// One that has a default: both tasks' are shown where they differ.
  template <class Value>
  Group& add(const char* name, const char* value, std::string_view text, Value Options::*member) {
    const auto listops = defaults(true).*member, treebank = defaults(false).*member;
    if (listops == treebank) return add(name, value, fmt::format("{} ({})", text, listops));
    return add(name, value, fmt::format("{} ({}; {} with --data)", text, listops, treebank));
  }
  Group& add_flag(const char* name, const char* text) {
    group_.add_options()(name, text);
    return *this;
  }

  operator const po::options_description&() const { return group_; }

 private:
  po::options_description group_;
};

po::options_description all_options() {
  po::options_description all("Options, with their defaults in parentheses");
  all.add(
      Group("Data")
          .add("data", "FOLDER", "train, choose and test on the treebank in this folder")
          .add("listops-test", "FILE", "test on this file in ListOps' original format")
          .add("train-trees", "N", "ListOps trees to train on", &Options::train_trees)
          .add("dev-trees", "N", "ListOps trees to choose the best epoch on", &Options::dev_trees)
          .add("test-trees", "N", "ListOps trees to test on", &Options::test_trees)
          .add("max-tokens", "N", "the most tokens of a generated tree", &Options::max_tokens)
          .add("min-count", "N", "rarer words of a treebank are unknown", &Options::min_count));
  all.add(Group("Model")
              .add("embedding", "N", "size of a word's vector", &Options::embedding)
              .add("hidden", "N", "size of a node's h and c", &Options::hidden)
              .add("dropout", "P", "share of zeros in words and outputs when training",
                   &Options::dropout));
  all.add(Group("Training")
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
  all.add(Group("Files")
              .add("output", "FOLDER", "for the best model and the checkpoint", &Options::output)
              .add_flag("resume", "go on from the checkpoint in that folder")
              .add("report", "FILE", "write the results there as JSON")
              .add_flag("help,h", "show this"));
  return all;
}

po::variables_map read_command_line(int argc, char** argv) {
  po::variables_map values;
  try {
    // No positional arguments, and no guessing of shortened names.
    using Style = po::command_line_style::style_t;
    const auto style = static_cast<Style>(Style::unix_style & ~Style::allow_guessing);
    const po::options_description options = all_options();
    po::store(
        po::command_line_parser(argc, argv).options(options).positional({}).style(style).run(),
        values);
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; see --help");
  }
  return values;
}

/// Takes values from the command line if they are there.
class Reader {
 public:
  explicit Reader(const po::variables_map& values) : values_(values) {}

  template <class Number>
  void read(const char* name, Number& number, double low, double high) const {
    if (values_.count(name) == 0) return;
    constexpr bool kIsWhole = std::is_integral_v<Number>;
    const auto& text = values_[name].as<std::string>();
    std::istringstream in(text);
    double value = 0;
    const bool is_number = (in >> value) && in.peek() == std::istringstream::traits_type::eof();
    if (!is_number || !(value >= low && value <= high) ||
        (kIsWhole && value != static_cast<double>(static_cast<Number>(value)))) {
      throw UsageError(fmt::format("need a {} from {} to {} for --{}; got \"{}\"",
                                   kIsWhole ? "whole number" : "number", low, high, name, text));
    }
    number = static_cast<Number>(value);
  }

  void read(const char* name, std::string& text) const {
    if (values_.count(name) == 0) return;
    text = values_[name].as<std::string>();
    if (text.empty()) throw UsageError(fmt::format("need a path for --{}; got nothing", name));
  }

  void read(const char* name, bool& flag) const { flag = values_.count(name) != 0; }

 private:
  const po::variables_map& values_;
};

/// An argument as a shell reads it.
std::string quoted(const std::string& argument) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), is_plain)) {
    return argument;
  }
  std::string result = "'";
  for (const char c : argument) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

Options parse_options(int argc, char** argv) {
  const po::variables_map values = read_command_line(argc, argv);
  const Reader reader(values);
  Options options = defaults(values.count("data") == 0);
  reader.read("help", options.help);
  reader.read("data", options.data);
  reader.read("listops-test", options.listops_test);
  reader.read("train-trees", options.train_trees, 1, 1e8);
  reader.read("dev-trees", options.dev_trees, 1, 1e7);
  reader.read("test-trees", options.test_trees, 1, 1e7);
  reader.read("max-tokens", options.max_tokens, 20, 1e4);
  reader.read("min-count", options.min_count, 1, 1e6);
  reader.read("embedding", options.embedding, 1, 4096);
  reader.read("hidden", options.hidden, 1, 4096);
  reader.read("dropout", options.dropout, 0, 0.95);
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
  reader.read("report", options.report);
  if (!options.data.empty() && !options.listops_test.empty()) {
    throw UsageError("need --data or --listops-test; got both");
  }
  for (int i = 0; i < argc; ++i) options.resume_command += quoted(argv[i]) + ' ';
  options.resume_command += "--resume";
  if (options.resume) options.resume_command.erase(options.resume_command.rfind(" --resume"));
  return options;
}

std::string help_text() {
  std::ostringstream text;
  text << kUsage << all_options();
  return text.str();
}

}  // namespace dynet_like::examples
