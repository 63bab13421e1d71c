// Regular expressions: matches as in Hugging Face's library, what is refused, and the limit of
// work.
#include "nn/text/regex.h"

#include "nn/text/regex_steps.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/text/with_bars.h"

namespace dynet_like::nn::text {
namespace {

std::string replaced(const std::string& expression, const std::string& text) {
  return with_bars(each_regex(expression), text);
}

struct Case {
  const char *expression, *text, *expected;
};

// Results of the normalizer Replace of the reference.
constexpr Case kMatches[] = {
    // Repetition: "+" behind braces repeats again, and is possessive behind other quantifiers.
    {"a{1,3}+", "aaaab", "|b"},
    {"a{1,3}+a", "aaaa", "|"},
    {"a{3,1}a", "aaaa", "|"},
    {"a{3,1}a", "aaa", "aaa"},
    {"a{,2}", "aaab", "||b|"},
    {"a{,}", "a{,}", "|"},
    {"a{2}?", "aaa", "|a|"},
    {"a{2", "aa{2", "a|"},
    {"a++a|b", "aab", "aa|"},
    {"a?+a", "aa", "|"},
    {"a**", "aab", "|b|"},
    {"(a|b)+", "abab", "|"},
    {"(?>a+)b", "aaab", "|"},
    {"(?:a|ab)(?:c|bcd)", "abcd", "|"},
    {"日{2}", "日日日", "|日"},
    {"x{0}", "xy", "|x|y|"},
    {"(?#x)a(?#y)+", "aaa", "|"},
    // Escapes that other libraries read otherwise.
    {"\\pL+", "pLLx", "|x"},
    {"\\v", "a\x0bv", "a|v"},
    {"\\Qa.\\E", "QaxE", "|"},
    {"\\h+", "fFg", "|g"},
    {"\\H+", "fFg", "fF|"},
    {"\\R", "a\r\nb\n", "a|b|"},
    {"\\R*", "a\n\r\nb", "|a|b|"},
    {"[\\R]", "R\n", "|\n"},
    {"\\N+", "a\nb", "|\n|"},
    {"\\O+", "a\nb", "|"},
    {"\\x41\\x{65e5}\\u0042\\012", "A日B\n", "|"},
    {"\\p{Han}+", "日本あ", "|あ"},
    // Classes: numbers of Latin-1 are words outside of brackets only.
    {"[½²]", "a½²", "a||"},
    {"\\w+", "a½²b Ⅷ", "| |"},
    {"[\\w]+", "a½²b", "|½²|"},
    {"[\\W]", "a½²-", "a|||"},
    {"\\d", "1²٣", "|²|"},
    {"\\p{Word}+", "a½ b", "| |"},
    {"\\P{Word}", "a½ ", "a½|"},
    {"\\p{^word}", "a½ ", "a½|"},
    {"[[:alpha:]]+", "aé1日", "|1|"},
    {"[[:word:]]+", "a½_ -", "|½| -"},
    {"[[:punct:]]", "a,+▁€_", "a|||||"},
    {"[[:^punct:]]+", "a,+▁b", "|,+▁|"},
    {"[x[:punct:]]", "ax$", "a||"},
    {"\\p{Punct}", "a,+▁_", "a|+▁|"},
    {"[a-z&&[^aeiou]]+", "abecd", "a|e|"},
    {"[a[bc]]+", "abcd", "|d"},
    // Options.
    {"(?i)ß", "ß SS ss ẞ", "| | | |"},
    {"(?i)ss", "ß ſs", "| |"},
    {"(?i)[a-c]", "AbÇ", "||Ç"},
    {"(?i)k", "kK\u212a", "|||"},
    {"(?i)[^k]", "kKa", "kK|"},
    {"(?i)'s", "'S 'ſ", "| |"},
    {"(?i:a)b", "AbAB", "|AB"},
    {"a(?i)b|c", "acABaBC", "|AB|C"},
    {".", "a\n", "|\n"},
    {"(?m).", "a\n", "||"},
    // Places, and matches of nothing.
    {"^a", "a\na", "|\n|"},
    {"a$", "a\na", "|\n|"},
    {"\\Aa|a\\z", "aaa", "|a|"},
    {"\\G\\d", "12a3", "||a3"},
    {"\\b", "ab c", "|ab| |c|"},
    {"\\B", "ab c", "a|b c"},
    {"a*", "baac", "|b|c|"},
    {"", "aé", "|a|é|"},
    {"(?=b)", "abb", "a|b|b"},
    {"(?<=b)", "abb", "ab|b|"},
    {"(?<=ab?)c", "acabc", "a|ab|"},
    {"(?<!a)b", "abbb", "ab||"},
    {"a\\Kb", "abb", "a|b"},
};

TEST(RegexTest, MatchesAsTheReference) {
  for (const Case& test : kMatches) {
    EXPECT_EQ(replaced(test.expression, test.text), test.expected) << test.expression;
  }
}

struct Refused {
  const char *expression, *message;
};

constexpr Refused kRefused[] = {
    // The reference refuses these, too.
    {"(", "the syntax of Oniguruma (end pattern with unmatched parenthesis)"},
    {")", "a ( for each )"},
    {"*", "the syntax of Oniguruma (target of repeat operator is not specified)"},
    {"[", "a ] for each ["},
    {"[z-a]", "the syntax of Oniguruma (empty range in char class)"},
    {"\\p{Nope}", "the syntax of Oniguruma (invalid character property name {Nope})"},
    {"(?=a)*", "the syntax of Oniguruma (target of repeat operator is invalid)"},
    {"^*", "the syntax of Oniguruma (target of repeat operator is invalid)"},
    {"a{100001}", "the syntax of Oniguruma (too big number for repeat range)"},
    {"[[:nope:]]", "the syntax of Oniguruma (invalid POSIX bracket type)"},
    {"\\", "the syntax of Oniguruma (end pattern at escape)"},
    {"(?<n>a", "the syntax of Oniguruma (end pattern with unmatched parenthesis)"},
    {"(?<n", "names of groups that end"},
    // The work of these cannot be counted.
    {"(a)\\1", "no references to groups"},
    {"(?<n>a)\\k<n>", "none of \\k, \\g, \\X, \\y, \\Y and control characters"},
    {"\\X", "none of \\k, \\g, \\X, \\y, \\Y and control characters"},
    {"(?~a)", "no group that begins with (?~"},
    {"(?(1)a)", "no group that begins with (?("},
    {"(?{a})", "no group that begins with (?{"},
    {"(*FAIL)", "no group that begins with (*"},
    {"(?x) a", "no options but i, m and s"},
    {"[]a]", "\\] for a ] in a class"},
    {"[[:a]", "a class such as [:alpha:], or \\[ for a [ in a class"},
    {"\\xe9", "characters of more than one byte as \\x{}"},
    {"\\x{61 62}", "one character in each \\x{}"},
    {"\\p{L", "a } for each {"},
};

TEST(RegexTest, NamesWhatItRefuses) {
  for (const Refused& test : kRefused) {
    const std::string message = message_of<UsageError>([&] { each_regex(test.expression); });
    EXPECT_TRUE(message.starts_with(std::string("a regular expression needs ") + test.message))
        << test.expression << ": " << message;
  }
  EXPECT_THROW(each_regex("\xFF"), UsageError);
  EXPECT_THROW(each_regex(std::string(10'001, 'a')), UsageError);
  EXPECT_THROW(each_regex(std::string(251, '(') + std::string(251, ')')), UsageError);
  EXPECT_THROW(each_regex(std::string(251, '[') + 'a' + std::string(251, ']')), UsageError);
}

TEST(RegexTest, CountsStepsWhereWorkIsRepeated) {
  const std::pair<const char*, const char*> cases[] = {
      {"abc", "abc"},
      {"ab+|c", "a(?:b(?{}))+|c"},
      {"(a|b)*?", "(?:(a|(?{})b)(?{}))*?"},
      {"[a\\]]{2}é{,3}x{", "(?:[a\\]](?{})){2}(?:é(?{})){,3}x{"},
      {"(?<=a)(?<!b*)", "(?<=(?{})a)(?<!(?{})(?:b(?{}))*)"},
      {"\\p{L}+\\x{e9}*a+*", "(?:\\p{L}(?{}))+(?:\\x{e9}(?{}))*(?:a(?{}))+*"},
  };
  for (const auto& [expression, expected] : cases) EXPECT_EQ(with_steps(expression), expected);
}

// Each of these needs more than a multiple of the text's length: for each place, the rest of the
// text; or a number of tries that doubles with each character.
TEST(RegexTest, BoundsTheWorkForATextAsAWhole) {
  const char* const attacks[] = {"(a|b)*c|.",    "a*c|.",         "a*+c|.",      "(?>a*)c|.",
                                 "(?=a*b)a|.",   "(?!a*b)a(?!a)", "(?<=ba*)a|.", "(a+a+)+b",
                                 "(?:a|a)*b|.",  "(?:a?){30}b|.", "a{1,3}+b|.",  "(?:a*)*b|.",
                                 "(?:aa|a)+?b|."};
  for (const char* attack : attacks) {
    const std::string message =
        message_of<UsageError>([&] { replaced(attack, std::string(20'000, 'a')); });
    EXPECT_TRUE(message.starts_with("a regular expression needs fewer steps for this text"))
        << attack << ": " << message;
  }
  // The expressions of published tokenizers need a few steps for each byte, whatever the text.
  const std::string llama3 =
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
      " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  for (const std::string unit : {"a", " ", "\n", "1", "'", " \n", "a ", "é", "\t\u3000", "--\n"}) {
    std::string text;
    while (text.size() < 20'000) text += unit;
    EXPECT_NO_THROW(replaced(llama3, text + 'x')) << unit;
  }
}

}  // namespace
}  // namespace dynet_like::nn::text
