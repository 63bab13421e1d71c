// Raw text to CoNLL-U: sentences, tokens, words, lemmas, tags and dependency trees.
//   pipeline train --model MODEL.safetensors --train TRAIN.conllu --dev DEV.conllu
//   pipeline apply --model MODEL.safetensors TEXT.txt >TEXT.conllu
//   pipeline serve --model MODEL.safetensors     curl -d "It works." http://127.0.0.1:8080/
// From raw text of the English Web Treebank: UPOS 94.7 %, LAS 81.5 % (official F1), 11,000 words
// per second and core; docs/pipeline.md has all figures and the commands.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <boost/program_options.hpp>

#include "dynet_like/dynet_like.h"
#include "dynet_like/serve/server.h"
#include "dynet_like/core/option_number.h"
#include "examples/full/support/program.h"
#include "nn/data/text.h"
#include "nn/pipeline/pipeline.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;
namespace fs = std::filesystem;
namespace po = boost::program_options;
using Strings = std::vector<std::string>;

constexpr char kUsage[] =
    R"(usage: pipeline train --model MODEL.safetensors --train FILE --dev FILE [OPTIONS]
       pipeline apply --model MODEL.safetensors [OPTIONS] [FILE...]
       pipeline serve --model MODEL.safetensors [OPTIONS]

train  learns sentences, tokens, words, lemmas, UPOS, XPOS, FEATS, heads and labels from a treebank
       in CoNLL-U, and writes a model, one file.
apply  reads text in UTF-8 from files or standard input, and writes CoNLL-U to standard output.
       Every file is a document. A blank line ends a sentence.
serve  answers POST requests, whose body is a text, with CoNLL-U, until Ctrl-C.

)";

/// A number with a range.
template <class Number>
class NumberValue final : public po::typed_value<Number> {
 public:
  NumberValue(std::string option, const detail::NumberRange& range)
      : po::typed_value<Number>(nullptr), option_(std::move(option)), range_(range) {}

  void xparse(boost::any& value, const Strings& texts) const override {
    using detail::NumberKind;
    constexpr auto kind = std::is_integral_v<Number> ? NumberKind::whole : NumberKind::real;
    value = static_cast<Number>(detail::option_number(option_, texts.at(0), kind, range_));
  }

 private:
  std::string option_;
  detail::NumberRange range_;
};

po::options_description options_of_command(const std::string& command) {
  po::options_description all("Options");
  auto add = all.add_options();
  const auto add_number = [&]<class Number>(const char* name, Number usual,
                                            const detail::NumberRange& range, const char* help) {
    add(name, (new NumberValue<Number>(name, range))->default_value(usual), help);
  };
  add("help", "print this text");
  add("model", po::value<std::string>()->required(), "the file of the model, *.safetensors");
  add_number("threads", 0u, {0, 256}, "0: one per processor");
  if (command == "train" || command == "--help") {
    add("train", po::value<std::string>()->required(), "a treebank to train on, in CoNLL-U");
    add("dev", po::value<std::string>()->required(), "a treebank to choose the best epoch on");
    add("vectors", po::value<std::string>()->default_value(""),
        "word vectors: an .npz file, or text of word2vec or GloVe");
    add_number("most-vectors", 50000u, {0, 1e8}, "use the first N of them");
    add("encoder", po::value<std::string>()->default_value(""),
        "the folder of a pretrained encoder, which is tuned; see docs/encoders.md");
    add_number("encoder-rate", 0.05f, {0, 100}, "the encoder's factor of the learning rate");
    add_number("epochs", 30u, {1, 1e6}, "epochs of tags and trees");
    add_number("segmenter-epochs", 20u, {1, 1e6}, "epochs of the segmenter");
    add_number("hidden", 256u, {1, 4096}, "size of an LSTM over words");
    add_number("layers", 3u, {1, 64}, "layers over words");
    add_number("dropout", 0.33f, {0, 0.95}, "dropout rate for tags and trees");
    add("checkpoints", po::value<std::string>()->default_value(""),
        "a folder for checkpoints after each epoch and after Ctrl-C, and for learning curves");
    add("resume", po::bool_switch(), "continue from the folder of --checkpoints");
    add_number("seed", std::uint64_t{1}, {0, 1e15}, "seed of all random choices");
  }
  if (command == "apply" || command == "--help") {
    add("input", po::value<std::string>()->default_value("text"),
        "\"text\"; \"lines\": text with a sentence per line; \"horizontal\": the same, with spaces "
        "between words; or \"conllu\", whose words are kept");
    add("files", po::value<Strings>()->default_value({}, ""), "files instead of standard input");
  }
  if (command == "serve" || command == "--help") {
    add_number("port", static_cast<unsigned short>(8080), {0, 65535}, "0: any free port");
    add("address", po::value<std::string>()->default_value("127.0.0.1"), "address to listen on");
  }
  return all;
}

int train(const po::variables_map& values) {
  const auto text = [&](const char* name) { return values[name].as<std::string>(); };
  const auto whole = [&](const char* name) { return values[name].as<unsigned>(); };
  if (!text("model").ends_with(".safetensors"))
    throw UsageError("need a model whose name ends in .safetensors; got " + text("model"));
  if (values["resume"].as<bool>() && text("checkpoints").empty())
    throw UsageError("--resume needs --checkpoints");
  const auto train = nn::read_conllu(text("train")), dev = nn::read_conllu(text("dev"));
  nn::PipelineOptions options;
  options.vectors = text("vectors");
  options.most_vectors = whole("most-vectors");
  options.pretrained_encoder = text("encoder");
  options.tuning.rate = values["encoder-rate"].as<float>();
  options.seed = values["seed"].as<std::uint64_t>();
  options.encoder.hidden = whole("hidden");
  options.encoder.layers = whole("layers");
  options.encoder.dropout = options.parser.dropout = values["dropout"].as<float>();
  nn::Pipeline pipeline(train, options);
  pipeline.save(text("model"));  // fails now rather than after training
  fmt::print("{} parameters; {} sentences for training, {} for dev\n",
             pipeline.parameters().parameter_count(), train.size(), dev.size());
  nn::TrainingOptions training;
  training.seed = options.seed;
  training.graph.threads = whole("threads");
  training.epochs = whole("segmenter-epochs");
  training.batch_size = 16;
  training.report.unit = "windows";
  const auto use_folder = [&](const char* part) {
    if (text("checkpoints").empty()) return;
    const fs::path folder = fs::path(text("checkpoints")) / part;
    training.files.folder = folder.string();
    training.files.resume =
        values["resume"].as<bool>() && fs::exists(folder / "checkpoint.safetensors");
  };
  use_folder("segmenter");
  if (pipeline.train_segmenter(train, dev, training).interrupted) return 130;
  const nn::RunSamples run = nn::run_by_predict(training.graph.threads);
  const auto [tokens, words, sentences] = pipeline.segmentation_scores(dev, run);
  fmt::print("dev F1: tokens {:.2f} %, words {:.2f} %, sentences {:.2f} %\n", 100 * tokens.f1(),
             100 * words.f1(), 100 * sentences.f1());
  training.epochs = whole("epochs");
  training.batch_size = 32;
  training.report.unit = "sentences";
  use_folder("parser");
  if (pipeline.train_parser(train, dev, training).interrupted) return 130;
  pipeline.save(text("model"));
  return 0;
}

/// A sentence of words between spaces.
nn::ConlluSentence sentence_of(const std::string& line) {
  nn::ConlluSentence sentence;
  for (const std::string& word : nn::split_line(line)) {
    sentence.words.push_back(nn::unknown_columns(word));
  }
  return sentence;
}

/// Applies a model to files, and writes them as one file.
class Output {
 public:
  Output(const nn::Pipeline& pipeline, const nn::RunSamples& run, std::string input)
      : pipeline_(pipeline), run_(run), input_(std::move(input)) {
    for (const char* known : {"text", "lines", "horizontal", "conllu"}) {
      if (input_ == known) return;
    }
    throw UsageError("need --input text, lines, horizontal or conllu; got " + input_);
  }

  /// `id` is that of the document, if it has one.
  void add(std::istream& in, const std::string& file, const std::string& id) {
    if (input_ == "horizontal") return add_words(in);
    if (input_ == "conllu") return add_trees(in, file);
    const auto write = [&](std::span<const nn::ConlluSentence> sentences) {
      count_ += sentences.size();
      std::cout << nn::to_conllu(sentences);
    };
    pipeline_.annotate(in, run_, write,
                       {.id = id, .first_sentence = count_ + 1, .lines = input_ == "lines"});
  }

 private:
  void add_words(std::istream& in) {
    answer_lines(in, std::cout, 256, [&](std::span<const std::string> lines, std::size_t) {
      std::vector<nn::ConlluSentence> sentences;
      for (const std::string& line : lines) {
        nn::ConlluSentence sentence = sentence_of(line);
        if (sentence.words.empty()) continue;
        sentence.comments = {
            fmt::format("# sent_id = {}", ++count_),
            fmt::format("# text = {}", fmt::join(sentence.column(&nn::ConlluColumns::form), " "))};
        sentences.push_back(std::move(sentence));
      }
      pipeline_.annotate(sentences, run_);
      return nn::to_conllu(sentences);
    });
  }
  void add_trees(std::istream& in, const std::string& file) const {
    std::vector<nn::ConlluSentence> sentences = nn::read_conllu({in, file});
    pipeline_.annotate(sentences, run_);
    std::cout << nn::to_conllu(sentences);
  }

  const nn::Pipeline& pipeline_;
  const nn::RunSamples& run_;
  std::string input_;
  std::size_t count_ = 0;  ///< of sentences
};

int apply(const po::variables_map& values) {
  const nn::Pipeline pipeline(nn::SavedModel(values["model"].as<std::string>()));
  const nn::RunSamples run = nn::run_by_predict(values["threads"].as<unsigned>());
  Output output(pipeline, run, values["input"].as<std::string>());
  const auto files = values["files"].as<Strings>();
  if (files.empty()) output.add(std::cin, kStandardInput, "");
  for (const std::string& file : files) {
    nn::TextSource source(file);
    output.add(source.open({.max_file_bytes = ~std::size_t{0}}), file,
               fs::path(file).filename().string());
  }
  return 0;
}

int serve_model(const po::variables_map& values) {
  const nn::Pipeline pipeline(nn::SavedModel(values["model"].as<std::string>()));
  const auto answer = [&](ComputationGraph& graph, const std::string& text) {
    std::istringstream in(text);
    std::string answer;
    pipeline.annotate(in, nn::run_in(graph), [&](std::span<const nn::ConlluSentence> sentences) {
      answer += nn::to_conllu(sentences);
    });
    return answer;
  };
  serve::Options options = {.address = values["address"].as<std::string>(),
                            .port = values["port"].as<unsigned short>()};
  options.graph.threads = values["threads"].as<unsigned>();
  serve::Server server(answer, options);
  std::cout << "http://" << options.address << ':' << server.port() << '/' << std::endl;
  server.run();
  return 0;
}

int run(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "nothing";
  if (command != "train" && command != "apply" && command != "serve" && command != "--help") {
    throw UsageError("need train, apply or serve; got " + command + "; see pipeline --help");
  }
  const po::options_description all = options_of_command(command);
  po::positional_options_description files;
  if (command == "apply") files.add("files", -1);
  po::variables_map values;
  try {
    po::command_line_parser parser(argc - 1, argv + 1);
    po::store(parser.options(all).positional(files).run(), values);
    if (command == "--help" || values.contains("help")) {
      std::cout << kUsage << all;
      return 0;
    }
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; see pipeline --help");
  }
  if (command == "train") return train(values);
  if (command == "apply") return apply(values);
  return serve_model(values);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("pipeline", [&] { return run(argc, argv); });
}
