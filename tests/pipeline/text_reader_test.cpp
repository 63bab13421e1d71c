// Windows of paragraphs, and sentences of any text, by models that are not trained.
#include "nn/pipeline/text_reader.h"

#include "nn/data/text.h"
#include "nn/pipeline/pipeline.h"
#include "tests/pipeline/support.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

Vocabulary letters() {
  Vocabulary all;
  all.set_unknown("<unknown>");
  all.add_all(std::vector<std::string>{" ", "a", "I", ".", "\\", "'"});
  return all;
}

struct ReaderTest : ::testing::Test {
  std::vector<ConlluSentence> read(std::istream& text, const DocumentOptions& options = {}) const {
    return sentences_of(segmenter, text, options);
  }
  std::vector<ConlluSentence> read(const std::string& text,
                                   const DocumentOptions& options = {}) const {
    std::istringstream stream(text);
    return read(stream, options);
  }
  std::vector<ConlluSentence> sentences_of(const Segmenter& by, std::istream& text,
                                           const DocumentOptions& options = {},
                                           const RunSamples& run = run_by_predict(1)) const {
    TextReader reader(by, multiwords, text, options);
    std::vector<ConlluSentence> all;
    for (auto some = reader.next(run); !some.empty(); some = reader.next(run)) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  ParameterCollection model{3};
  Segmenter segmenter{model, letters(), {.embedding = 8, .hidden = 8}};
  Segmenter with_spaces{model, letters(), {.embedding = 8, .hidden = 8, .spaces = true}};
  Multiwords multiwords = Multiwords::from_text("=don't\tdo\tn't\n*'s\t's\n", "table");
};

TEST(TextWindowsTest, FollowFromPlacesInTheParagraph) {
  for (const std::size_t size : {1u, 63u, 64u, 511u, 512u, 513u, 576u, 577u, 1088u, 5000u}) {
    TextWindows windows;
    for (int paragraph = 0; paragraph < 2; ++paragraph) {
      for (std::size_t i = 0; i < size; ++i) windows.add(static_cast<std::uint32_t>(i));
      windows.end_paragraph();
      std::size_t next = 0;
      for (const TextWindow& window : windows.take()) {
        ASSERT_LT(window.begin, window.end);
        EXPECT_EQ(window.characters[window.begin], next);
        EXPECT_EQ(window.begin, next == 0 ? 0 : TextWindows::kContext);
        next += window.end - window.begin;
        EXPECT_EQ(next, std::min(size, (next + 511) / 512 * 512));
        const std::size_t behind = window.characters.size() - window.end;
        EXPECT_EQ(behind, std::min<std::size_t>(TextWindows::kContext, size - next));
      }
      EXPECT_EQ(next, size);
    }
  }
}

TEST_F(ReaderTest, GivesBackEveryByteOfTheText) {
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    const std::string text = random_text(random, 1 + random.below(i < 55 ? 60 : 3000)) + "x";
    for (const Segmenter* by : {&segmenter, &with_spaces}) {
      for (const bool lines : {false, true}) {
        std::istringstream stream(text);
        const std::vector<ConlluSentence> sentences = sentences_of(*by, stream, {.lines = lines});
        EXPECT_EQ(text_of(sentences), text);
        EXPECT_EQ(read_conllu(TextSource::of(to_conllu(sentences), "output")), sentences);
      }
    }
  }
}

std::vector<ConlluSentence> conllu(const std::string& text) {
  return read_conllu(TextSource::of(text, "treebank"));
}

std::string line(const std::string& id, const std::string& form, const std::string& misc) {
  return id + '\t' + form + "\t_\t_\t_\t_\t_\t_\t_\t" + misc + '\n';
}

TEST_F(ReaderTest, TrainingSeesTheWindowsOfTheTextThatItReads) {
  const std::string word = line("1", "aa", "_"), last = line("1", "I.", "SpaceAfter=No");
  const std::string spaces = line("1", "a I", "SpacesAfter=\\s\\s");
  const std::string blank_line = line("1", "..", "SpacesAfter=\\n\\n");
  const std::string in_token = line("1", "a a", "SpacesInToken=a\\s\\u00A0a");
  std::string many;
  for (int i = 0; i < 700; ++i) many += word + '\n';
  for (const std::string& text :
       {word + '\n', word + '\n' + last + '\n', "# newpar\n" + word + "\n# newpar\n" + last + '\n',
        blank_line + '\n' + word + '\n', spaces + "\n# newdoc\n" + in_token + '\n' + last + '\n',
        last + "\n# newpar\n" + spaces + '\n',
        line("1", "\xE4", "SpaceAfter=No") + '\n' + line("1", "\xBD\xA0", "_") + '\n',
        many + last + '\n'}) {
    const std::vector<ConlluSentence> treebank = conllu(text);
    std::vector<std::uint32_t> sizes, in_training;
    std::istringstream stream(text_of(treebank));
    const RunSamples run = run_by_predict(1);
    sentences_of(segmenter, stream, {}, [&](std::span<const std::uint32_t> some, const auto& f) {
      sizes.insert(sizes.end(), some.begin(), some.end());
      run(some, f);
    });
    for (const TextWindow& window : segmenter.windows_of(treebank)) {
      in_training.push_back(static_cast<std::uint32_t>(window.characters.size()));
    }
    EXPECT_EQ(in_training, sizes) << text.substr(0, 200);
  }
}

TEST_F(ReaderTest, LabelsOfATreebankSayWhatEnds) {
  using enum CharacterLabel;
  const auto windows = segmenter.windows_of(
      conllu(line("1-2", "don't", "_") + line("1", "do", "_") + line("2", "n't", "_") +
             line("3", "a I", "SpaceAfter=No") + line("4", ".", "_") + "\n# newpar\n" +
             line("1", "a", "_") + '\n' + line("1-2", "I'", "_") + line("1", "I", "_") +
             line("2", "'", "_") + '\n'));
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].labels, (std::vector{inside, inside, inside, inside, multiword, inside,
                                            inside, inside, token, sentence}));
  EXPECT_EQ(windows[1].labels, (std::vector{sentence, inside, inside, multiword_and_sentence}));
  EXPECT_EQ(windows[0].characters[5], *letters().find(" "));
}

/// The forms of all tokens of sentences.
std::vector<std::string> forms_of(std::span<const ConlluSentence> sentences) {
  std::vector<std::string> forms;
  for (const ConlluSentence& sentence : sentences) {
    for (const TextToken& token : tokens_of(sentence)) forms.push_back(token.columns.form);
  }
  return forms;
}

TEST_F(ReaderTest, SpacesAtBothEndsOfATextChangeNothing) {
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    const std::string text = "a" + random_text(random, 30) + "I";
    const std::vector<std::string> forms = forms_of(read(text));
    for (const std::string end : {"\n", " ", "\n\n", "\t\u00A0"}) {
      EXPECT_EQ(forms_of(read(text + end)), forms) << text << end;
      EXPECT_EQ(forms_of(read(end + text)), forms) << end << text;
    }
  }
}

TEST_F(ReaderTest, SentencesDoNotDependOnReads) {
  Random random(2);
  const std::string text = random_text(random, 4000);
  const std::vector<ConlluSentence> sentences = read(text);
  for (const std::size_t size : {1, 3, 1000}) {
    SlowStream slow(text, size);
    EXPECT_EQ(read(slow), sentences);
  }
}

TEST_F(ReaderTest, EmptyTextsHaveNoSentences) {
  EXPECT_TRUE(read("").empty());
  EXPECT_TRUE(read(" \n\n\t ").empty());
  EXPECT_EQ(read("a").size(), 1u);
}

TEST_F(ReaderTest, CutsLongTokensAndSentences) {
  for (const std::string& text : {std::string(100'000, 'q'), std::string(5'000, '\xFF')}) {
    const std::vector<ConlluSentence> sentences = read(text);
    EXPECT_EQ(text_of(sentences), text);
    for (const ConlluSentence& sentence : sentences) {
      EXPECT_LE(sentence.words.size(), TextReader::kLongestSentence + 8);
      for (const ConlluColumns& word : sentence.words) EXPECT_LE(word.form.size(), 256u);
    }
  }
}

/// Makes a segmenter of the model give all characters one label.
void always(const ParameterCollection& model, const std::string& segmenter, CharacterLabel label) {
  std::vector<float> bias(5, 0);
  bias[static_cast<std::size_t>(label)] = 100;
  Parameter(model.find('/' + segmenter + "/output/b")).set_value(bias);
}

std::size_t count_of_longest(std::span<const ConlluSentence> sentences) {
  std::size_t longest = 0;
  for (const std::string& form : forms_of(sentences)) {
    longest = std::max(longest, count_characters(form));
    EXPECT_FALSE(form.ends_with(' '));
  }
  return longest;
}

TEST_F(ReaderTest, ATokenHasAtMost256Characters) {
  always(model, "segmenter", CharacterLabel::inside);
  always(model, "segmenter_1", CharacterLabel::inside);
  for (const std::string& text : {std::string(600, 'a'), std::string(255, 'a') + " a",
                                  std::string(254, 'a') + " aa", std::string(256, 'a') + " a"}) {
    std::istringstream stream(text), again(text);
    const auto with = sentences_of(with_spaces, stream), without = sentences_of(segmenter, again);
    EXPECT_LE(count_of_longest(with), TextReader::kLongestToken);
    EXPECT_LE(count_of_longest(without), TextReader::kLongestToken);
    EXPECT_EQ(text_of(with), text);
    EXPECT_EQ(text_of(without), text);
  }
  EXPECT_EQ(count_of_longest(read(std::string(600, 'a'))), TextReader::kLongestToken);
}

TEST_F(ReaderTest, OnlySomeTreebanksHaveSpacesInTokens) {
  using Forms = std::vector<std::string>;
  always(model, "segmenter", CharacterLabel::inside);
  always(model, "segmenter_1", CharacterLabel::inside);
  const std::string text = "a\n a\n\na";
  std::istringstream stream(text);
  EXPECT_EQ(forms_of(read(text)), (Forms{"a", "a", "a"}));
  EXPECT_EQ(forms_of(sentences_of(with_spaces, stream)), (Forms{"a a", "a"}));
}

TEST_F(ReaderTest, ASentenceHasAtMost256Words) {
  always(model, "segmenter", CharacterLabel::token);
  for (const bool lines : {false, true}) {
    const auto sentences = read(std::string(600, 'a'), {.lines = lines});
    ASSERT_EQ(sentences.size(), 3u);
    EXPECT_EQ(sentences[0].words.size(), TextReader::kLongestSentence);
    EXPECT_EQ(sentences[2].words.size(), 600 - 2 * TextReader::kLongestSentence);
  }
}

TEST_F(ReaderTest, TheFirstSentenceBeginsAParagraph) {
  for (const std::string text : {"a", " a", "\na", "\n\na"}) {
    EXPECT_EQ(read(text).at(0).comments.at(1), "# newpar") << text;
  }
}

TEST(SegmenterTest, KnowsABlankAndCharactersThatOccurThreeTimes) {
  const Vocabulary all = Segmenter::characters_of(
      conllu(line("1", "abab", "_") + line("2", "abc", "_") + line("3", "cc d", "_") + '\n'));
  for (const char* known : {" ", "a", "b", "c"}) EXPECT_TRUE(all.find(known)) << known;
  EXPECT_FALSE(all.find("d"));
  EXPECT_TRUE(all.unknown());
}

TEST_F(ReaderTest, ABlankLineEndsASentence) {
  const std::vector<ConlluSentence> sentences = read("a\n \nq q\r\n\r\nI");
  ASSERT_GE(sentences.size(), 3u);
  EXPECT_EQ(sentences[0].comments,
            (std::vector<std::string>{"# newdoc", "# newpar", "# sent_id = 1", "# text = a"}));
  EXPECT_EQ(sentences[0].words[0].misc, "SpacesAfter=\\n\\s\\n");
}

TEST_F(ReaderTest, DocumentsHaveIdsAndGoOnCounting) {
  const auto sentences = read("a\n\nI", {.id = "b.txt", .first_sentence = 7});
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0].comments, (std::vector<std::string>{"# newdoc id = b.txt", "# newpar",
                                                             "# sent_id = 7", "# text = a"}));
  EXPECT_EQ(sentences[1].comments,
            (std::vector<std::string>{"# newpar", "# sent_id = 8", "# text = I"}));
}

TEST_F(ReaderTest, LinesMayBeSentences) {
  const std::string text = "a I\nI'. a\r\n\n a\n";
  const auto sentences = read(text, {.lines = true});
  EXPECT_EQ(text_of(sentences), text);
  std::vector<std::string> texts, paragraphs;
  for (const ConlluSentence& sentence : sentences) {
    texts.emplace_back(*sentence.comment("text"));
    if (begins_paragraph(sentence)) paragraphs.push_back(texts.back());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"a I", "I'. a", "a"}));
  EXPECT_EQ(paragraphs, (std::vector<std::string>{"a I", "a"}));
}

}  // namespace
}  // namespace dynet_like::nn
