// Command lines by Boost.Program_options, and settings as metadata.
#include "examples/full/support/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/safetensors.h"
#include "nn/data/word_vectors.h"
#include "nn/train/fingerprint.h"

namespace dynet_like::examples {

namespace {

namespace po = boost::program_options;
using Saved = Option::Saved;

constexpr unsigned kMostThreads = 8;  // by default: more would have too little to do
constexpr char kExample[] = "example", kCase[] = "case";

/// The value in the normal form that is compared and saved. Throws UsageError.
std::string checked_value(const Option& option, const std::string& text) {
  if (option.kind.empty()) return "yes";
  using detail::NumberKind;
  const auto number = [&](NumberKind kind) {
    return detail::option_number(option.name, text, kind, option.range);
  };
  if (option.kind == "N") return fmt::format("{:.0f}", number(NumberKind::whole));
  if (option.kind == "X") return fmt::to_string(static_cast<float>(number(NumberKind::real)));
  const bool is_choice = option.kind.find('|') != std::string::npos;
  const bool is_one = ('|' + option.kind + '|').find('|' + text + '|') != std::string::npos;
  if (text.empty() || (is_choice && !is_one)) {
    throw UsageError(fmt::format("need {} for --{}; got {}", is_choice ? option.kind : "a value",
                                 option.name, detail::quoted_text(text)));
  }
  return text;
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

po::options_description description_of(const Program& program, const OptionTable& table) {
  po::options_description all("Options, with their defaults in parentheses");
  for (const Option& option : table.rows) {
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

/// The processors of this machine for each of its ranks.
unsigned processors_of_rank(Communicator& ranks) {
  std::array<char, 256> host = {};
  ::gethostname(host.data(), host.size() - 1);
  const auto all = gather_texts(ranks, host.data());
  const auto here = std::count(all.begin(), all.end(), all[ranks.rank()]);
  return std::max(1u, std::thread::hardware_concurrency() / static_cast<unsigned>(here));
}

void add_training_options(OptionTable& table, const Program::Defaults& defaults) {
  const auto& [epochs, batch, rate, decay] = defaults;
  const bool has_decay = !decay.usual.empty();
  table.whole("epochs", {1, 1e6}, epochs.usual, epochs.special, "passes over the training data")
      .saved = has_decay ? Saved::remembered : Saved::setting;
  table.whole("batch-size", {1, 1e5}, batch.usual, batch.special, "samples in a minibatch");
  table.real("learning-rate", {1e-9, 10}, rate.usual, rate.special,
             has_decay ? "learning rate of Adam in the first epoch"
                       : "highest learning rate of Adam; it falls until the last epoch");
  if (has_decay) {
    table.real("decay", {0.01, 1}, decay.usual, decay.special,
               "multiply the learning rate by X after every epoch");
  }
  table.whole("seed", {0, 1e15}, "1", "seed of all random numbers");
}

/// When training stops, and how processes share it: this may change when a run is resumed.
void add_rank_options(OptionTable& table, bool is_started_by_mpi) {
  OptionTable ranks;
  ranks.whole("patience", {0, 1e6}, "0", "stop after N epochs without improvement; 0: never");
  ranks.whole("shards", {1, 1024}, is_started_by_mpi ? "8" : "1",
              "parts of a minibatch, which processes share; their gradients are summed separately "
              "(8 by mpirun)");
  ranks.whole("staleness", {0, 1e9}, "0",
              "above 0: each process takes whole minibatches, and a gradient may lack N updates; "
              "0: processes share each minibatch");
  ranks.whole("backup-ranks", {0, 1e6}, "0",
              "above 0: each process takes a minibatch per round, which does not wait for the last "
              "N");
  for (Option& option : ranks.rows) table.add(option).saved = Saved::remembered;
}

/// Where and how a program runs. None of these is saved.
void add_use_options(OptionTable& table, const std::string& name, unsigned threads) {
  OptionTable use;
  use.whole("threads", {1, 256}, fmt::to_string(threads), "threads; results do not depend on N")
      .for_apply = true;
  use.word("device", "NAME", "",
           "where to compute: cpu, cuda (the first GPU), cuda:1, or cuda-host, which runs GPU "
           "kernels on the CPU ($DYNET_LIKE_DEVICE, or cpu)")
      .for_apply = true;
  use.word("output", "FOLDER", name.c_str(), "folder of the best model and the checkpoint")
      .for_apply = true;
  use.flag("resume", "continue from the checkpoint in --output, with its options");
  use.flag("other-bits", "resume on another kind of machine, with other last bits");
  use.flag("explain", "show at the end how a minibatch was batched");
  use.word("report", "FILE", "", "write the results to FILE as JSON");
  use.word("timeline", "FILE", "", "write a timeline to FILE, for ui.perfetto.dev");
  use.flag("apply", "apply the best model in --output to the lines of standard input");
  use.flag("help", "show this help");
  for (Option& option : use.rows) table.add(option).saved = Saved::no;
}

}  // namespace

void OptionTable::files(const char* samples) {
  file("train", fmt::format("{} to train on, with --dev", samples).c_str());
  file("dev", fmt::format("{} to choose the best epoch on", samples).c_str());
  file("test", fmt::format("{} to test on (optional)", samples).c_str());
}

Options::Options(Program program, int argc, char** argv, std::shared_ptr<Communicator> ranks)
    : program_(std::move(program)), ranks_(ranks != nullptr ? ranks : single_process()) {
  program_.add_options(table_);
  add_training_options(table_, program_.defaults);
  add_rank_options(table_, ranks != nullptr);
  add_use_options(table_, program_.name, std::min(processors_of_rank(*ranks_), kMostThreads));
  read_command_line(argc, argv);
  if (has("help")) return;
  std::vector<std::string> for_apply;
  for (const Option& option : table_.rows) {
    if (has(option.name)) values_[option.name] = checked_value(option, values_.at(option.name));
    if (option.for_apply) for_apply.push_back(option.name);
  }
  need_only("apply", for_apply);
  if (has("device")) use_device(text("device"));
  if (has("resume")) {
    const std::string folder = has("output") ? text("output") : program_.name;
    const auto file = std::filesystem::path(folder) / "checkpoint.safetensors";
    take_over(SafetensorsFile::read(file).metadata(), file, "checkpoint");
  } else {
    is_special_ = program_.is_special ? program_.is_special(*this) : has("train");
  }
  fill_in();
}

std::string Options::help() const {
  std::ostringstream text;
  text << program_.usage << '\n' << description_of(program_, table_);
  return text.str();
}

void Options::read_command_line(int argc, char** argv) {
  po::variables_map found;
  try {
    using Style = po::command_line_style::style_t;
    const auto style = static_cast<Style>(Style::unix_style & ~Style::allow_guessing);
    const po::options_description description = description_of(program_, table_);
    po::command_line_parser parser(argc, argv);
    po::store(parser.options(description).positional({}).style(style).run(), found);
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
  for (const Option& option : table_.rows) {
    const auto found = saved.find("--" + option.name);
    if (option.saved == Saved::no || found == saved.end() || has(option.name)) continue;
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
  if (has("vectors") && !has("embedding")) {
    nn::WordVectorReader reader(text("vectors"));
    reader.next();
    values_["embedding"] = fmt::to_string(reader.size());
  }
  for (const Option& option : table_.rows) {
    const Default& value = is_special_ ? option.special : option.usual;
    if (!value && has(option.name)) {
      throw UsageError(fmt::format("need --{} {} {}; got one", option.name,
                                   is_special_ ? "never" : "only", program_.special_case));
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
  training.report.unit = unit;
  training.report.score_name = score_name;
  training.epochs = whole("epochs");
  training.stopping.patience = whole("patience");
  training.batch_size = whole("batch-size");
  if (values_.contains("decay")) {
    training.schedule.rate =
        nn::ExponentialRate{.start = real("learning-rate"), .factor = real("decay")};
    training.schedule.by_epoch = true;
  }
  training.seed = seed();
  training.ranks.shards = whole("shards");
  training.ranks.communicator = ranks_;
  training.ranks.relaxation = {whole("staleness"), whole("backup-ranks")};
  training.files.folder = text("output");
  training.files.resume = has("resume");
  training.files.other_bits = has("other-bits");
  training.files.settings = all(Saved::setting);
  training.files.settings[kExample] = program_.name;
  training.files.settings[kCase] = is_special_ ? program_.special_case : "usual";
  training.files.arguments = all(Saved::remembered);
  std::vector<std::string> files;
  for (const Option& option : table_.rows) {
    const bool is_data = option.kind == "FILE" && option.saved == Saved::remembered;
    if (is_data && has(option.name)) files.push_back(text(option.name));
  }
  training.files.settings["data"] = nn::fingerprint_of(files);
  training.graph.threads = whole("threads");
  if (has("timeline")) {
    training.graph.timeline = training.report.timeline = timeline_.get();
    training.report.timeline_file = text("timeline");
  }
  return training;
}

GraphOptions Options::graph() const {
  GraphOptions options;
  options.threads = whole("threads");
  options.inference = true;
  return options;
}

Metadata Options::all(Saved saved) const {
  Metadata metadata;
  for (const Option& option : table_.rows) {
    const std::string value = text(option.name);
    if (option.saved == saved && !value.empty()) metadata["--" + option.name] = value;
  }
  return metadata;
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

void Options::need_all_or_none(Names options) const {
  const auto given = std::count_if(options.begin(), options.end(), [&](auto o) { return has(o); });
  if (given == 0 || given == std::ssize(options)) return;
  throw UsageError(fmt::format("need all of --{}, or none; got some", fmt::join(options, ", --")));
}

}  // namespace dynet_like::examples
