// Loading the best model, sampling from it, and lines in minibatches.
#include "examples/language_model/use.h"

#include <filesystem>
#include <iostream>
#include <limits>

#include <fmt/core.h>

#include "dynet_like/io/safetensors.h"
#include "examples/language_model/evaluation.h"
#include "examples/language_model/sampling.h"
#include "examples/support/training.h"

namespace dynet_like::examples {

namespace {

constexpr std::size_t kLinesTogether = 64, kUnitsTogether = 1 << 16;
constexpr nn::TextLimits kLineLimits{.max_line_bytes = 1 << 16,
                                     .max_file_bytes = std::numeric_limits<std::size_t>::max()};

ModelOptions model_options(const Metadata& metadata, unsigned units) {
  const auto size = [&](const char* flag) {
    const double number = number_of(metadata, flag);
    if (!(number >= 1 && number <= 4096)) {
      throw UsageError(
          fmt::format("need 1 to 4096 for {} in the model's file; got {}", flag, number));
    }
    return static_cast<unsigned>(number);
  };
  return {.units = units,
          .embedding = size("--embedding"),
          .hidden = size("--hidden"),
          .layers = size("--layers"),
          .dropout = 0};
}

std::string level_of(const Metadata& metadata) {
  const auto found = metadata.find("--level");
  return found == metadata.end() ? "" : found->second;
}

}  // namespace

std::string vocabulary_file(const std::string& folder) {
  return std::filesystem::path(folder) / "vocabulary.txt";
}

TrainedModel::TrainedModel(const std::string& folder)
    : TrainedModel(folder, SafetensorsFile::read(best_file(folder)).metadata()) {}

TrainedModel::TrainedModel(const std::string& folder, const Metadata& metadata)
    : encoding_{unit_of(level_of(metadata)), nn::Vocabulary::load(vocabulary_file(folder))},
      model_(parameters_, model_options(metadata, encoding_.vocabulary.size())) {
  // The states between the pieces of the training text are there, too.
  load_parameters(best_file(folder), parameters_, ExtraTensors::ignore);
}

std::string sampled_text(const LanguageModel& model, const Encoding& encoding,
                         const Options& options, unsigned count) {
  Random random(options.seed);
  std::vector<std::uint32_t> units = encoding.beginning(options.prompt);
  const std::vector<std::uint32_t> drawn =
      sample(model, units, {count, options.temperature, encoding.vocabulary.unknown()}, random);
  units.insert(units.end(), drawn.begin(), drawn.end());
  return encoding.text(std::span(units).subspan(1));
}

void write_line_nats(std::istream& in, std::ostream& out, const LanguageModel& model,
                     const Encoding& encoding, unsigned threads) {
  std::vector<std::string> lines;
  std::vector<std::vector<std::uint32_t>> units;
  std::size_t unit_count = 0;
  const auto write = [&] {
    const std::vector<double> nats = nats_of_each(model, units, threads);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto characters = static_cast<double>(nn::count_characters(lines[i]) + 1);
      out << fmt::format("{:.4f}\t{}\n", nats[i] / characters, lines[i]);
    }
    out.flush();
    lines.clear();
    units.clear();
    unit_count = 0;
  };
  nn::LineReader reader(in, "standard input", kLineLimits);
  for (std::string_view line; reader.next(line);) {
    lines.emplace_back(line);
    units.push_back(encoding.line(line));
    unit_count += units.back().size();
    if (lines.size() == kLinesTogether || unit_count >= kUnitsTogether) write();
  }
  write();
}

}  // namespace dynet_like::examples
