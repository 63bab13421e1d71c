// Edit scripts: exact on their own pair, shared by alike words, safe on any other word.
#include "nn/pipeline/edit_script.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/core/random.h"
#include "nn/data/text.h"

namespace dynet_like::nn {
namespace {

/// Characters of several scripts and cases, and bytes that are no UTF-8.
std::string random_word(Random& random, unsigned longest) {
  static const std::vector<std::string> characters = [] {
    std::vector<std::string> all = split_line("a b A B ü Ü ß б Б İ ı ǅ Σ ς - = 0 , 你 😀 \xFF");
    all.insert(all.end(), {" ", "\xC3", "\x80", "\xE4\xBD", std::string(1, '\0')});
    return all;
  }();
  std::string word;
  for (unsigned left = random.below(longest + 1); left > 0; --left) {
    word += characters[random.below(static_cast<unsigned>(characters.size()))];
  }
  return word;
}

TEST(EditScriptTest, IsExactOnItsOwnPair) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string word = random_word(random, 8), lemma = random_word(random, 8);
    if (lemma.empty()) continue;
    const std::string script = edit_script(word, lemma);
    EXPECT_EQ(apply_edit_script(script, word), lemma) << script;
  }
}

TEST(EditScriptTest, IsSafeOnOtherWords) {
  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    const std::string word = random_word(random, 6);
    const std::string script = i % 2 == 0
                                   ? edit_script(random_word(random, 9), random_word(random, 9))
                                   : random_word(random, 9);
    EXPECT_FALSE(apply_edit_script(script, word + 'a').empty()) << script;
  }
  for (const std::string script : {"", "small", "small 9 0 0 ", "small 0 1 99 x", "small 3 0 0 ",
                                   "0,x 0 0 0 ", "small 18446744073709551615 1 0 "}) {
    EXPECT_EQ(apply_edit_script(script, "cat"), "cat") << script;
  }
}

TEST(EditScriptTest, CutsOffTheLaterOfTwoEqualParts) {
  EXPECT_EQ(edit_script("abcab", "ab"), "small 0 3 0 ");
  EXPECT_EQ(edit_script("abcabd", "abd"), "small 3 0 0 ");
}

TEST(EditScriptTest, MayCutOffTheWholeWord) {
  for (const std::string script : {"small 2 0 1 xyz", "small 1 1 1 xyz", "small 0 2 1 xyz"}) {
    EXPECT_EQ(apply_edit_script(script, "ab"), "xyz") << script;
  }
  for (const std::string script : {"small 3 0 1 xyz", "small 1 2 1 xyz", "small 0 3 1 xyz"}) {
    EXPECT_EQ(apply_edit_script(script, "ab"), "ab") << script;
  }
}

TEST(EditScriptTest, AlikeWordsShareIt) {
  const auto alike = [](const char* a, const char* of_a, const char* b, const char* of_b) {
    return edit_script(a, of_a) == edit_script(b, of_b);
  };
  EXPECT_TRUE(alike("walking", "walk", "Asking", "ask"));
  EXPECT_TRUE(alike("geschaut", "schauen", "gebaut", "bauen"));
  EXPECT_TRUE(alike("Zoe", "Zoe", "ÉMILE", "Émile"));
  EXPECT_TRUE(alike("usa", "USA", "nato", "NATO"));
  EXPECT_FALSE(alike("running", "run", "walking", "walk"));
  EXPECT_EQ(apply_edit_script(edit_script("MCDONALDS", "McDonald"), "MCARTHURS"), "McArthur");
  EXPECT_EQ(apply_edit_script(edit_script("went", "go"), "left"), "go");
}

}  // namespace
}  // namespace dynet_like::nn
