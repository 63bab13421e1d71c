// Normal forms of words: small letters of all alphabets, digits, bytes that are not UTF-8.
#include "nn/data/word_normalisation.h"

#include <clocale>
#include <cwctype>

#include "dynet_like/core/text.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

constexpr WordNormalisation kLowerCase = {.lower_case = true};
constexpr WordNormalisation kDigits = {.digits = true};
constexpr WordNormalisation kBoth = {.lower_case = true, .digits = true};

std::string utf8(char32_t code) {
  const auto part = [&](int shift, unsigned mark) {
    return static_cast<char>(mark | (code >> shift & (mark == 0x80 ? 0x3F : 0xFF)));
  };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {part(6, 0xC0), part(0, 0x80)};
  if (code < 0x10000) return {part(12, 0xE0), part(6, 0x80), part(0, 0x80)};
  return {part(18, 0xF0), part(12, 0x80), part(6, 0x80), part(0, 0x80)};
}

TEST(WordNormalisation, MakesLettersSmall) {
  EXPECT_EQ(normalised("The", kLowerCase), "the");
  EXPECT_EQ(normalised("ÀÉÎÕÜÞŸ ŁŻŠĄ", kLowerCase), "àéîõüþÿ łżšą") << "Latin";
  EXPECT_EQ(normalised("ΆΣΑΣ", kLowerCase), "άσασ") << "Greek, without the sigma of ends";
  EXPECT_EQ(normalised("ЁЖИК ЇҐЂ", kLowerCase), "ёжик їґђ") << "Cyrillic";
  EXPECT_EQ(normalised("ՀԱՅ ＡＢ 𐐀", kLowerCase), "հայ ａｂ 𐐨") << "Armenian, wide, Deseret";
  EXPECT_EQ(normalised("straße 日本 ×÷ 7", kLowerCase), "straße 日本 ×÷ 7") << "no capitals";
  EXPECT_EQ(normalised("ẞ İ", kLowerCase), "ß i");
  EXPECT_EQ(normalised("", kLowerCase), "");
}

TEST(WordNormalisation, MakesDigitsOne) {
  EXPECT_EQ(normalised("Boeing-747", kDigits), "Boeing-000");
  EXPECT_EQ(normalised("1,999.50 ٣٤ ५ ７", kDigits), "0,000.00 00 0 0");
  EXPECT_EQ(normalised("Ⅷ ² ½ /:", kDigits), "Ⅷ ² ½ /:") << "numbers that are no digits";
  EXPECT_EQ(normalised("Boeing-747", kBoth), "boeing-000");
  EXPECT_EQ(normalised("Boeing-747", {}), "Boeing-747");
}

TEST(WordNormalisation, AgreesWithTheSystem) {
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) GTEST_SKIP() << "no locale C.UTF-8";
  std::size_t changed = 0;
  for (char32_t code = 1; code < 0x110000; ++code) {
    if (code == 0xD800) code = 0xE000;
    const std::string character = utf8(code), form = normalised(character, kLowerCase);
    const auto expected = static_cast<char32_t>(std::towlower(static_cast<std::wint_t>(code)));
    changed += form != character ? 1 : 0;
    // A newer Unicode may have letters that are not assigned in an older one, in later blocks.
    if (code >= 0x590 && form == character) continue;
    ASSERT_EQ(form, utf8(expected)) << std::hex << static_cast<unsigned>(code);
  }
  std::setlocale(LC_CTYPE, "C");
  EXPECT_EQ(changed, 1433u);
}

TEST(WordNormalisation, LeavesBytesThatAreNotUtf8) {
  using namespace std::string_view_literals;
  EXPECT_EQ(normalised("\xFF\xC3"
                       "A9\x80\xE2\x82",
                       kBoth),
            "\xFF\xC3"
            "a0\x80\xE2\x82");
  EXPECT_EQ(normalised("\xC1\x81\xED\xA0\x80\xF8\x88\x80\x80\x80", kBoth),
            "\xC1\x81\xED\xA0\x80\xF8\x88\x80\x80\x80")
      << "long forms, surrogates";
  EXPECT_EQ(normalised("A\0B"sv, kBoth), "a\0b"sv);
}

}  // namespace
}  // namespace dynet_like::nn
