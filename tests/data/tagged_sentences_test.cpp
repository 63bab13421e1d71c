// Readers of tagged sentences: both formats, and their errors.
#include "nn/data/tagged_sentences.h"

#include "tests/support/file_errors.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using TaggedSentences = std::vector<TaggedSentence>;

TaggedSentences columns(const std::string& text, const TaggedColumns& columns = {}) {
  return read_columns(TextSource::of(text, "file"), columns);
}

void expect_error(const std::string& text, std::size_t line, std::size_t column,
                  const std::string& part, const TaggedColumns& chosen = {}) {
  expect_file_error([&] { columns(text, chosen); }, line, column, part);
}

TEST(ConlluTagsTest, AreFormsAndTags) {
  std::istringstream stream(
      "# text = We don't\n1\tWe\twe\tPRON\t_\t_\t2\tnsubj\t_\t_\n"
      "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n2\tdo\tdo\tAUX\t_\t_\t0\troot\t_\t_\n"
      "3\tn't\tnot\tPART\t_\t_\t2\tadvmod\t_\t_\n\n1\t10 000\t_\tNUM\t_\t_\t_\t_\t_\t_\n");
  EXPECT_EQ(
      read_conllu_tags({stream, "file"}),
      (TaggedSentences{{{"We", "do", "n't"}, {"PRON", "AUX", "PART"}}, {{"10 000"}, {"NUM"}}}));
  EXPECT_THROW(read_conllu_tags({stream, "file"}), FileError) << "nothing is left";
}

TEST(ConlluPlusTest, HasItsColumnsByName) {
  const std::string text =
      "# global.columns = ID FORM UPOS PARSEME:MWE\n# text = Let's go\n1-2\tLet's\t_\t*\n"
      "1\tLet\tVERB\t1:VID\n2\t's\tPRON\t*\n2.1\tus\t_\t*\n\n# again\n1\tgo\tVERB\t1\n";
  const auto read = [](const std::string& text, const std::string& tag) {
    return read_conllu_plus(TextSource::of(text, "file"), tag);
  };
  EXPECT_EQ(read(text, "PARSEME:MWE"),
            (TaggedSentences{{{"Let", "'s"}, {"1:VID", "*"}}, {{"go"}, {"1"}}}));
  EXPECT_EQ(read(text, "UPOS").front().tags, (std::vector<std::string>{"VERB", "PRON"}));
  expect_file_error([&] { read(text, "NE"); }, 1, 0, "need a column \"NE\"; got none");
  expect_file_error([&] { read("1\tgo\tVERB\n", "UPOS"); }, 1, 0, "need the names of columns");
  expect_file_error([&] { read("", "UPOS"); }, 0, 0, "need the names of columns");
  expect_file_error([&] { read("# global.columns = ID FORM UPOS\n1\tgo\n", "UPOS"); }, 2, 0, "");
  expect_file_error([&] { read("# global.columns = ID FORM UPOS\n", "UPOS"); }, 0, 0,
                    "need at least one sentence");
}

TEST(TaggedSentencesTest, HaveAsManyWordsAsTheirSizesSay) {
  const TaggedSentences sentences = {{{"a", "b"}, {"X", "Y"}}, {}, {{"c"}, {"X"}}};
  EXPECT_EQ(sizes_of(sentences), (std::vector<std::uint32_t>{2, 0, 1}));
}

TEST(ColumnsTest, ReadsWordsAndTags) {
  EXPECT_EQ(columns("Ann\tB-person\nLee\tI-person\n\t\nsaw\tO\n \t \n\n\n#\tO\n"),
            (TaggedSentences{
                {{"Ann", "Lee"}, {"B-person", "I-person"}}, {{"saw"}, {"O"}}, {{"#"}, {"O"}}}));
  EXPECT_EQ(columns("a b\tX\r\n\t\r\nc\tY"), (TaggedSentences{{{"a b"}, {"X"}}, {{"c"}, {"Y"}}}));
}

TEST(ColumnsTest, ReadsConll2003) {
  const std::string text =
      "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n. . O O\n"
      "-DOCSTART- -X- O O\n#1 CD  B-NP\tO \n";
  EXPECT_EQ(
      columns(text, kConll2003),
      (TaggedSentences{{{"EU", "rejects"}, {"B-ORG", "O"}}, {{"."}, {"O"}}, {{"#1"}, {"O"}}}));
  EXPECT_EQ(columns(text, {.count = 0, .word = 3, .tag = 1, .by_spaces = true})[0],
            (TaggedSentence{{"O"}, {"-X-"}}))
      << "the mark is one in the column of words only";
  const auto options = [](std::size_t count, std::size_t tag) {
    return TaggedColumns{.count = count, .word = 0, .tag = tag, .by_spaces = true};
  };
  for (const std::size_t tag : {1, 2, 3}) {
    const std::vector<std::string> tags = {"NNP", "B-NP", "B-ORG"};
    EXPECT_EQ(columns(text, options(4, tag))[0].tags[0], tags[tag - 1]);
    EXPECT_EQ(columns(text, options(0, tag)), columns(text, options(4, tag)));
  }
  EXPECT_THROW(columns(text, options(4, 4)), UsageError);
  EXPECT_THROW(columns(text, {.count = 2, .word = 2, .tag = 0}), UsageError);
  expect_error(text, 3, 0, "need 3 columns with spaces between them; got 4", options(3, 2));
  expect_error(text, 3, 0, "need more than 4 columns with spaces between them; got 4",
               options(0, 4));
  expect_error("a b\na b c\n", 2, 0, "need 2 columns with spaces between them; got 3",
               options(0, 1));
  expect_error("a b\na\n", 2, 0, "need 2 columns with spaces between them; got 1", options(0, 1));
}

TEST(ColumnsTest, MarksOfDocumentsMayLackColumns) {
  const TaggedSentences two = {{{"a"}, {"X"}}, {{"b"}, {"Y"}}};
  const TaggedColumns any = {.count = 0, .by_spaces = true};
  for (const std::string mark : {"-DOCSTART-", "-DOCSTART- O", " -DOCSTART-\t-X- -X- O "}) {
    EXPECT_EQ(columns(mark + "\na X 1\n" + mark + "\nb Y 2\n", any), two) << mark;
    EXPECT_EQ(columns(mark + "\na _ _ X\n" + mark + "\nb _ _ Y\n", kConll2003), two) << mark;
  }
  for (const std::string mark : {"-DOCSTART-", "-DOCSTART- ", "-DOCSTART-\tO\tO\tO"}) {
    EXPECT_EQ(columns(mark + "\na\tX\n" + mark + "\nb\tY\n"), two) << mark;
    EXPECT_EQ(columns(mark + "\na\tX\t\n" + mark + "\nb\tY\t\n", {.count = 0}), two) << mark;
  }
  EXPECT_EQ(
      columns("1 a X\n-DOCSTART-\n2 b Y\n", {.count = 0, .word = 1, .tag = 2, .by_spaces = true}),
      two);
  EXPECT_EQ(columns("-DOCSTART- 2\tX\n-DOCSTART-2\tY\n")[0].words.size(), 2u) << "other words";
  expect_error("-DOCSTART-\n", 0, 0, "at least one sentence", any);
}

TEST(ColumnsTest, ReadsSeveralColumnsBetweenTabs) {
  const TaggedColumns four = {.count = 4, .word = 1, .tag = 3};
  EXPECT_EQ(columns("1\tNew York\t\tB\n2\tis\tVBZ\tO\n", four),
            (TaggedSentences{{{"New York", "is"}, {"B", "O"}}}));
  expect_error("1\ta\tX\tO\n2\tb\tX\n", 2, 0, "need 4 columns with tabs between them; got 3", four);
  expect_error("1\ta\tX\t\n", 1, 7, "need a tag", four);
  expect_error("1\t\tX\tO\n", 1, 3, "need a word", four);
  const TaggedColumns any = {.count = 0};
  EXPECT_EQ(columns("a\tX\t1\nb\tY\t\n", any), (TaggedSentences{{{"a", "b"}, {"X", "Y"}}}));
  expect_error("a\tX\t1\nb\tY\n", 2, 0, "need 3 columns with tabs between them; got 2", any);
}

TEST(ColumnsTest, CommentsAreInFrontOfSentences) {
  const std::string text = "# id 1\tx\ty\n#\tO\n\n# id 2\na\tO\n#\tB\n\n#only\n";
  EXPECT_EQ(columns(text, {.comments = true}), (TaggedSentences{{{"a", "#"}, {"O", "B"}}}));
  expect_error(text, 1, 0, "need 2 columns with tabs between them; got 3");
}

TEST(ColumnsTest, MalformedLinesMayBeSkipped) {
  std::uint64_t skipped = 5;
  const TaggedColumns lenient = {.skipped_lines = &skipped};
  EXPECT_EQ(columns("a\tX\nb\nc\tY\n\nd\t\n\te\nf\tX\tY\ng\tZ\n", lenient),
            (TaggedSentences{{{"a", "c"}, {"X", "Y"}}, {{"g"}, {"Z"}}}));
  EXPECT_EQ(skipped, 9u);
  expect_error("a\n", 0, 0, "need at least one sentence; got none", lenient);
  EXPECT_EQ(skipped, 10u);
  expect_error("abc\tX\n", 1, 0, "need at most 4 bytes in a line",
               {.skipped_lines = &skipped, .limits = {4, 100}});
}

}  // namespace
}  // namespace dynet_like::nn
