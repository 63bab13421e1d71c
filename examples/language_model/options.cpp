// Reading the command line with Boost.Program_options.
#include "examples/language_model/options.h"

#include <sstream>
#include <string_view>

#include <boost/program_options.hpp>

namespace dynet_like::examples {

namespace {

namespace po = boost::program_options;

constexpr unsigned kMostThreads = 256;

constexpr std::string_view kUsage =
    "usage: language_model [OPTION...]\n\n"
    "Trains an LSTM to predict a text, character by character or word by word, from all\n"
    "that comes before; then it writes text of its own. It reads a plain text file, of\n"
    "which it holds out the last tenth, or generates sentences from a small grammar.\n"
    "Ctrl-C saves, and --resume goes on from there.\n\n"
    "  language_model --data FILE --output FOLDER      trains\n"
    "  language_model --output FOLDER --sample 1000    writes\n"
    "  language_model --output FOLDER --apply <LINES   tells how likely each line is\n\n";

Options defaults(bool with_data) {
  Options options;
  options.threads = default_threads(kMostThreads);
  if (!with_data) return options;
  options.embedding = 64;
  options.hidden = 256;
  options.layers = 2;
  options.dropout = 0.2f;
  options.epochs = 8;
  options.batch_size = 32;
  options.sequence_length = 64;
  options.learning_rate = 0.002f;
  options.decay = 0.85f;
  options.output = "language_model_text";
  return options;
}

po::options_description all_options() {
  const auto group = [](const char* title) {
    return OptionGroup<Options>(title, defaults(false), "with --data", defaults(true));
  };
  po::options_description all("Options, with their defaults in parentheses");
  all.add(group("Data")
              .add("data", "FILE", "train on this text, all but its last tenth")
              .add("sentences", "N", "how many to generate without a file", &Options::sentences)
              .add("level", "WHAT", "predict each \"character\" or each \"word\"", &Options::level)
              .add("min-count", "N", "what is rarer in the training part is unknown",
                   &Options::min_count));
  all.add(
      group("Model")
          .add("embedding", "N", "size of a character's or word's vector", &Options::embedding)
          .add("hidden", "N", "size of h and c of every LSTM", &Options::hidden)
          .add("layers", "N", "LSTMs on top of each other", &Options::layers)
          .add("dropout", "P", "share of zeros in their outputs when training", &Options::dropout));
  all.add(group("Training")
              .add("epochs", "N", "how often the text is read", &Options::epochs)
              .add("batch-size", "N", "streams of text that are read side by side",
                   &Options::batch_size)
              .add("sequence-length", "N", "predictions between two updates, per stream",
                   &Options::sequence_length)
              .add("learning-rate", "X", "of Adam, in the first epoch", &Options::learning_rate)
              .add("decay", "X", "the learning rate's factor from epoch to epoch", &Options::decay)
              .add("clip", "X", "the largest norm of the gradient of the mean loss", &Options::clip)
              .add("seed", "N", "of everything random", &Options::seed)
              .add("threads", "N", "threads; they change no result", &Options::threads));
  all.add(
      group("Use of the best model")
          .add("sample", "N", "do not train; write so many characters or words")
          .add("temperature", "X", "below 1, what is likely becomes more so", &Options::temperature)
          .add("prompt", "TEXT", "what they follow, in the same line")
          .add_flag("apply",
                    "do not train; write every line of standard input, after its nats "
                    "per character and a tab"));
  all.add(device_options());
  all.add(group("Files")
              .add("output", "FOLDER", "for the best model and the checkpoint", &Options::output)
              .add_flag("resume", "go on from the checkpoint in that folder")
              .add("report", "FILE", "write the results there as JSON")
              .add_flag("help,h", "show this"));
  return all;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  const OptionValues values = read_command_line(argc, argv, all_options());
  const ValueReader reader(values);
  Options options = defaults(reader.has("data"));
  reader.read("help", options.help);
  if (options.help) return options;
  reader.read("data", options.data);
  reader.read("sentences", options.sentences, 100, 1e6);
  reader.read("min-count", options.min_count, 1, 1e6);
  read_model(reader, options);
  reader.read("epochs", options.epochs, 1, 1e6);
  reader.read("batch-size", options.batch_size, 1, 1e4);
  reader.read("sequence-length", options.sequence_length, 2, 1e4);
  reader.read("learning-rate", options.learning_rate, 1e-9, 10);
  reader.read("decay", options.decay, 0.01, 1);
  reader.read("clip", options.clip, 1e-6, 1e6);
  reader.read("seed", options.seed, 0, 1e15);
  reader.read("threads", options.threads, 1, kMostThreads);
  reader.read("sample", options.sample, 1, 1e5);
  reader.read("temperature", options.temperature, 0.01, 100);
  reader.read("prompt", options.prompt);
  reader.read("apply", options.apply);
  reader.read("output", options.output);
  reader.read("resume", options.resume);
  reader.read("report", options.report);
  reader.need_only("apply", {"output", "threads", "device"});
  reader.need_only("sample", {"output", "temperature", "prompt", "seed", "device"});
  reader.need_none("data", {"sentences"});
  options.resume_command = resume_command(argc, argv);
  return options;
}

void read_model(const ValueReader& reader, Options& options) {
  reader.read("level", options.level, {"character", "word"});
  reader.read("embedding", options.embedding, 1, 4096);
  reader.read("hidden", options.hidden, 1, 4096);
  reader.read("layers", options.layers, 1, 16);
  reader.read("dropout", options.dropout, 0, 0.95);
}

std::string help_text() {
  std::ostringstream text;
  text << kUsage << all_options();
  return text.str();
}

}  // namespace dynet_like::examples
