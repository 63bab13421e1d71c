// Command lines by Boost.Program_options, and settings as metadata.
#include "examples/full/support/options.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <thread>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/safetensors.h"
#include "examples/full/support/ranks.h"
#include "nn/data/word_vectors.h"
#include "nn/train/fingerprint.h"

namespace dynet_like::examples {

namespace {

namespace po = boost::program_options;

constexpr unsigned kMostThreads = 8;  // by default: more would have too little to do
constexpr char kExample[] = "example", kCase[] = "case";

std::string checked_number(const Option& option, const std::string& text) {
  using detail::NumberKind;
  const NumberKind kind = option.kind == "N" ? NumberKind::whole : NumberKind::real;
  const double value = detail::option_number(option.name, text, kind, option.range);
  return kind == NumberKind::whole
             ? fmt::to_string(static_cast<std::uint64_t>(value))
             : fmt::to_string(static_cast<float>(value));  // reads back as the same number
}

/// The value in the normal form that is compared and saved. Throws UsageError.
std::string checked_value(const Option& option, const std::string& text) {
  if (option.kind.empty()) return "yes";
  if (option.kind == "N" || option.kind == "X") return checked_number(option, text);
  const bool is_choice = option.kind.find('|') != std::string::npos;
  const bool is_one = ('|' + option.kind + '|').find('|' + text + '|') != std::string::npos;
  if (text.empty() || (is_choice && !is_one)) {
    throw UsageError(fmt::format("need {} for --{}; got {}", is_choice ? option.kind : "a value",
                                 option.name, detail::quoted_text(text)));
  }
  return text;
}

/// The size of the vectors in a file.
std::string vector_size(const std::string& file) {
  nn::WordVectorReader reader(file);
  reader.next();
  return fmt::to_string(reader.size());
}

/// An argument, quoted for a shell.
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

// The environment variable makes it the default device of everything in the program.
void use_device(const std::string& name) {
  const std::shared_ptr<Device> device = open_device(name);  // throws if it is not there
  ::setenv("DYNET_LIKE_DEVICE", device->name().c_str(), 1);
  if (default_device() == device) return;
  throw UsageError(fmt::format("need --device before the default device is in use; got {} and {}",
                               device->name(), default_device()->name()));
}

/// The default value, for the help text.
std::string default_text(const Option& option, const std::string& special_case) {
  const std::string usual = option.usual.value_or(""), special = option.special.value_or("");
  if (usual.empty() && special.empty()) return "";
  if (usual == special || !option.special) return fmt::format(" ({})", usual);
  if (!option.usual) return fmt::format(" ({})", special);
  return fmt::format(" ({}; {} {})", usual, special, special_case);
}

po::options_description description_of(const Program& program) {
  po::options_description all("Options, with their defaults in parentheses");
  for (const Option& option : program.options) {
    const std::string name = option.name == "help" ? "help,h" : option.name;
    const std::string text = option.text + default_text(option, program.special_case);
    if (option.kind.empty()) {
      all.add_options()(name.c_str(), text.c_str());
    } else {
      const auto value = po::value<std::string>()->value_name(option.kind);
      all.add_options()(name.c_str(), value, text.c_str());
    }
  }
  return all;
}

std::string resume_command_of(int argc, char** argv) {
  std::string command;
  bool resumes = false;
  for (int i = 0; i < argc; ++i) {
    command += (i > 0 ? " " : "") + quoted(argv[i]);
    resumes |= std::string_view(argv[i]) == "--resume";
  }
  return resumes ? command : command + " --resume";
}

}  // namespace

Options::Options(Program program, int argc, char** argv, std::shared_ptr<Communicator> ranks)
    : program_(std::move(program)),
      ranks_(ranks != nullptr ? ranks : single_process()),
      most_threads_(std::max(1u, std::thread::hardware_concurrency() / ranks_here(*ranks_))),
      is_started_by_mpi_(ranks != nullptr),
      resume_command_(resume_command_of(argc, argv)) {
  add_common_options();
  read_command_line(argc, argv);
  if (has("help")) return;
  for (const Option& option : program_.options) {
    if (has(option.name)) values_[option.name] = checked_value(option, values_.at(option.name));
  }
  std::vector<std::string> for_apply;
  for (const Option& option : program_.options) {
    if (option.for_apply) for_apply.push_back(option.name);
  }
  need_only("apply", for_apply);
  if (has("device")) use_device(text("device"));
  if (has("resume")) {
    const std::string folder = has("output") ? text("output") : program_.name;
    const auto file = std::filesystem::path(folder) / "checkpoint.safetensors";
    take_over(SafetensorsFile::read(file).metadata(), file, "checkpoint");
  } else {
    is_special_ = program_.is_special(*this);
  }
  fill_in();
}

std::string Options::help() const {
  std::ostringstream text;
  text << program_.usage << '\n' << description_of(program_);
  return text.str();
}

// Adds options for training in several processes.
void Options::add_shards() {
  const std::string count = is_started_by_mpi_ ? "8" : "1";
  program_.options.push_back({"shards",
                              "N",
                              count,
                              count,
                              "parts of a minibatch, which processes share; their gradients are "
                              "summed separately (8 by mpirun)",
                              {1, 1024},
                              Option::Saved::remembered});
  const Option::Saved remembered = Option::Saved::remembered;
  program_.options.push_back({"staleness",
                              "N",
                              "0",
                              "0",
                              "above 0: each process takes whole minibatches, and a gradient may "
                              "lack N updates; 0: processes share each minibatch",
                              {0, 1e9},
                              remembered});
  program_.options.push_back(
      {"backup-ranks",
       "N",
       "0",
       "0",
       "above 0: each process takes a minibatch per round, which does not wait for the last N",
       {0, 1e6},
       remembered});
}

void Options::add_common_options() {
  constexpr auto no = Option::Saved::no, remembered = Option::Saved::remembered;
  const std::string threads = fmt::to_string(std::min(most_threads_, kMostThreads));
  const auto& [epochs, batch, rate, decay] = program_.defaults;
  const bool has_decay = !decay.usual.empty();
  const char* const schedule = has_decay
                                   ? "learning rate of Adam in the first epoch"
                                   : "highest learning rate of Adam; it falls until the last epoch";
  std::vector<Option> common = {
      {"epochs",
       "N",
       epochs.usual,
       epochs.special,
       "passes over the training data",
       {1, 1e6},
       has_decay ? remembered : Option::Saved::setting},
      {"patience",
       "N",
       "0",
       "0",
       "stop after N epochs without improvement; 0: never",
       {0, 1e6},
       remembered},
      {"batch-size", "N", batch.usual, batch.special, "samples in a minibatch", {1, 1e5}},
      {"learning-rate", "X", rate.usual, rate.special, schedule, {1e-9, 10}},
      {"seed", "N", "1", "1", "seed of all random numbers", {0, 1e15}},
      {"threads", "N", threads, threads, "threads; results do not depend on N", {1, 256}, no, true},
      {"device",
       "NAME",
       "",
       "",
       "where to compute: cpu, cuda (the first GPU), cuda:1, or cuda-host, which runs GPU "
       "kernels on the CPU ($DYNET_LIKE_DEVICE, or cpu)",
       {},
       no,
       true},
      {"output",
       "FOLDER",
       program_.name,
       program_.name,
       "folder of the best model and the checkpoint",
       {},
       no,
       true},
      {"resume", "", "", "", "continue from the checkpoint in --output, with its options", {}, no},
      {"other-bits", "", "", "", "resume on another kind of machine, with other last bits", {}, no},
      {"explain", "", "", "", "show at the end how a minibatch was batched", {}, no},
      {"report", "FILE", "", "", "write the results to FILE as JSON", {}, no},
      {"timeline", "FILE", "", "", "write a timeline to FILE, for ui.perfetto.dev", {}, no},
      {"apply",
       "",
       "",
       "",
       "apply the best model in --output to the lines of standard input",
       {},
       no},
      {"help", "", "", "", "show this help", {}, no}};
  if (has_decay) {
    const char* const text = "multiply the learning rate by X after every epoch";
    common.push_back({"decay", "X", decay.usual, decay.special, text, {0.01, 1}});
  }
  for (Option& option : program_.options) {
    if (option.kind == "FILE") option.saved = remembered;
  }
  program_.options.insert(program_.options.end(), common.begin(), common.end());
  add_shards();
}

void Options::read_command_line(int argc, char** argv) {
  po::variables_map found;
  try {
    using Style = po::command_line_style::style_t;
    const auto style = static_cast<Style>(Style::unix_style & ~Style::allow_guessing);
    const po::options_description description = description_of(program_);
    po::store(
        po::command_line_parser(argc, argv).options(description).positional({}).style(style).run(),
        found);
  } catch (const po::unknown_option& error) {
    std::vector<std::string> names;
    for (const Option& option : program_.options) names.push_back("--" + option.name);
    const std::vector<std::string_view> views(names.begin(), names.end());
    throw UsageError(fmt::format("{}{}; see --help", error.what(),
                                 detail::nearest_names_text(error.get_option_name(), views)));
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; see --help");
  }
  for (const auto& [name, value] : found) {
    const auto* text = boost::any_cast<std::string>(&value.value());
    typed_.insert(name);
    values_[name] = text != nullptr ? *text : "yes";
  }
  given_ = typed_;
}

/// Values of the command line have precedence.
void Options::take_over(const Metadata& saved, const std::string& file, const char* kind) {
  const auto example = saved.find(kExample);
  if (example == saved.end() || example->second != program_.name) {
    throw FileError(file,
                    fmt::format("need a {} of {}; got one of {}", kind, program_.name,
                                example == saved.end() ? "another program"
                                                       : detail::quoted_text(example->second)));
  }
  for (const Option& option : program_.options) {
    const auto found = saved.find("--" + option.name);
    if (option.saved == Option::Saved::no || found == saved.end() || has(option.name)) continue;
    try {
      values_[option.name] = checked_value(option, found->second);
    } catch (const UsageError& error) {
      throw FileError(file, error.what());
    }
    given_.insert(option.name);
  }
  const auto special = saved.find(kCase);
  is_special_ = special != saved.end() && special->second == program_.special_case;
}

void Options::fill_in() {
  if (has("vectors") && !has("embedding")) values_["embedding"] = vector_size(text("vectors"));
  for (const Option& option : program_.options) {
    const Default& value = is_special_ ? option.special : option.usual;
    if (!value && has(option.name)) {
      throw UsageError(
          is_special_ ? fmt::format("need no --{} {}; got one", option.name, program_.special_case)
                      : fmt::format("need --{} only {}; got it without", option.name,
                                    program_.special_case));
    }
    if (value && !value->empty()) values_.try_emplace(option.name, *value);
  }
}

std::string Options::text(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : found->second;
}

unsigned Options::whole(const std::string& name) const {
  return static_cast<unsigned>(std::stoul(values_.at(name)));
}

float Options::real(const std::string& name) const { return std::stof(values_.at(name)); }

std::uint64_t Options::seed() const { return std::stoull(values_.at("seed")); }

nn::SavedModel Options::load_model() {
  nn::SavedModel model(text("output"));
  take_over(model.metadata(), text("output") + "/best.safetensors", "model");
  return model;
}

nn::TrainingOptions Options::training(const std::string& unit,
                                      const std::string& score_name) const {
  nn::TrainingOptions training;
  training.unit = unit;
  training.score_name = score_name;
  training.epochs = whole("epochs");
  training.patience = whole("patience");
  training.batch_size = whole("batch-size");
  if (values_.contains("decay")) {
    const float rate = real("learning-rate"), decay = real("decay");
    training.schedule = nn::ExponentialRate{.start = rate, .factor = decay};
    training.schedule_by_epoch = true;
  }
  training.seed = seed();
  training.shards = whole("shards");
  training.ranks = ranks_;
  training.relaxation = {whole("staleness"), whole("backup-ranks")};
  training.output = text("output");
  training.resume = has("resume");
  training.other_bits = has("other-bits");
  training.settings = all(Option::Saved::setting);
  training.settings[kExample] = program_.name;
  training.settings[kCase] = is_special_ ? program_.special_case : "usual";
  training.settings["data"] = fingerprint();
  training.arguments = all(Option::Saved::remembered);
  training.graph.threads = whole("threads");
  if (has("timeline")) {
    training.graph.timeline = training.timeline = timeline_.get();
    training.timeline_file = text("timeline");
  }
  return training;
}

GraphOptions Options::graph() const {
  GraphOptions options;
  options.threads = whole("threads");
  options.inference = true;
  return options;
}

Metadata Options::all(Option::Saved saved) const {
  Metadata metadata;
  for (const Option& option : program_.options) {
    const std::string value = text(option.name);
    if (option.saved != saved || option.name.empty()) continue;
    if (!value.empty()) metadata["--" + option.name] = value;
  }
  return metadata;
}

/// A fingerprint of all files that options for data name.
std::string Options::fingerprint() const {
  std::vector<std::string> files;
  for (const Option& option : program_.options) {
    const std::string path = text(option.name);
    if (option.saved != Option::Saved::remembered || path.empty()) continue;
    if (option.kind == "FILE") files.push_back(path);
  }
  return nn::fingerprint_of(files);
}

void Options::need_only(const char* option, Names others) const {
  if (!typed_.contains(option)) return;
  for (const std::string& name : typed_) {
    if (name == option || std::find(others.begin(), others.end(), name) != others.end()) continue;
    throw UsageError(fmt::format("need --{} with no options but --{}; got --{}", option,
                                 fmt::join(others, ", --"), name));
  }
}

void Options::need_none(const char* option, Names others) const {
  for (const std::string& other : others) {
    if (!typed_.contains(option) || !typed_.contains(other)) continue;
    throw UsageError(fmt::format("need --{} or --{}; got both", option, other));
  }
}

void Options::need_one_process(const char* option) const {
  if (ranks_->size() == 1) return;
  throw UsageError(fmt::format("need --{} in one process; got {} of them", option, ranks_->size()));
}

void Options::need_all_or_none(Names options) const {
  const auto given = std::count_if(options.begin(), options.end(), [&](auto o) { return has(o); });
  if (given == 0 || given == std::ssize(options)) return;
  throw UsageError(fmt::format("need all of --{}, or none; got some", fmt::join(options, ", --")));
}

}  // namespace dynet_like::examples
