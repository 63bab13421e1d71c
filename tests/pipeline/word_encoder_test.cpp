// Pretrained vectors are read, and never updated; rare words and long words.
#include "nn/pipeline/word_encoder.h"

#include "nn/pipeline/text_reader.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using Words = std::vector<std::string>;

WordEncoderVocabularies vocabularies() {
  ConlluSentence sentence;
  for (const char* word : {"dog", "dog", "cat", "god"}) {
    sentence.words.push_back(unknown_columns(word));
  }
  auto all = WordEncoderVocabularies::of({&sentence, 1});
  all.pretrained.set_unknown("<unknown>");
  all.pretrained.add_all(Words{"cat", "cow"});
  return all;
}

const WordEncoderOptions kSmall = {.word = 4,
                                   .character = 3,
                                   .spelling = 4,
                                   .hidden = 4,
                                   .layers = 1,
                                   .pretrained = 2,
                                   .dropout = 0};

TEST(WordEncoderTest, KnowsWordsAndCharactersThatOccurTwice) {
  const WordEncoderVocabularies all = vocabularies();
  EXPECT_TRUE(all.words.find("dog"));
  EXPECT_TRUE(all.words.find("DOG"));
  EXPECT_FALSE(all.words.find("cat"));
  EXPECT_TRUE(all.characters.find("g"));
  EXPECT_FALSE(all.characters.find("a"));
}

TEST(WordEncoderTest, TrainingLeavesPretrainedVectorsAsTheyAre) {
  ParameterCollection model(1);
  const WordEncoder encoder(model, vocabularies(), kSmall);
  const LookupParameter table = encoder.pretrained()->table();
  const std::vector<float> vector = {0.5f, -0.25f};
  table.initialize(1, vector);
  AdamTrainer trainer(model, 0.1f);
  const Words words = {"cat", "dog"};
  float first = 0, last = 0;
  for (int step = 0; step < 5; ++step) {
    ComputationGraph graph;
    const Expression loss = squared_norm(encoder(graph, words));
    last = as_scalar(loss.value());
    if (step == 0) first = last;
    trainer.update(graph.backward(loss));
  }
  EXPECT_LT(last, first);
  EXPECT_EQ(as_vector(table.values(1)), vector);
}

TEST(WordEncoderTest, PretrainedVectorsCount) {
  ParameterCollection model(1);
  const WordEncoder encoder(model, vocabularies(), kSmall);
  const auto value = [&](const Words& words) {
    ComputationGraph graph({.inference = true});
    return as_vector(encoder(graph, words).value());
  };
  EXPECT_EQ(value({"cow"}).size(), encoder.size());
  const std::vector<float> before = value({"cow"});
  encoder.pretrained()->table().initialize(2, {1, 1});
  EXPECT_NE(value({"cow"}), before);
}

/// A folder with a small encoder that is not trained, and its tokenizer.
std::string small_encoder() {
  const std::string folder = ::testing::TempDir() + "word_encoder_test";
  ParameterCollection model(1);
  EncoderConfig config;
  config.vocabulary = 9;
  config.size = config.hidden = 8;
  config.heads = config.layers = 1;
  Encoder(model, config).save(folder);
  std::ofstream(folder + "/tokenizer.json") << R"({"model":{"type":"WordPiece","unk_token":"[UNK]",
      "continuing_subword_prefix":"##","max_input_chars_per_word":9,"vocab":{"[UNK]":0,"cat":1,"dog":2}},
      "pre_tokenizer":{"type":"WhitespaceSplit"}})";
  return folder;
}

TEST(WordEncoderTest, APretrainedEncoderGetsReplacementsForBytesThatAreNotUtf8) {
  const std::string folder = small_encoder();
  ParameterCollection model(1);
  const WordEncoder encoder(model, vocabularies(), kSmall, TextEncoder::load(model, folder));
  EXPECT_EQ(encoder.size(), WordEncoder(model, vocabularies(), kSmall).size() + 8);
  const auto value = [&](const Words& words) {
    ComputationGraph graph({.inference = true});
    return as_vector(encoder(graph, words).value());
  };
  EXPECT_EQ(value({"cat\xFF", "dog"}).size(), 2 * encoder.size());
  EXPECT_NE(value({"cat", "dog"}), value({"cat\xFF", "dog"}));
}

TEST(WordEncoderTest, ReadsSixteenCharactersAtEitherEnd) {
  ParameterCollection model(1);
  const WordEncoder encoder(model, vocabularies(), kSmall);
  const auto value = [&](const std::string& word) {
    ComputationGraph graph({.inference = true});
    return as_vector(encoder(graph, Words{word}).value());
  };
  const std::string front(15, 'd'), back(15, 'o');
  const std::vector<float> with_g = value(front + "g" + std::string(40, 'o') + "d" + back);
  EXPECT_EQ(value(front + "g" + std::string(9000, 'g') + "d" + back), with_g);
  EXPECT_NE(value(front + "o" + std::string(40, 'o') + "d" + back), with_g);
  EXPECT_NE(value(front + "g" + std::string(40, 'o') + "g" + back), with_g);
}

}  // namespace
}  // namespace dynet_like::nn
