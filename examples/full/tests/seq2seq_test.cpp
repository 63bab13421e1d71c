// Data of seq2seq: generated commands, and files.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "dynet_like/core/errors.h"
#include "examples/full/seq2seq/commands.h"
#include "examples/full/seq2seq/pairs.h"

namespace dynet_like::examples {
namespace {

std::map<std::string, std::string> all_commands() {
  Random random(1);
  std::map<std::string, std::string> meanings;
  for (const nn::TextPair& pair : draw_commands(kCommands, random)) {
    meanings[pair.first] = pair.second;
  }
  return meanings;
}

TEST(CommandsTest, MeanWhatTheySay) {
  const auto meanings = all_commands();
  EXPECT_EQ(meanings.size(), kCommands);  // all are different
  EXPECT_EQ(meanings.at("jump"), "JUMP");
  EXPECT_EQ(meanings.at("turn left"), "LEFT");
  EXPECT_EQ(meanings.at("turn opposite right"), "RIGHT RIGHT");
  EXPECT_EQ(meanings.at("turn around left"), "LEFT LEFT LEFT LEFT");
  EXPECT_EQ(meanings.at("walk opposite left"), "LEFT LEFT WALK");
  EXPECT_EQ(meanings.at("run around right twice"),
            "RIGHT RUN RIGHT RUN RIGHT RUN RIGHT RUN RIGHT RUN RIGHT RUN RIGHT RUN RIGHT RUN");
  EXPECT_EQ(meanings.at("look thrice and turn left"), "LOOK LOOK LOOK LEFT");
  EXPECT_EQ(meanings.at("look left after jump twice"), "JUMP JUMP LEFT LOOK");
}

// SCAN's own files have the same meanings, with other names of actions.
TEST(CommandsTest, AreThoseOfScan) {
  const char* const data = std::getenv("DYNET_LIKE_DATA");
  if (data == nullptr) GTEST_SKIP() << "DYNET_LIKE_DATA is not set";
  const auto meanings = all_commands();
  const auto in_our_words = [](std::string actions) {
    for (const auto* const prefix : {"I_TURN_", "I_"}) {
      for (std::size_t at; (at = actions.find(prefix)) != actions.npos;) {
        actions.erase(at, std::string(prefix).size());
      }
    }
    return actions;
  };
  std::map<std::string, std::string> scan;
  for (const nn::TextPair& pair : nn::read_scan(std::string(data) + "/scan/tasks.txt")) {
    scan[pair.first] = in_our_words(pair.second);
  }
  EXPECT_EQ(scan, meanings);
}

TEST(CommandsTest, AsManyAsThereAre) {
  Random random(1);
  EXPECT_EQ(draw_commands(7, random).size(), 7u);
  EXPECT_THROW(draw_commands(kCommands + 1, random), UsageError);
}

TEST(VocabulariesTest, RareWordsAndTheEnd) {
  const Vocabularies words({{"a b a", "x y", ""}, {"a c", "", ""}}, 2);
  EXPECT_EQ(words.source.size(), 2u);  // a, and the unknown word
  EXPECT_EQ(words.source.id("b"), *words.source.unknown());
  EXPECT_EQ(words.target.size(), 3u);
  EXPECT_EQ(words.target.word(Vocabularies::kEnd), "\n");
  EXPECT_THROW(words.target.id("z"), UsageError);
}

}  // namespace
}  // namespace dynet_like::examples
