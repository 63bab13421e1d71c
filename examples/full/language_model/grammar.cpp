// The grammar as functions that write, and count the nats of their choices.
#include "examples/full/language_model/grammar.h"

#include <cmath>
#include <span>

namespace dynet_like::examples {

namespace {

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

}  // namespace dynet_like::examples
