// Loading the best model, sampling from it, and lines in minibatches.
#include "examples/language_model/use.h"

#include <fmt/core.h>

#include "examples/language_model/evaluation.h"
#include "examples/language_model/sampling.h"
#include "examples/language_model/trainee.h"

namespace dynet_like::examples {

namespace {

Options options_of(const SavedModel& saved) {
  Options options;
  read_model(saved.options(), options);
  return options;
}

}  // namespace

TrainedModel::TrainedModel(const std::string& folder)
    : TrainedModel(SavedModel(folder, "language_model")) {}

TrainedModel::TrainedModel(const SavedModel& saved)
    : encoding_{unit_of(options_of(saved).level), saved.vocabulary("vocabulary")},
      model_(parameters_, model_options(options_of(saved), encoding_)) {
  // The states between the pieces of the training text are there, too.
  saved.load(parameters_, ExtraTensors::ignore);
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

std::string nats_of_lines(std::span<const std::string> lines, const LanguageModel& model,
                          const Encoding& encoding, unsigned threads) {
  std::vector<std::vector<std::uint32_t>> units;
  for (const std::string& line : lines) units.push_back(encoding.line(line));
  const std::vector<double> nats = nats_of_each(model, units, threads);
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto characters = static_cast<double>(nn::count_characters(lines[i]) + 1);
    text += fmt::format("{:.4f}\t{}\n", nats[i] / characters, lines[i]);
  }
  return text;
}

}  // namespace dynet_like::examples
