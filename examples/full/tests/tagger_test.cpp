// Sentences of the tagger: generated ones, and those of files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "dynet_like/core/errors.h"
#include "examples/full/support/tagging.h"
#include "examples/full/tagger/generator.h"
#include "examples/full/tagger/sentences.h"

namespace dynet_like::examples {
namespace {

using Labels = std::vector<std::string>;

// If words without a tag did not count, a tagger would look better than it is.
TEST(TaggingTest, NeedsATagForEveryWord) {
  const std::vector<nn::TaggedSentence> gold = {{{"a", "b"}, {"O", "B"}}, {{"c"}, {"O"}}};
  const auto says = [](std::vector<Labels> tags) {
    return [tags](const std::vector<Labels>&) { return tags; };
  };
  EXPECT_EQ(tag_accuracy(gold, says({{"O", "O"}, {"O"}})).value(), 2.0 / 3);
  EXPECT_EQ(span_scores(gold, says({{"O", "B"}, {"O"}})).f1(), 1);
  for (const auto& tags : {std::vector<Labels>{{"O", "B"}},
                           {{"O"}, {"O"}},
                           {{"O", "B"}, {"O", "O"}},
                           {{"O", "B"}, {"O"}, {"O"}}}) {
    EXPECT_THROW(tag_accuracy(gold, says(tags)), UsageError);
    EXPECT_THROW(span_scores(gold, says(tags)), UsageError);
  }
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

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(SentencesTest, FilesAreWhatTheirNamesSay) {
  const std::filesystem::path folder = testing::TempDir();
  const auto load = [&](const char* train, const char* dev, const char* test) {
    const std::string paths[] = {folder / train, folder / dev, folder / test};
    const char* arguments[] = {"tagger",         "--train", paths[0].c_str(), "--dev",
                               paths[1].c_str(), "--test",  paths[2].c_str()};
    const Program program = {
        "tagger",
        "",
        "",
        [](const Options&) { return false; },
        {{"train", "FILE", "", "", ""}, {"dev", "FILE", "", "", ""}, {"test", "FILE", "", "", ""}},
        {}};
    return load_sentences(Options(program, 7, const_cast<char**>(arguments)));
  };
  EXPECT_THROW(load("none", "none", "none"), FileError);

  // Words are split only in the training file of WNUT-17.
  write_file(folder / "wnut17train.conll",
             "@ann\tB-x\n@\tO\n#b\tO\nLee’s\tI-x\nnon-EU9\tB-y\nhttp://a.b\tO\n");
  write_file(folder / "emerging.dev.conll", "@ann\tO\n");
  write_file(folder / "emerging.test.annotated", "Lee\tB-y\n\nlee\tO\n");
  const TaggedData entities =
      load("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated");
  EXPECT_EQ(entities.score_name, "entity_f1");
  EXPECT_EQ(entities.train,
            (std::vector<nn::TaggedSentence>{
                {{"@", "ann", "@", "#", "b", "Lee", "’", "s", "non-EU", "9", "http://a.b"},
                 {"O", "B-x", "O", "O", "O", "I-x", "I-x", "I-x", "B-y", "I-y", "O"}}}));
  EXPECT_EQ(entities.dev[0].words, Labels{"@ann"});
  EXPECT_EQ(entities.test.size(), 2u);

  write_file(folder / "a.conllu", "1\ta\t_\tDET\t_\t_\t0\troot\t_\t_\n");
  const TaggedData tags = load("a.conllu", "a.conllu", "a.conllu");
  EXPECT_EQ(tags.score_name, "upos_accuracy");
  EXPECT_EQ(tags.train, (std::vector<nn::TaggedSentence>{{{"a"}, {"DET"}}}));
}

}  // namespace
}  // namespace dynet_like::examples
