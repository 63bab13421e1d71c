// Parts of the tagger: entities and their scores, generated sentences, numbering, prediction.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "examples/tagger/encoding.h"
#include "examples/tagger/generator.h"
#include "examples/tagger/options.h"
#include "examples/tagger/prediction.h"
#include "examples/tagger/scores.h"
#include "examples/tagger/task.h"
#include "nn/embedding.h"

namespace dynet_like::examples {
namespace {

using Labels = std::vector<std::string>;
using Entities = std::vector<Entity>;

TEST(EntitiesTest, BeginContinueAndEnd) {
  EXPECT_EQ(entities_of(Labels{"O", "B-a", "I-a", "O", "B-b"}),
            (Entities{{"a", 1, 3}, {"b", 4, 5}}));
  EXPECT_EQ(entities_of(Labels{"B-a", "B-a", "I-a"}), (Entities{{"a", 0, 1}, {"a", 1, 3}}));
  EXPECT_EQ(entities_of(Labels{"O", "O"}), Entities{});
  EXPECT_EQ(entities_of(Labels{}), Entities{});
}

TEST(EntitiesTest, WhatContinuesNothingBegins) {
  EXPECT_EQ(entities_of(Labels{"I-a", "I-a", "O", "I-a"}), (Entities{{"a", 0, 2}, {"a", 3, 4}}));
  EXPECT_EQ(entities_of(Labels{"B-a", "I-b", "I-b", "I-a"}),
            (Entities{{"a", 0, 1}, {"b", 1, 3}, {"a", 3, 4}}));
}

TEST(LabelScoreTest, CountsExactEntities) {
  LabelScore score;
  const Labels gold = {"B-a", "I-a", "O", "B-b", "O", "B-a"};
  score.add(gold, Labels{"B-a", "I-a", "O", "B-a", "O", "O"});    // one right, one of another type
  score.add(gold, Labels{"B-a", "O", "O", "B-b", "I-b", "B-a"});  // one right, two of other words
  EXPECT_DOUBLE_EQ(score.precision(), 2.0 / 5);
  EXPECT_DOUBLE_EQ(score.recall(), 2.0 / 6);
  EXPECT_DOUBLE_EQ(score.f1(), 4.0 / 11);
  EXPECT_DOUBLE_EQ(score.accuracy(), 8.0 / 12);
}

TEST(LabelScoreTest, OfNothingIsZero) {
  LabelScore score;
  EXPECT_EQ(score.f1(), 0);
  EXPECT_EQ(score.accuracy(), 0);
  score.add(Labels{"O"}, Labels{"O"});
  EXPECT_EQ(score.f1(), 0);
  EXPECT_EQ(score.accuracy(), 1);
}

TEST(GeneratorTest, DependsOnTheSeedAlone) {
  Random one(1), again(1), two(2);
  const auto sentences = generate_sentences(200, one);
  EXPECT_EQ(sentences, generate_sentences(200, again));
  EXPECT_NE(sentences, generate_sentences(200, two));
}

TEST(GeneratorTest, WordsAreNewAndAmbiguous) {
  Random random(1);
  std::set<std::string> words, tags;
  std::size_t all = 0, bare_nouns = 0, bare_verbs = 0;
  for (const nn::TaggedSentence& sentence : generate_sentences(300, random)) {
    ASSERT_EQ(sentence.words.size(), sentence.tags.size());
    EXPECT_EQ(sentence.tags.back(), "PUNCT");
    EXPECT_EQ(std::count(sentence.tags.begin(), sentence.tags.end(), "VERB"), 1);
    all += sentence.words.size();
    words.insert(sentence.words.begin(), sentence.words.end());
    tags.insert(sentence.tags.begin(), sentence.tags.end());
    for (std::size_t i = 0; i < sentence.words.size(); ++i) {
      if (sentence.words[i].ends_with("ed")) {
        EXPECT_EQ(sentence.tags[i], "VERB");
        continue;
      }
      bare_nouns += sentence.tags[i] == "NOUN" ? 1 : 0;
      bare_verbs += sentence.tags[i] == "VERB" ? 1 : 0;
    }
  }
  EXPECT_EQ(tags.size(), 10u);
  EXPECT_GT(words.size(), all / 4);
  EXPECT_GT(bare_nouns, 100u);
  EXPECT_GT(bare_verbs, 100u);
}

TEST(EncodingTest, Characters) {
  using Characters = std::vector<std::string_view>;
  EXPECT_EQ(utf8_characters("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z"),
            (Characters{"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "z"}));
  EXPECT_EQ(utf8_characters("\x80\xC3"), (Characters{"\x80", "\xC3"}));
  EXPECT_EQ(utf8_characters("\x80\x80\x80\x80\x80"), (Characters{"\x80\x80\x80\x80", "\x80"}));
  EXPECT_EQ(utf8_characters(""), Characters{});
}

TEST(EncodingTest, RareAndNewWords) {
  const Encoding encoding({{{"aa", "b", "aa"}, {"X", "Y", "X"}}}, 2);
  const std::uint32_t unknown = encoding.words().id("b");
  EXPECT_EQ(encoding.words().size(), 2u);
  const Labels words = {"aa", "b", "ac", std::string(100, 'a'), "AA"};
  const EncodedSentence sentence = encoding.encode(words);
  EXPECT_NE(sentence.words[0], unknown);
  EXPECT_EQ(sentence.words[1], unknown);
  EXPECT_EQ(sentence.words[2], unknown);
  EXPECT_EQ(sentence.characters[2][0], sentence.characters[0][0]);
  EXPECT_EQ(sentence.characters[2][1], *encoding.characters().unknown());
  EXPECT_EQ(sentence.characters[3].size(), 32u);
  EXPECT_EQ(sentence.words[4], sentence.words[0]);  // only the characters tell the case
  EXPECT_NE(sentence.characters[4], sentence.characters[0]);
  EXPECT_EQ(encoding.encode_labels(Labels{"Y", "X"}), (std::vector<unsigned>{1, 0}));
  EXPECT_THROW(encoding.encode_labels(Labels{"Z"}), UsageError);
}

TEST(EncodingTest, OutsideCanBeMadeLessLikely) {
  const Encoding names({{{"a", "b"}, {"B-x", "O"}}}, 1), parts({{{"a"}, {"NOUN"}}}, 1);
  EXPECT_EQ(names.label_bias(1.5f), (std::vector<float>{0, -1.5f}));
  EXPECT_TRUE(names.label_bias(0).empty());
  EXPECT_TRUE(parts.label_bias(1).empty());
}

TEST(EncodingTest, IsPartOfTheModel) {
  Random random(1);
  const auto sentences = generate_sentences(50, random);
  const Encoding encoding(sentences, 2);
  const std::string folder = std::filesystem::path(testing::TempDir()) / "encoding";
  std::filesystem::create_directories(folder);
  Metadata metadata = encoding.vocabularies();
  metadata["example"] = "tagger";
  save_parameters(best_file(folder), ParameterCollection(), metadata);
  const Encoding loaded(SavedModel(folder, "tagger"));
  for (const nn::TaggedSentence& sentence : sentences) {
    EXPECT_EQ(loaded.encode(sentence.words).words, encoding.encode(sentence.words).words);
    EXPECT_EQ(loaded.encode(sentence.words).characters, encoding.encode(sentence.words).characters);
    EXPECT_EQ(loaded.encode_labels(sentence.tags), encoding.encode_labels(sentence.tags));
  }
  EXPECT_THROW(SavedModel(folder, "language_model"), FileError);
  metadata.erase("labels");
  save_parameters(best_file(folder), ParameterCollection(), metadata);
  EXPECT_THROW(Encoding(SavedModel(folder, "tagger")), FileError);
}

TEST(TaggerOptionsTest, NetworksComeBackFromMetadata) {
  const auto network_of = [](const Metadata& metadata) {
    NetworkOptions network;
    const OptionValues values = flags_of(metadata);
    read_network({values, "model"}, network);
    return network;
  };
  NetworkOptions options;
  options.hidden = 77;
  options.layers = 2;
  options.crf = true;
  options.dropout = 0.3f;
  EXPECT_EQ(metadata_of(network_of(metadata_of(options))), metadata_of(options));
  EXPECT_FALSE(network_of(metadata_of({})).crf);
  Metadata hostile = metadata_of(options);
  hostile["--hidden"] = "1000000000";
  EXPECT_THROW(network_of(hostile), FileError);
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(TaskTest, FindsTheFilesOfAFolder) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "tagger_data";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  TaggerOptions options;
  options.data = folder;
  EXPECT_THROW(load_tagger_task(options), FileError);

  // Words with marks are two in training only, and stay as they are elsewhere.
  write_file(folder / "wnut17train.conll", "@ann\tB-x\n@\tO\n#b\tO\nLee\tI-x\n");
  write_file(folder / "emerging.dev.conll", "@ann\tO\n");
  write_file(folder / "emerging.test.annotated", "Lee\tB-y\n\nlee\tO\n");
  const TaggerTask entities = load_tagger_task(options);
  EXPECT_EQ(entities.score_name, "entity_f1");
  EXPECT_EQ(entities.train.sentences,
            (std::vector<nn::TaggedSentence>{
                {{"@", "ann", "@", "#", "b", "Lee"}, {"B-x", "I-x", "O", "O", "O", "I-x"}}}));
  EXPECT_EQ(entities.dev.sentences[0].words, Labels{"@ann"});
  EXPECT_EQ(entities.test.sentences.size(), 2u);

  const std::string line = "1\ta\t_\tDET\t_\t_\t0\troot\t_\t_\n";
  for (const char* part : {"train", "dev", "test"}) {
    write_file(folder / ("xx_y-ud-" + std::string(part) + ".conllu"), line);
  }
  const TaggerTask tags = load_tagger_task(options);
  EXPECT_EQ(tags.score_name, "upos_accuracy");
  EXPECT_EQ(tags.train.sentences, (std::vector<nn::TaggedSentence>{{{"a"}, {"DET"}}}));
  EXPECT_NE(tags.fingerprint, entities.fingerprint);
  write_file(folder / "zz-ud-dev.conllu", line);
  EXPECT_THROW(load_tagger_task(options), FileError);  // which of the two?
}

/// Gives every word the label that its number in `table` is largest for.
class PredictionTest : public testing::Test {
 protected:
  PredictionTest() : table_(model_, encoding_.words().size(), encoding_.labels().size()) {}

  RecordLabels record() const {
    return [this](ComputationGraph& graph, const EncodedSentence& sentence) {
      std::vector<Expression> columns;
      for (const std::uint32_t word : sentence.words) columns.push_back(table_(graph, word));
      return concatenate_cols(columns);
    };
  }

  unsigned label_of(std::uint32_t word) const {
    const std::vector<float> row = as_vector(table_.table().values(word));
    return static_cast<unsigned>(std::max_element(row.begin(), row.end()) - row.begin());
  }

  Encoding encoding_{{{{"a", "b", "c", "d"}, {"W", "X", "Y", "Z"}}}, 1};
  ParameterCollection model_;
  nn::Embedding table_;
};

TEST_F(PredictionTest, IsTheSameInAnyMinibatch) {
  std::vector<EncodedSentence> sentences;
  for (std::uint32_t i = 0; i < 30; ++i) {
    EncodedSentence& sentence = sentences.emplace_back();
    for (std::uint32_t t = 0; t < 1 + i * i % 7; ++t) sentence.words.push_back((i + t) % 5);
  }
  for (const std::size_t batch_size : {1u, 4u, 100u}) {
    for (const unsigned threads : {1u, 2u}) {
      const auto labels = predict_labels(sentences, batch_size, threads, record());
      ASSERT_EQ(labels.size(), sentences.size());
      for (std::size_t i = 0; i < labels.size(); ++i) {
        ASSERT_EQ(labels[i].size(), sentences[i].words.size());
        for (std::size_t t = 0; t < labels[i].size(); ++t) {
          EXPECT_EQ(labels[i][t], label_of(sentences[i].words[t]));
        }
      }
    }
  }
}

TEST_F(PredictionTest, LabelsLines) {
  const auto line = [&](const std::string& word) {
    return word + '\t' + encoding_.labels().word(label_of(encoding_.words().id(word))) + '\n';
  };
  const Labels lines = {"a new", " ", "b", "\t c  c\td"};
  EXPECT_EQ(
      label_lines(lines, encoding_, 1, record()),
      line("a") + line("new") + '\n' + line("b") + '\n' + line("c") + line("c") + line("d") + '\n');
  EXPECT_EQ(label_lines(Labels{" "}, encoding_, 1, record()), "");
}

}  // namespace
}  // namespace dynet_like::examples
