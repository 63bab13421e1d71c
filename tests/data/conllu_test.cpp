// CoNLL-U: what is read, the same bytes again, errors, and trees.
#include "nn/data/conllu.h"

#include "tests/support/file_errors.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using Heads = std::vector<std::uint32_t>;
using Sentences = std::vector<ConlluSentence>;

Sentences conllu(const std::string& text) { return read_conllu(TextSource::of(text, "file")); }

void expect_conllu_error(const std::string& text, std::size_t line, std::size_t column,
                         const std::string& part) {
  expect_file_error([&] { conllu(text); }, line, column, part);
}

/// A line with these columns among ten.
std::string token(const std::string& id, const std::string& form, const std::string& head = "_",
                  const std::string& relation = "_") {
  return id + "\t" + form + "\t_\t_\t_\t_\t" + head + "\t" + relation + "\t_\t_\n";
}

const std::string kExample =
    "# sent_id = s-1\n"
    "# text = We don't.\n"
    "#no key\n"
    "0.1\tSo\tso\tADV\tRB\t_\t_\t_\t3:advmod\tCopyOf=1\n"
    "1\tWe\twe\tPRON\tPRP\tCase=Nom|Number=Plur\t3\tnsubj\t3:nsubj\t_\n"
    "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    "2\tdo\tdo\tAUX\tVBP\t_\t3\taux\t3:aux\t_\n"
    "2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t0:root\t_\n"
    "2.2\thome\thome\tADV\tRB\t_\t_\t_\t2.1:advmod\t_\n"
    "3\tn't\tnot\tPART\tRB\t_\t0\troot\t0:root\t_\n"
    "\n"
    "1\t10 000\t_\tNUM\t_\t_\t_\t_\t_\t_\n"
    "\n";

TEST(ConlluTest, ReadsAllColumns) {
  const Sentences sentences = conllu(kExample);
  ASSERT_EQ(sentences.size(), 2u);
  const ConlluSentence& first = sentences[0];
  EXPECT_EQ(first.comments.size(), 3u);
  EXPECT_EQ(first.comment("sent_id"), "s-1");
  EXPECT_EQ(first.comment("text"), "We don't.");
  EXPECT_EQ(first.comment("no key"), std::nullopt);
  const ConlluSentence other = {.comments = {"#", "#text", "#text_en = no", "# texts=no",
                                             "#  text=  We =", "#text=again", "#id =1", "#end = "}};
  EXPECT_EQ(other.comment("text"), " We =");
  EXPECT_EQ(other.comment("id"), "1");
  EXPECT_EQ(other.comment("end"), "");
  EXPECT_EQ(other.comment("tex"), std::nullopt);
  ASSERT_EQ(first.words.size(), 3u);
  EXPECT_EQ(first.words[0], (ConlluColumns{"We", "we", "PRON", "PRP", "Case=Nom|Number=Plur", 3,
                                           "nsubj", "3:nsubj", "_"}));
  EXPECT_EQ(first.heads(), (Heads{3, 3, 0}));
  EXPECT_EQ(sizes_of(sentences), (std::vector<std::uint32_t>{3, 1}));
  ASSERT_EQ(first.multiwords.size(), 1u);
  EXPECT_EQ(first.multiwords[0].first, 2u);
  EXPECT_EQ(first.multiwords[0].last, 3u);
  EXPECT_EQ(first.multiwords[0].columns.form, "don't");
  EXPECT_EQ(conllu_value(first.multiwords[0].columns.misc, "SpaceAfter"), "No");
  ASSERT_EQ(first.empty_nodes.size(), 3u);
  EXPECT_EQ(first.empty_nodes[0].after, 0u);
  EXPECT_EQ(first.empty_nodes[2].after, 2u);
  EXPECT_EQ(first.empty_nodes[2].columns.form, "home");
  EXPECT_EQ(sentences[1].words[0].head, ConlluColumns::kNoHead);
  EXPECT_EQ(message_of<UsageError>([&] { sentences[1].heads(); }),
            "[heads] need a head of every word; got none of word 1, \"10 000\"");
}

TEST(ConlluTest, ColumnsOfAllWords) {
  ConlluSentence sentence = conllu(kExample)[0];
  EXPECT_EQ(sentence.column(&ConlluColumns::form), (std::vector<std::string>{"We", "do", "n't"}));
  EXPECT_EQ(sentence.forms(), sentence.column(&ConlluColumns::form));
  sentence.set_heads(Heads{0, 1, 2});
  sentence.set_column(&ConlluColumns::deprel, std::vector<std::string>{"a", "b", "c"});
  EXPECT_EQ(sentence.heads(), (Heads{0, 1, 2}));
  EXPECT_EQ(sentence.column(&ConlluColumns::deprel), (std::vector<std::string>{"a", "b", "c"}));
  const ConlluSentence before = sentence;
  EXPECT_EQ(message_of<UsageError>([&] {
              sentence.set_heads(Heads{0, 1, 4});
            }),
            "[set_heads] need heads from 0 to 3; got 4");
  EXPECT_EQ(message_of<UsageError>([&] {
              sentence.set_heads(Heads{0, 1});
            }),
            "[set_heads] need one for each of 3 words; got 2");
  EXPECT_THROW(sentence.set_column(&ConlluColumns::form, std::vector<std::string>(4)), UsageError);
  EXPECT_EQ(sentence, before);
}

TEST(ConlluTest, ValuesOfFeatures) {
  EXPECT_EQ(conllu_value("Case=Nom|Number=Plur", "Number"), "Plur");
  EXPECT_EQ(conllu_value("Case=Nom|Number=Plur", "Num"), std::nullopt);
  EXPECT_EQ(conllu_value("Flag|X=|Y=a=b", "X"), "");
  EXPECT_EQ(conllu_value("Flag|X=|Y=a=b", "Y"), "a=b");
  EXPECT_EQ(conllu_value("Flag", "Flag"), std::nullopt);
  EXPECT_EQ(conllu_value("_", "Case"), std::nullopt);
  EXPECT_EQ(conllu_value("", ""), std::nullopt);
}

TEST(ConlluTest, WritesTheSameBytes) {
  EXPECT_EQ(to_conllu(conllu(kExample)), kExample);
  const std::string path = ::testing::TempDir() + "conllu_test.conllu";
  write_conllu(path, conllu(kExample));
  EXPECT_EQ(to_conllu(read_conllu(path)), kExample);
}

TEST(ConlluTest, LinesOfAnyEndingAndBlankLinesOfAnyNumber) {
  const std::string a = token("1", "a"), b = token("1", "b");
  const std::string with_return = a.substr(0, a.size() - 1) + "\r\n";
  EXPECT_EQ(to_conllu(conllu("\n" + with_return + "\r\n \t\n\n" + b)), a + "\n" + b + "\n");
}

TEST(ConlluTest, Errors) {
  const std::string a = token("1", "a");
  expect_conllu_error("1\ta\n", 1, 0, "need 10 columns with tabs between them; got 2");
  expect_conllu_error(a + token("2", "b\tc"), 2, 0, "got 11");
  expect_conllu_error(token("2", "a"), 1, 1, "need the number 1 of a word; got \"2\"");
  expect_conllu_error(a + token("1", "b"), 2, 1, "need the number 2");
  expect_conllu_error(a + "\n" + token("2", "b"), 3, 1, "need the number 1");
  for (const std::string id : {"01", "1-", "1.x", "+1", "-1", "x", " 1", "4294967297"}) {
    expect_conllu_error(token(id, "a"), 1, 1, "need the number 1 of a word; got \"" + id + "\"");
  }
  expect_conllu_error(token("", "a"), 1, 1, "need the number 1 of a word; got \"\"");
  expect_conllu_error(token("1", ""), 1, 3, "need text or \"_\" as FORM; got nothing");
  expect_conllu_error("1\ta\t_\t_\t_\t_\t_\t_\t_\t\n", 1, 19,
                      "need text or \"_\" as MISC; got nothing");
  expect_conllu_error(token("1", "a", "2"), 1, 0,
                      "need a word or 0 as HEAD; got 2; the sentence has words 1 to 1");
  for (const std::string head : {"x", "-1", "01", "1 ", "2147483648"}) {
    expect_conllu_error(token("1", "a", head), 1, 13, "need a number or \"_\" as HEAD; got");
  }
  expect_conllu_error(token("1-2", "ab", "0") + a, 1, 16, "need \"_\" as HEAD; got \"0\"");
  expect_conllu_error(a + token("1.1", "b", "1"), 2, 15, "need \"_\" as HEAD; got \"1\"");
  expect_conllu_error(token("1-2", "ab") + a, 1, 0, "need a range of words; got one to 2");
  expect_conllu_error(a + token("1-2", "ab"), 2, 1, "that begins with the next word, 2,");
  expect_conllu_error(token("2-1", "ab"), 1, 1, "need a range");
  expect_conllu_error(token("1-2", "ab") + a + token("2-3", "b") + token("2", "b"), 3, 1,
                      "overlaps");
  expect_conllu_error(a + token("1.2", "b"), 2, 1, "need the number 1.1");
  expect_conllu_error(a + token("1.1", "b") + token("1.1", "b"), 3, 1, "need the number 1.2");
  expect_conllu_error(a + token("2-3", "bc") + token("1.1", "b"), 3, 1, "behind its word");
  expect_conllu_error(a + "# late\n", 2, 0, "need comments in front of the words only");
  expect_conllu_error(token("0.1", "a") + "# late\n", 2, 0, "need comments in front");
  expect_conllu_error("# nothing\n\n" + a, 1, 0, "need a word in every sentence; got none");
  expect_conllu_error(token("1-2", "a"), 1, 0, "need a word in every sentence");
  expect_conllu_error(token("1", "a\r"), 1, 0, "without carriage returns");
  expect_conllu_error("", 0, 0, "need at least one sentence; got none");
  expect_conllu_error(" \n\n", 0, 0, "need at least one sentence; got none");
}

TEST(ConlluTest, RefusesToWriteWhatNoFileCanHold) {
  const std::vector<std::pair<const char*, std::function<void(ConlluSentence&)>>> faults = {
      {"[to_conllu] need a word in every sentence; got none",
       [](ConlluSentence& s) { s = ConlluSentence{}; }},
      {"need \"_\" or text without tabs and line ends as LEMMA; got \"\"",
       [](ConlluSentence& s) { s.words[0].lemma = ""; }},
      {"line ends as MISC; got", [](ConlluSentence& s) { s.words[0].misc = "a\tb"; }},
      {"line ends as FORM; got", [](ConlluSentence& s) { s.multiwords[0].columns.form = "a\nb"; }},
      {"line ends as DEPS; got", [](ConlluSentence& s) { s.empty_nodes[0].columns.deps = "a\r"; }},
      {"need comments", [](ConlluSentence& s) { s.comments[0] = "x"; }},
      {"need comments", [](ConlluSentence& s) { s.comments[0] = "#\n"; }},
      {"as HEAD of 1; got 4", [](ConlluSentence& s) { s.words[0].head = 4; }},
      {"as HEAD of 1; got -2", [](ConlluSentence& s) { s.words[0].head = -2; }},
      {"as HEAD of 2-3; got 0", [](ConlluSentence& s) { s.multiwords[0].columns.head = 0; }},
      {"as HEAD of 0.1; got 1", [](ConlluSentence& s) { s.empty_nodes[0].columns.head = 1; }},
      {"in the order of the words", [](ConlluSentence& s) { s.multiwords[0].first = 0; }},
      {"in the order of the words", [](ConlluSentence& s) { s.multiwords[0].last = 1; }},
      {"in the order of the words", [](ConlluSentence& s) { s.multiwords[0].last = 4; }},
      {"in the order of the words",
       [](ConlluSentence& s) { s.multiwords.push_back(s.multiwords[0]); }},
      {"in the order of the words", [](ConlluSentence& s) { s.empty_nodes[2].after = 1; }},
      {"in the order of the words", [](ConlluSentence& s) { s.empty_nodes[2].after = 4; }},
  };
  for (const auto& [part, change] : faults) {
    Sentences sentences = conllu(kExample);
    change(sentences[0]);
    const std::string message = message_of<UsageError>([&] { to_conllu(sentences); });
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  }
}

/// Follows the heads of each word for as many steps as there are words.
bool comes_to_root(const Heads& heads) {
  for (std::uint32_t word = 1; word <= heads.size(); ++word) {
    std::uint32_t at = word;
    for (std::size_t step = 0; step < heads.size() && at != 0; ++step) at = heads[at - 1];
    if (at != 0) return false;
  }
  return true;
}

/// Compares all pairs of arcs.
bool has_crossing(const Heads& heads) {
  for (std::uint32_t a = 1; a <= heads.size(); ++a) {
    for (std::uint32_t b = 1; b <= heads.size(); ++b) {
      const auto [a_begin, a_end] = std::minmax(a, heads[a - 1]);
      const auto [b_begin, b_end] = std::minmax(b, heads[b - 1]);
      if (a_begin < b_begin && b_begin < a_end && a_end < b_end) return true;
    }
  }
  return false;
}

TEST(DependencyTreeTest, AreWhatTheirDefinitionsSay) {
  Random random(3);
  for (int round = 0; round < 3000; ++round) {
    Heads heads(1 + random.below(7));
    for (std::uint32_t& head : heads) {
      head = random.below(static_cast<std::uint32_t>(heads.size()) + 1);
    }
    EXPECT_EQ(is_tree(heads), comes_to_root(heads));
    EXPECT_EQ(is_tree(heads, Roots::one),
              comes_to_root(heads) && std::ranges::count(heads, 0u) == 1);
    EXPECT_EQ(is_projective(heads), !has_crossing(heads));
  }
  EXPECT_TRUE(is_tree(Heads{}) && !is_tree(Heads{}, Roots::one) && is_projective(Heads{}));
  EXPECT_FALSE(is_tree(Heads{0, 3}));
  EXPECT_EQ(message_of<UsageError>([] {
              is_projective(Heads{0, 3});
            }),
            "[is_projective] need heads from 0 to 2; got 3");
}

}  // namespace
}  // namespace dynet_like::nn
