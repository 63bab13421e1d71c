// Texts of messages: what a terminal would obey is shown, and the names that a mistyped one was
// meant to be.
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/core/text.h"
#include "dynet_like/core/xml_text.h"
#include "dynet_like/distributed/communicator.h"
#include "tests/support/precompiled.h"

namespace dynet_like::detail {
namespace {

TEST(VisibleTextTest, ShowsWhatIsText) {
  for (const char* text : {"", "a b", "Grüße, 世界 🙂", "~\u00A0\u2027\u202F\u2065",
                           "\u061B\u061D\u200D\u2010", "\\x1B", "\\"}) {
    EXPECT_EQ(visible_text(text), text);
  }
}

TEST(VisibleTextTest, ShowsControlCharactersAsBytes) {
  EXPECT_EQ(visible_text("\x1B[31m"), "\\x1B[31m");
  EXPECT_EQ(visible_text("a\nb\tc\r"), "a\\x0Ab\\x09c\\x0D");
  EXPECT_EQ(visible_text(std::string("\0\x1F \x7F", 4)), "\\x00\\x1F \\x7F");
  EXPECT_EQ(visible_text("\u0080\u009B\u009F\u00A0"), "\\xC2\\x80\\xC2\\x9B\\xC2\\x9F\u00A0");
  EXPECT_EQ(visible_text("\u2028\u202E"), "\\xE2\\x80\\xA8\\xE2\\x80\\xAE");
  EXPECT_EQ(visible_text("\u061C\u200E\u200F"), "\\xD8\\x9C\\xE2\\x80\\x8E\\xE2\\x80\\x8F");
  EXPECT_EQ(visible_text("\u2066\u2069"), "\\xE2\\x81\\xA6\\xE2\\x81\\xA9");
}

TEST(VisibleTextTest, ShowsBrokenBytes) {
  EXPECT_EQ(visible_text("\xFF"), "\\xFF");
  EXPECT_EQ(visible_text("ü\xC3"), "ü\\xC3");
  EXPECT_EQ(visible_text("\xC3(\x80"), "\\xC3(\\x80");
  EXPECT_EQ(visible_text("\xC0\xAF"), "\\xC0\\xAF");           // too long
  EXPECT_EQ(visible_text("\xED\xA0\x80"), "\\xED\\xA0\\x80");  // a surrogate
  EXPECT_EQ(visible_text("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
}

// Whatever the bytes are, the result is text without controls, and is not changed again.
TEST(VisibleTextTest, OfAnyBytesIsText) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string bytes = {static_cast<char>(a), static_cast<char>(b), 'x'};
      const std::string shown = visible_text(bytes);
      EXPECT_TRUE(is_utf8(shown));
      EXPECT_EQ(visible_text(shown), shown);
      for (const char c : shown) EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7F);
    }
  }
}

TEST(VisibleTextTest, QuotedTextEndsBehindACharacter) {
  const std::string text(39, 'a');
  EXPECT_EQ(quoted_text(text + "ü"), '"' + text + "ü\"");
  EXPECT_EQ(quoted_text(text + "üb"), '"' + text + "ü...\"");
  EXPECT_EQ(quoted_text(text + "\xC3"), '"' + text + "\\xC3\"");
  EXPECT_EQ(quoted_text(text + "ab"), '"' + text + "a...\"");
}

template <class Error>
void expect_visible() {
  EXPECT_STREQ(Error("[op] need \x1B[2J\xFF").what(), "[op] need \\x1B[2J\\xFF");
}

TEST(VisibleTextTest, IsWhatErrorsSay) {
  expect_visible<ShapeError>();
  expect_visible<UsageError>();
  expect_visible<StateError>();
  expect_visible<NumericError>();
  expect_visible<DeviceError>();
  expect_visible<RankError>();
  const FileError error("a\x1B.txt", "need a line; got \x07", 3, 4);
  EXPECT_STREQ(error.what(), "a\\x1B.txt:3:4: need a line; got \\x07");
  EXPECT_EQ(error.file(), "a\x1B.txt");
}

TEST(VisibleTextTest, XmlHasItsOwnCharacters) {
  EXPECT_EQ(xml_text("a<\n\x1B\xFFü"), "a&lt;\n\uFFFD\uFFFDü");
}

using Names = std::vector<std::string_view>;

TEST(NearestNamesTest, CountLettersAddedDroppedAndChanged) {
  const Names names = {"kitten", "sit", "sitting", "mitten", ""};
  EXPECT_EQ(nearest_names("sitten", names), "\"kitten\", \"mitten\", \"sitting\"");
  EXPECT_EQ(nearest_names("sitten", names, 1), "\"kitten\"") << "of equal ones the first";
  EXPECT_EQ(nearest_names("s", names, 2), "\"\", \"sit\"");
  EXPECT_EQ(nearest_names("", names, 9), "\"\", \"sit\", \"kitten\", \"mitten\", \"sitting\"");
  EXPECT_EQ(nearest_names("x", Names{}), "");
  EXPECT_EQ(nearest_names("x", names, 0), "");
}

TEST(NearestNamesTest, EndAMessage) {
  EXPECT_EQ(nearest_names_text("a", Names{}), "");
  EXPECT_EQ(nearest_names_text("a", Names{"b"}), ", the only one is \"b\"");
  EXPECT_EQ(nearest_names_text("a", Names{"bcd", "ab"}), ", the nearest are \"ab\", \"bcd\"");
  EXPECT_EQ(nearest_keys_text("a", std::map<std::string, int>{{"x", 1}, {"y", 2}}),
            ", the nearest are \"x\", \"y\"");
}

// A hostile file has any number of names of any length.
TEST(NearestNamesTest, DoNotTakeLong) {
  const std::vector<std::string> long_names(50'000, std::string(1000, 'a'));
  Names names(long_names.begin(), long_names.end());
  const std::string other(1'000'000, 'b');
  EXPECT_EQ(nearest_names(other, names, 1).size(), 45u);
  names[9'999] = "b";
  EXPECT_EQ(nearest_names("b", names, 1), "\"b\"");
  names[9'999] = "a";
  names[10'000] = "b";
  EXPECT_EQ(nearest_names("b", names, 1), "\"a\"") << "only the first 10,000";
}

}  // namespace
}  // namespace dynet_like::detail
