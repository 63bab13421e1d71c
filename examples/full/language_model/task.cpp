// Splits a text, and numbers the units that are frequent enough in its training part.
#include "examples/full/language_model/task.h"

#include <cmath>
#include <sstream>

#include <fmt/core.h>

#include "dynet_like/core/errors.h"

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

/// The singular and the plural form.
struct Word {
  const char *singular, *plural;
};

constexpr Word kNouns[] = {{"dog", "dogs"},       {"cat", "cats"},   {"farmer", "farmers"},
                           {"child", "children"}, {"bird", "birds"}, {"wolf", "wolves"}};
constexpr Word kIntransitive[] = {
    {"sleeps", "sleep"}, {"sings", "sing"}, {"runs", "run"}, {"waits", "wait"}};
constexpr Word kTransitive[] = {
    {"sees", "see"}, {"likes", "like"}, {"chases", "chase"}, {"hears", "hear"}};
constexpr Word kAdjectives[] = {
    {"old", "old"}, {"small", "small"}, {"hungry", "hungry"}, {"quiet", "quiet"}};
constexpr int kDeepest = 2;  // clauses within clauses

class Writer {
 public:
  Writer(GrammarText& out, Random& random) : out_(out), random_(random) {}

  void sentence() {
    clause(noun_phrase(0), 0);
    out_.text.back() = '\n';
  }

 private:
  /// Returns whether it is plural.
  bool noun_phrase(int depth) {
    write("the");
    if (chance(0.3)) write(kAdjectives, false);
    const bool plural = chance(0.5);
    write(kNouns, plural);
    if (depth < kDeepest && chance(0.25)) relative_clause(plural, depth + 1);
    return plural;
  }

  void relative_clause(bool plural, int depth) {
    write("that");
    if (chance(0.5)) return clause(plural, depth);
    write(kTransitive, noun_phrase(depth));
  }

  /// The part after a subject.
  void clause(bool plural, int depth) {
    if (chance(0.5)) return write(kIntransitive, plural);
    write(kTransitive, plural);
    noun_phrase(depth);
  }

  void write(const char* word) { (out_.text += word) += ' '; }
  void write(std::span<const Word> words, bool plural) {
    out_.nats += std::log(static_cast<double>(words.size()));
    const Word& word = words[random_.below(static_cast<std::uint32_t>(words.size()))];
    write(plural ? word.plural : word.singular);
  }
  bool chance(double probability) {
    const bool happens = random_.uniform() < probability;
    out_.nats -= std::log(happens ? probability : 1 - probability);
    return happens;
  }

  GrammarText& out_;
  Random& random_;
};

}  // namespace

GrammarText grammar_text(unsigned sentences, Random& random) {
  GrammarText out;
  Writer writer(out, random);
  for (unsigned i = 0; i < sentences; ++i) writer.sentence();
  return out;
}

Task generated_task(unsigned sentences, std::uint64_t seed, nn::TextUnit unit, unsigned min_count) {
  Random random(seed);
  const GrammarText generated = grammar_text(sentences, random);
  const nn::Text text = nn::read_text(nn::TextSource::of(generated.text, "generated"), unit);
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
