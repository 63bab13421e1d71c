// Words are found where programs repeat, and only where no batch is lost by them.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "batching/find_words.h"
#include "batching/place_words.h"

namespace dynet_like::batching {
namespace {

// Samples as text: types are words between blanks, in the order in which they were first seen.
// What begins with a small letter is cheap, with a capital costly; "_" before it: not foldable.
class Program {
 public:
  Program& chain(const std::string& names, std::uint32_t chain) {
    for (const std::string& name : split(names)) facts_[type(name)].chain = chain;
    return *this;
  }
  Program& sample(const std::string& names) {
    for (const std::string& name : split(names)) types_.push_back(type(name));
    begin_.push_back(static_cast<std::uint32_t>(types_.size()));
    return *this;
  }
  Words find() const { return find_words(types_, begin_, facts_); }
  // The words as text.
  std::vector<std::string> words() const {
    std::vector<std::string> result;
    for (const auto& word : find().words) {
      std::string text;
      for (const std::uint32_t type : word) text += (text.empty() ? "" : " ") + names_[type];
      result.push_back(text);
    }
    return result;
  }
  std::string loose() const {
    std::string text;
    const Words words = find();
    for (std::size_t t = 0; t < names_.size(); ++t) {
      if (words.loose[t] != 0) text += (text.empty() ? "" : " ") + names_[t];
    }
    return text;
  }
  // A sample with brackets around its words; loose nodes stand where they were.
  std::string placed(std::size_t s) const {
    const auto sample = std::span(types_).subspan(begin_[s], begin_[s + 1] - begin_[s]);
    const Words words = find();
    const std::vector<Place> places = WordPlacer(words).place(sample);
    std::string text;
    for (std::uint32_t i = 0; i < sample.size(); ++i) {
      const bool starts = places[i].word != Place::alone && places[i].first == i;
      bool ends = places[i].word != Place::alone;
      for (std::uint32_t j = i + 1; j < sample.size(); ++j) {
        if (places[j].first == places[i].first) ends = false;
      }
      text += (i == 0 ? "" : " ") + std::string(starts ? "[" : "") + names_[sample[i]] +
              (ends ? "]" : "");
    }
    return text;
  }

 private:
  static std::vector<std::string> split(const std::string& names) {
    std::istringstream in(names);
    std::vector<std::string> result;
    for (std::string name; in >> name;) result.push_back(name);
    return result;
  }
  std::uint32_t type(const std::string& name) {
    const auto [found, is_new] =
        known_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) {
      names_.push_back(name);
      const char initial = name[name[0] == '_' ? 1 : 0];
      facts_.push_back({1, initial >= 'a' && initial <= 'z' ? 0.1f : 1.0f, name[0] != '_'});
    }
    return found->second;
  }

  std::map<std::string, std::uint32_t> known_;
  std::vector<std::string> names_;
  std::vector<TypeFacts> facts_;
  std::vector<std::uint32_t> types_, begin_{0};
};

std::string times(unsigned n, const std::string& text) {
  std::string result;
  for (unsigned i = 0; i < n; ++i) result += text + ' ';
  return result;
}

using Texts = std::vector<std::string>;

TEST(FindWords, BodyOfALoop) {
  Program program;
  program.chain("A B C", 10);
  for (unsigned n : {3u, 10u, 5u}) program.sample(times(n, "A B C"));
  EXPECT_EQ(program.words(), Texts{"A B C"});
  EXPECT_EQ(program.loose(), "");
  EXPECT_EQ(program.placed(0), "[A B C] [A B C] [A B C]");
}

const std::string kInner = "Ai g Af g Af g Ao g Au t m m m s t m ";
const std::string kLeaf = "Li g Lo g Lu t m t m ";

TEST(FindWords, CellsOfATree) {
  Program program;
  program.chain("Ai Af Ao Au s", 20).chain("g", 20).chain("t m", 40);
  for (unsigned i = 0; i < 8; ++i) {
    program.sample(times(2, kLeaf) + kInner + kLeaf + kInner);
    program.sample(kLeaf);
    program.sample(times(21, kLeaf) + times(20, kInner));
  }
  EXPECT_EQ(program.words(),
            (Texts{"Ai g Af g Af g Ao g Au t m m m s t m", "Li g Lo g Lu t m t m"}));
}

// The output layer follows inner nodes and leaves, and is one batch for both.
TEST(FindWords, OutputLayerOfATree) {
  Program program;
  program.chain("Ai Af Ao Au s", 20).chain("g", 20).chain("t m", 40);
  const std::string leaf = "lookup " + kLeaf + "Output Loss ", inner = kInner + "Output Loss ";
  for (unsigned i = 0; i < 7; ++i) {
    program.sample(times(2, leaf) + inner + leaf + inner + "sum" + std::to_string(i));
    program.sample(leaf + "root" + std::to_string(i));
    program.sample(times(21, leaf) + times(20, inner) + "sum" + std::to_string(i));
  }
  EXPECT_EQ(program.words(), (Texts{"Ai g Af g Af g Ao g Au t m m m s t m",
                                    "lookup Li g Lo g Lu t m t m", "Output Loss"}));
  EXPECT_EQ(program.loose(), "Output Loss");
  EXPECT_EQ(program.placed(1), "[lookup Li g Lo g Lu t m t m] [Output Loss] root0");
}

const std::string kStep = "Fi g Ff g Fo g Fu t m m s t m ",
                  kBack = "Bi g Bf g Bo g Bu t m m s t m ";

TEST(FindWords, StepsInBothDirections) {
  Program program;
  program.chain("Fi Ff Fo Fu Bi Bf Bo Bu s g", 30).chain("t m", 60);
  for (unsigned n : {1u, 30u, 2u, 1u, 7u, 1u}) {
    program.sample(times(n, "lookup") + times(n, kStep) + times(n, kBack + "concat") +
                   times(n, "Hidden tanh32 Output Loss"));
  }
  EXPECT_EQ(program.words(), (Texts{"Fi g Ff g Fo g Fu t m m s t m",
                                    "Bi g Bf g Bo g Bu t m m s t m", "Hidden tanh32 Output Loss"}));
  EXPECT_EQ(program.loose(), "concat");
  EXPECT_EQ(program.placed(0),
            "lookup [Fi g Ff g Fo g Fu t m m s t m] [Bi g Bf g Bo g Bu t m m s t m] concat "
            "[Hidden tanh32 Output Loss]");
}

// Its lookups are one batch, and so are its output layers.
TEST(FindWords, LanguageModel) {
  Program program;
  program.chain("Fi Ff Fo Fu s g", 30).chain("t m", 60);
  for (unsigned n : {3u, 30u, 8u}) program.sample(times(n, "lookup " + kStep + "Output Loss"));
  EXPECT_EQ(program.words(), (Texts{"Fi g Ff g Fo g Fu t m m s t m", "Output Loss"}));
  EXPECT_EQ(program.loose(), "lookup Output Loss");
}

// However short the sentences: a lookup that costs something is one batch.
TEST(FindWords, LookupsOfShortSentences) {
  Program program;
  program.chain("A B C D", 5);
  for (unsigned n : {3u, 5u, 4u}) program.sample(times(n, "Lookup A B C D"));
  EXPECT_EQ(program.words(), Texts{"A B C D"});
  EXPECT_EQ(program.loose(), "Lookup");
}

TEST(FindWords, WhatNeedsNoStepStaysOutOfTheMiddleOfSteps) {
  Program program;
  program.chain("A B", 30);
  for (unsigned n : {3u, 30u, 8u}) program.sample(times(n, "A FromX FromY B"));
  EXPECT_EQ(program.words(), (Texts{"A B", "FromX FromY"}));
  EXPECT_EQ(program.loose(), "FromX FromY");
  // On both sides of a node of the main sequence they are no word: it may stand between them.
  Program divided;
  divided.chain("A B C", 30);
  for (unsigned n : {3u, 30u, 8u}) divided.sample(times(n, "A FromX B FromY C"));
  EXPECT_EQ(divided.words(), Texts{"A B C"});
  EXPECT_EQ(divided.placed(0).substr(0, 18), "[A FromX B FromY C");
  EXPECT_EQ(divided.loose(), "FromX FromY");
}

// What a part of the step needs of another one may have another type in every sample.
TEST(FindWords, WhatIsNotAlwaysThereDoesNotStayOut) {
  Program program;
  program.chain("A B", 30).chain("Attend3", 9).chain("Attend9", 9).chain("Attend4", 12);
  for (unsigned n : {3u, 9u, 4u}) {
    for (unsigned i = 0; i < 3; ++i) {
      program.sample(times(n, "A Attend" + std::to_string(n) + " B"));
    }
  }
  program.sample(times(30, "A Attend30 B")).chain("Attend30", 30);
  EXPECT_EQ(program.loose(), "");
  for (const std::string& word : program.words()) EXPECT_NE(word, "A B");
}

TEST(FindWords, FirstStepWithoutState) {
  Program program;
  program.chain("Fi Ff Fo Fu s g", 30).chain("t m", 60);
  for (unsigned n : {1u, 2u, 3u, 4u, 1u, 5u, 6u, 30u, 8u, 9u}) {
    program.sample("Xi g Xo g Xu t m t m " + times(n - 1, kStep));
  }
  EXPECT_EQ(program.words(), (Texts{"Fi g Ff g Fo g Fu t m m s t m", "Xi g Xo g Xu t m t m"}));
  // Though a step always follows here, it is not torn from the others.
  Program longer;
  longer.chain("Fi Ff Fo Fu s g", 30).chain("t m", 60);
  for (unsigned n : {2u, 3u, 4u, 5u, 6u, 30u, 8u, 9u}) {
    longer.sample("Xi g Xo g Xu t m t m " + times(n - 1, kStep));
  }
  EXPECT_EQ(longer.words(), program.words());
}

// At the end of a loop, as at its beginning.
TEST(FindWords, LabelOfASentence) {
  Program program;
  program.chain("Fi Ff Fo Fu s g", 30).chain("t m", 60);
  for (unsigned n : {2u, 3u, 4u, 5u, 6u, 30u, 8u, 9u})
    program.sample(times(n, kStep) + "Output Loss");
  EXPECT_EQ(program.words(), (Texts{"Fi g Ff g Fo g Fu t m m s t m", "Output Loss"}));
}

// Chains of a forget gate for left children go along left children only.
TEST(FindWords, PartsOfAChain) {
  const std::string inner = "Ai g Al g Ar g Ao g Au t m m m s t m ";
  for (const auto& [left, right] : {std::pair{9u, 13u}, {3u, 19u}}) {
    Program program;
    program.chain("Ai Ao Au s g", 20).chain("Al", left).chain("Ar", right).chain("t m", 40);
    for (unsigned n : {1u, 4u, 20u, 6u}) program.sample(times(n + 1, kLeaf) + times(n, inner));
    EXPECT_EQ(program.words(),
              (Texts{"Ai g Al g Ar g Ao g Au t m m m s t m", "Li g Lo g Lu t m t m"}));
  }
}

TEST(FindWords, MuchShorterChains) {
  Program program;
  program.chain("A", 30).chain("B C D", 4);
  for (unsigned n : {30u, 3u}) program.sample(times(n, "A B C D"));
  EXPECT_EQ(program.words(), Texts{"B C D"});
  EXPECT_EQ(program.loose(), "B C D");
}

// A product that leaves and inner nodes share follows both, in about as many batches as alone.
TEST(FindWords, ProductInTwoWords) {
  Program program;
  program.chain("A P", 10).chain("s", 20);
  for (unsigned n : {20u, 10u, 5u}) program.sample(times(n + 1, "L P") + times(n, "A s s P"));
  EXPECT_EQ(program.words(), (Texts{"A s s P", "L P"}));
}

// The first step has no product with a state. It is one node of every sample, so one batch.
TEST(FindWords, StepsWithACommonBeginning) {
  Program program;
  program.chain("R m a t", 30).chain("H", 29);
  for (unsigned n : {2u, 5u, 3u, 8u, 9u, 30u, 6u, 4u, 2u, 3u, 5u, 7u}) {
    program.sample("R m a t " + times(n - 1, "R H m a t"));
  }
  EXPECT_EQ(program.words(), (Texts{"R H m a t", "R m a t"}));
}

// A cheap type that has one batch does not become one per step of what is before it at times.
TEST(FindWords, CommonTypesWithoutAChain) {
  Program program;
  program.chain("P", 8).chain("Q", 20);
  program.sample(times(8, "P concat Output Loss")).sample(times(20, "Q concat Output Loss"));
  EXPECT_EQ(program.words(), Texts{"concat Output Loss"});
}

TEST(FindWords, TheSameProductTwice) {
  // The tokens of a run do not depend on each other: there are twice as many as in a chain.
  Program children;
  children.chain("A F B", 10);
  for (unsigned n : {10u, 3u, 6u}) children.sample(times(n, "A F F B"));
  EXPECT_EQ(children.words(), Texts{"A F F B"});
  // They do: three steps of a loop.
  Program loop;
  loop.chain("A B", 1).chain("F", 3);
  for (unsigned i = 0; i < 10; ++i) loop.sample("A F F F B");
  EXPECT_EQ(loop.words(), Texts{});
}

TEST(FindWords, NothingThatIsSeenRarely) {
  Program rare, often;
  for (unsigned i = 0; i < 7; ++i) rare.sample("A B C");
  for (unsigned i = 0; i < 8; ++i) often.sample("A B C");
  EXPECT_EQ(rare.words(), Texts{});
  EXPECT_EQ(often.words(), Texts{"A B C"});
}

TEST(FindWords, SamplesThatDiffer) {
  Program program;
  program.chain("A B C D", 10);
  program.sample(times(10, "A B")).sample(times(10, "C D")).sample(times(10, "D C"));
  EXPECT_EQ(program.words(), Texts{"A B"});
  // What two samples go on with differently would run twice in two words, if it costs much.
  Program costly, cheap;
  costly.chain("A B C D", 10).sample(times(10, "A B C")).sample(times(10, "A B D"));
  EXPECT_EQ(costly.words(), Texts{"A B"});
  EXPECT_EQ(costly.placed(1).substr(0, 15), "[A B] D [A B] D");
  cheap.chain("a b C D", 10).sample(times(10, "a b C")).sample(times(10, "a b D"));
  EXPECT_EQ(cheap.words(), (Texts{"a b C", "a b D"}));
}

TEST(FindWords, NodesThatCannotBeFolded) {
  Program program;
  program.chain("A B", 10).sample("_p " + times(10, "A _x B") + "_y");
  EXPECT_EQ(program.words(), Texts{"A B"});
  EXPECT_EQ(program.loose(), "_p _x _y");
  EXPECT_EQ(program.placed(0).substr(0, 20), "_p [A _x B] [A _x B]");
}

// A long body is cut into pieces, of which at most one is small.
TEST(FindWords, LongBodies) {
  std::string body;
  for (unsigned i = 0; i < 150; ++i) body += "T" + std::to_string(i) + ' ';
  Program program;
  program.sample(times(3, body)).sample(times(9, body));
  for (unsigned i = 0; i < 150; ++i) program.chain("T" + std::to_string(i), 9);
  std::size_t covered = 0, small = 0;
  for (const auto& word : program.find().words) {
    EXPECT_LE(word.size(), 64u);
    covered += word.size();
    if (word.size() < 16) ++small;
  }
  EXPECT_GE(covered, 149u);
  EXPECT_LE(small, 1u);
}

TEST(FindWords, TheMostUsefulOfManyWords) {
  Program program;
  for (unsigned i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    for (unsigned k = 0; k < 8 + i % 3; ++k) program.sample("A" + n + " B" + n);
  }
  const std::vector<std::string> words = program.words();
  ASSERT_EQ(words.size(), 64u);
  EXPECT_EQ(words[0], "A2 B2");
  EXPECT_EQ(words[33], "A1 B1");
  EXPECT_EQ(words[63], "A91 B91");
}

TEST(FindWords, LittleToFind) {
  const std::vector<std::uint32_t> none, nowhere{0}, one{3}, twice{0, 0}, single{0, 1};
  const std::vector<TypeFacts> facts(5);
  EXPECT_TRUE(find_words(none, none, {}).words.empty());
  EXPECT_TRUE(find_words(none, nowhere, {}).words.empty());
  EXPECT_TRUE(find_words(none, twice, facts).words.empty());
  EXPECT_TRUE(find_words(one, single, facts).words.empty());
  EXPECT_EQ(find_words(one, single, facts).loose, std::vector<std::uint8_t>(5, 0));
  const Words no_words;
  EXPECT_TRUE(WordPlacer(no_words).place(none).empty());
  Program same, other;
  same.chain("A", 100).sample(times(100, "A")).sample("A").sample("");
  EXPECT_EQ(same.words(), Texts{});
  EXPECT_EQ(same.placed(1), "A");
  other.chain("A B", 30).sample(times(30, "A B"));
  EXPECT_EQ(other.words(), Texts{"A B"});
}

// By chance nothing always follows the same.
TEST(FindWords, RandomSequences) {
  std::mt19937 random(1);
  for (const std::uint32_t type_count : {2u, 5u, 20u, 100u, 2000u}) {
    std::vector<std::uint32_t> types(20000), begin;
    for (auto& type : types) type = static_cast<std::uint32_t>(random() % type_count);
    for (std::uint32_t i = 0; i <= 20000; i += 500) begin.push_back(i);
    std::vector<TypeFacts> facts(type_count);
    for (TypeFacts& facts_of_one : facts) {
      facts_of_one = {1 + static_cast<std::uint32_t>(random() % 20),
                      random() % 2 == 0 ? 0.1f : 1.0f, random() % 10 != 0};
    }
    EXPECT_LE(find_words(types, begin, facts).words.size(), 2u) << type_count;
  }
}

// Programs put together from cells by chance: what is found is there, no type is in a word that
// must not be, and a second search finds the same.
TEST(FindWords, RandomPrograms) {
  std::mt19937 random(2);
  for (unsigned round = 0; round < 300; ++round) {
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const std::uint32_t type_count = 3 + below(30);
    std::vector<std::vector<std::uint32_t>> cells(1 + below(5));
    for (auto& cell : cells) {
      cell.resize(1 + below(20));
      for (auto& type : cell) type = below(type_count);
    }
    std::vector<std::uint32_t> types, begin{0};
    for (unsigned sample = below(20); sample > 0; --sample) {
      for (unsigned k = below(20); k > 0; --k) {
        const auto& cell = cells[below(static_cast<std::uint32_t>(cells.size()))];
        types.insert(types.end(), cell.begin(), cell.end());
      }
      begin.push_back(static_cast<std::uint32_t>(types.size()));
    }
    std::vector<TypeFacts> facts(type_count);
    for (TypeFacts& one : facts) one = {below(30), below(2) == 0 ? 0.1f : 1.0f, below(10) != 0};
    const Words words = find_words(types, begin, facts);
    const Words again = find_words(types, begin, facts);
    ASSERT_EQ(words.words, again.words);
    ASSERT_EQ(words.loose, again.loose);
    std::vector<unsigned> times(words.words.size(), 0);
    for (std::size_t s = 0; s + 1 < begin.size(); ++s) {
      const auto sample = std::span(types).subspan(begin[s], begin[s + 1] - begin[s]);
      const std::vector<Place> places = WordPlacer(words).place(sample);
      std::vector<std::vector<std::uint32_t>> members(sample.size());
      for (std::uint32_t i = 0; i < sample.size(); ++i)
        members[places[i].first].push_back(sample[i]);
      for (std::uint32_t i = 0; i < sample.size(); ++i) {
        if (places[i].word == Place::alone || places[i].first != i) continue;
        ASSERT_EQ(members[i], words.words[places[i].word]);
        ++times[places[i].word];
      }
    }
    for (std::size_t w = 0; w < times.size(); ++w) {
      const auto& word = words.words[w];
      EXPECT_GE(word.size(), 2u);
      // Between the nodes of a loose word there may always be others that are in no word.
      if (words.loose[word[0]] == 0) {
        EXPECT_GT(times[w], 0u);
      }
      for (const std::uint32_t type : word) {
        EXPECT_TRUE(facts[type].foldable);
        EXPECT_EQ(words.loose[type], words.loose[word[0]]);
      }
    }
  }
}

}  // namespace
}  // namespace dynet_like::batching
