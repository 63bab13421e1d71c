// <dynet/pretrain.h>: word vectors in text files.
#include <dynet/pretrain.h>

#include "dynet_like/core/errors.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;
using dynet_like::FileError;
using dynet_like::UsageError;
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
