// Words are found where programs repeat, and only where no batch is lost by them.
#include <gtest/gtest.h>

#include <chrono>
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
    const std::vector<Place> places = place_words(sample, find());
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

}  // namespace
}  // namespace dynet_like::batching
