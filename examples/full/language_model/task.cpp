// Splits a text, and numbers the units that are frequent enough in its training part.
#include "examples/full/language_model/task.h"

#include <sstream>

#include <fmt/core.h>

#include "dynet_like/core/errors.h"
#include "examples/full/language_model/grammar.h"

namespace dynet_like::examples {

namespace {

constexpr char kUnknownUnit[] = "<unk>";
constexpr std::size_t kLeastUnits = 20;

nn::Vocabulary vocabulary_of(const nn::Text& text, std::size_t train_size, unsigned min_count) {
  nn::Vocabulary vocabulary;
  vocabulary.set_unknown(kUnknownUnit);
  for (std::size_t i = 0; i < train_size; ++i) vocabulary.add(text.vocabulary.word(text.units[i]));
  vocabulary = vocabulary.trimmed(min_count);
  vocabulary.freeze();
  return vocabulary;
}

}  // namespace

Task generated_task(unsigned sentences, std::uint64_t seed, nn::TextUnit unit, unsigned min_count) {
  Random random(seed);
  const GrammarText generated = grammar_text(sentences, random);
  std::istringstream stream(generated.text);
  const nn::Text text = nn::read_text(stream, "generated", unit);
  Task task = make_task(text, "generated", unit, min_count);
  task.least_nats =
      generated.nats / static_cast<double>(task.train_characters + task.held_out_characters);
  return task;
}

Task make_task(const nn::Text& text, const std::string& file, nn::TextUnit unit,
               unsigned min_count) {
  const std::size_t size = text.units.size();
  if (size < kLeastUnits) {
    throw FileError(file, fmt::format("need a text of {} characters or words and more; got {}",
                                      kLeastUnits, size));
  }
  Task task;
  task.train_size = size * 9 / 10;
  task.encoding = {unit, vocabulary_of(text, task.train_size, min_count)};
  for (const std::uint32_t id : text.units) {
    task.units.push_back(task.encoding.vocabulary.id(text.vocabulary.word(id)));
  }
  const auto characters = [&](std::span<const std::uint32_t> units) {
    return nn::count_characters(nn::join_units(text.vocabulary, units, unit));
  };
  task.train_characters = characters(std::span(text.units).first(task.train_size));
  task.held_out_characters = characters(text.units) - task.train_characters;
  return task;
}

}  // namespace dynet_like::examples
