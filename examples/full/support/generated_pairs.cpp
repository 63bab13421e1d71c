// Sentences about all possible worlds: each is the set of worlds in which it is true.
#include "examples/full/support/generated.h"

#include <array>
#include <bitset>
#include <set>
#include <string>

#include "dynet_like/core/random.h"

namespace dynet_like::examples {

namespace {

constexpr unsigned kKinds = 8, kWorlds = 1u << kKinds;

/// A text, and the kinds of individuals for which it is true, as bits.
struct Phrase {
  std::string text;
  unsigned kinds = 0;
};

Phrase random_phrase(Random& random, unsigned depth) {
  static const std::array<Phrase, 3> words = {{{"dogs", 0xaa}, {"big", 0xcc}, {"old", 0xf0}}};
  if (depth == 0 || random.below(2) == 0) return words[random.below(words.size())];
  const Phrase a = random_phrase(random, depth - 1);
  if (random.below(2) == 0) return {"( not " + a.text + " )", ~a.kinds & (kWorlds - 1)};
  const Phrase b = random_phrase(random, depth - 1);
  if (random.below(2) == 0) return {"( " + a.text + " ( or " + b.text + " ) )", a.kinds | b.kinds};
  return {"( " + a.text + " ( and " + b.text + " ) )", a.kinds & b.kinds};
}

struct Sentence {
  std::string text;
  std::bitset<kWorlds> worlds;  ///< in which the sentence is true

  explicit Sentence(Random& random) {
    do {
      const Phrase subject = random_phrase(random, 2), predicate = random_phrase(random, 2);
      const auto quantifier = random.below(3);
      const char* const word = quantifier == 0 ? "all" : quantifier == 1 ? "some" : "no";
      text = std::string("( ( ") + word + ' ' + subject.text + " ) " + predicate.text + " )";
      for (unsigned world = 0; world < kWorlds; ++world) {
        const unsigned both = world & subject.kinds & predicate.kinds;
        const unsigned others = world & subject.kinds & ~predicate.kinds;
        worlds[world] = quantifier == 0 ? others == 0 : quantifier == 1 ? both != 0 : both == 0;
      }
    } while (worlds.all() || worlds.none());  // always or never true says nothing
  }
};

}  // namespace

std::vector<nn::TextPair> generated_pairs(std::size_t count, std::uint64_t seed) {
  const std::array<std::string, 3> labels = {"entailment", "contradiction", "neutral"};
  Random random(seed);
  std::set<std::string> made;
  std::vector<nn::TextPair> pairs;
  while (pairs.size() < count) {
    const Sentence a(random), b(random);
    const std::string& label = (a.worlds & ~b.worlds).none()  ? labels[0]
                               : (a.worlds & b.worlds).none() ? labels[1]
                                                              : labels[2];
    if (label != labels[pairs.size() % 3]) continue;
    if (made.insert(a.text + '\t' + b.text).second) pairs.push_back({a.text, b.text, label});
  }
  return pairs;
}

}  // namespace dynet_like::examples
