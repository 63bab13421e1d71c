// <dynet/dict.h>, <dynet/pretrain.h>: words and numbers for each other, sentences as numbers, and
// word vectors in text files.
#include <dynet/dict.h>
#include <dynet/pretrain.h>

#include "dynet_like/core/errors.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;
using dynet_like::FileError;
using dynet_like::UsageError;
using Numbers = std::vector<int>;

TEST(CompatDictTest, WordsAreNumberedAsTheyCome) {
  Dict dict;
  EXPECT_EQ(dict.size(), 0u);
  EXPECT_EQ(dict.convert("a"), 0);
  EXPECT_EQ(dict.convert("b"), 1);
  EXPECT_EQ(dict.convert("a"), 0);
  EXPECT_EQ(dict.convert(""), 2);
  EXPECT_EQ(dict.size(), 3u);
  EXPECT_TRUE(dict.contains("b"));
  EXPECT_FALSE(dict.contains("c"));
  EXPECT_EQ(dict.convert(1), "b");
  EXPECT_EQ(dict.convert(1u), "b");
  EXPECT_EQ(dict.get_words(), (std::vector<std::string>{"a", "b", ""}));
  EXPECT_THROW(dict.convert(3), UsageError);
  EXPECT_THROW(dict.convert(-1), UsageError);
}

TEST(CompatDictTest, WhatIsFrozenGainsNoWords) {
  Dict dict;
  dict.convert("a");
  EXPECT_FALSE(dict.is_frozen());
  EXPECT_THROW(dict.set_unk("<unk>"), UsageError);
  dict.freeze();
  EXPECT_TRUE(dict.is_frozen());
  EXPECT_EQ(dict.convert("a"), 0);
  EXPECT_THROW(dict.convert("b"), UsageError);
  EXPECT_EQ(dict.get_unk_id(), -1);
  dict.set_unk("<unk>");
  EXPECT_EQ(dict.get_unk_id(), 1);
  EXPECT_EQ(dict.convert("b"), 1);
  EXPECT_EQ(dict.convert("<unk>"), 1);
  EXPECT_EQ(dict.size(), 2u);
  EXPECT_FALSE(dict.contains("b"));
  EXPECT_THROW(dict.set_unk("a"), UsageError);
}

TEST(CompatDictTest, TheUnknownWordMayBeThereAlready) {
  Dict dict;
  dict.convert("<unk>");
  dict.convert("a");
  dict.freeze();
  dict.set_unk("<unk>");
  EXPECT_EQ(dict.get_unk_id(), 0);
  EXPECT_EQ(dict.size(), 2u);
}

TEST(CompatDictTest, ClearForgetsAllWords) {
  Dict dict;
  dict.convert("a");
  dict.freeze();
  dict.set_unk("<unk>");
  dict.clear();
  EXPECT_EQ(dict.size(), 0u);
  EXPECT_FALSE(dict.contains("a"));
  EXPECT_EQ(dict.get_unk_id(), -1);
  EXPECT_TRUE(dict.is_frozen());
  EXPECT_THROW(dict.convert("a"), UsageError);
  const int first = 0;
  EXPECT_THROW(dict.convert(first), UsageError);
}

TEST(CompatDictTest, AByteOrderMarkIsPartOfTheFirstWordAsInDyNet) {
  Dict dict;
  read_sentence("\xEF\xBB\xBFwords", dict);
  EXPECT_EQ(dict.get_words().front(), "\xEF\xBB\xBFwords");
}

TEST(CompatDictTest, SentencesBecomeNumbers) {
  Dict dict;
  EXPECT_EQ(read_sentence(" the cat\tsaw  the dog \n", dict), (Numbers{0, 1, 2, 0, 3}));
  EXPECT_EQ(read_sentence("", dict), Numbers());
  EXPECT_EQ(dict.convert(3), "dog");
  dict.freeze();
  EXPECT_THROW(dynet::read_sentence("the bird", dict), UsageError);
}

TEST(CompatDictTest, PairsOfSentencesAreAppended) {
  Dict source, target;
  Numbers s, t;
  read_sentence_pair("a b ||| c d e", s, source, t, target);
  EXPECT_EQ(s, (Numbers{0, 1}));
  EXPECT_EQ(t, (Numbers{0, 1, 2}));
  dynet::read_sentence_pair("b ||| e", s, source, t, target);
  EXPECT_EQ(s, (Numbers{0, 1, 1}));
  EXPECT_EQ(t, (Numbers{0, 1, 2, 2}));
  EXPECT_EQ(source.size(), 2u);
  EXPECT_FALSE(target.contains("|||"));
}

using Vectors = std::unordered_map<int, std::vector<float>>;

std::string path() { return testing::TempDir() + "dynet_vectors.txt"; }

TEST(CompatPretrainTest, WhatIsSavedReadsBack) {
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(
      4, {2}, ParameterInitFromVector({1, 2, 0.1f, -0.3f, 1e-30f, 1e30f, 9, 9}));
  Dict words;
  for (const char* word : {"the", "cat", "sat"}) words.convert(word);
  save_pretrained_embeddings(path(), words, table);

  Dict again;
  again.convert("cat");
  Vectors vectors;
  read_pretrained_embeddings(path(), again, vectors);
  EXPECT_EQ(again.get_words(), (std::vector<std::string>{"cat", "the", "sat"}));
  EXPECT_EQ(vectors, (Vectors{{0, {0.1f, -0.3f}}, {1, {1, 2}}, {2, {1e-30f, 1e30f}}}));

  for (const char* word : {"on", "mat"}) words.convert(word);
  EXPECT_THROW(save_pretrained_embeddings(path(), words, table), UsageError);
  EXPECT_THROW(save_pretrained_embeddings("/nowhere/x", again, table), FileError);
}

TEST(CompatPretrainTest, FrozenDictionariesGainNoWords) {
  std::ofstream(path()) << "3 2\na 1 2\nb 3 4\nc 5 6\n";
  Dict words;
  words.convert("b");
  words.freeze();
  Vectors vectors = {{5, {7}}};
  read_pretrained_embeddings(path(), words, vectors);
  EXPECT_EQ(vectors, (Vectors{{5, {7}}, {0, {3, 4}}}));
  words.set_unk("<unk>");
  vectors.clear();
  read_pretrained_embeddings(path(), words, vectors);
  EXPECT_EQ(vectors, (Vectors{{0, {3, 4}}}));
  EXPECT_EQ(words.size(), 2u);
}

TEST(CompatPretrainTest, BadLinesAreReported) {
  std::ofstream(path()) << "a 1 2\nb 3\n";
  Dict words;
  Vectors vectors;
  try {
    read_pretrained_embeddings(path(), words, vectors);
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_EQ(error.line(), 2u);
  }
}

}  // namespace
