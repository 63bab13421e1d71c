// Normalizers and pre-tokenizers: every component, with results of Hugging Face's library.
#include "tests/support/precompiled.h"
#include "tests/text/tokenizer_json.h"

namespace dynet_like::nn {
namespace {

struct Case {
  const char *component, *text, *expected;
};

// The model has a piece for each byte, so that the text shows.
constexpr Case kNormalizers[] = {
    {R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})",
     "\tÀé日本 \001\u00ad\u00a0X",
     " [0,1) a[1,3) e[3,5)  日 [5,8)  本 [8,11)  [11,12)  [15,17) x[17,18)"},
    {R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":false})",
     "Àé中a", "À[0,2) é[2,4)  中 [4,7) a[7,8)"},
    {R"({"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":false,"strip_accents":true,"lowercase":false})",
     "Àé\u0323\u0301中", "A[0,2) e[2,4) 中[8,11)"},
    {R"({"type":"Lowercase"})", "ABCΣİßǅ",
     "a[0,1) b[1,2) c[2,3) σ[3,5) i\u0307[5,7) ß[7,9) ǆ[9,11)"},
    {R"({"type":"NFC"})", "e\u0301a\u0323\u0302ᄀ\u1161\u11a8ﬁ", "é[0,1) ậ[3,4) 각[8,11) ﬁ[17,20)"},
    {R"({"type":"NFD"})", "éệ각ﬁ", "e\u0301[0,2) e\u0323\u0302[2,5) ᄀ\u1161\u11a8[5,8) ﬁ[8,11)"},
    {R"({"type":"NFKC"})", "ﬁ①e\u0301ｶﾞ\u0344",
     "fi[0,3) 1[3,6) é[6,7) ガ[9,12) \u0308\u0301[15,17)"},
    {R"({"type":"NFKD"})", "ﬁé½", "fi[0,3) e\u0301[3,5) 1⁄2[5,7)"},
    {R"({"type":"StripAccents"})", "e\u0301éःx", "e[0,1) é[3,5) x[8,9)"},
    {R"({"type":"Strip","strip_left":true,"strip_right":true})", " \t\u3000a b\u00a0 ",
     "a[5,6)  [6,7) b[7,8)"},
    {R"({"type":"Strip","strip_left":true,"strip_right":false})", " a ", "a[1,2)  [2,3)"},
    {R"({"type":"Strip","strip_left":false,"strip_right":true})", " a ", " [0,1) a[1,2)"},
    {R"({"type":"Replace","pattern":{"String":"aa"},"content":"é"})", "aaaab",
     "é[1,2) é[3,4) b[4,5)"},
    {R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})", "a   b c  ",
     "a[0,1)  [3,4) b[4,5)  [5,6) c[6,7)  [8,9)"},
    {R"({"type":"Nmt"})", "a\tb\u200bc\001d\ufeff",
     "a[0,1)  [1,2) b[2,3)  [3,6) c[6,7) d[8,9)  [9,12)"},
    {R"({"type":"Prepend","prepend":"▁▁"})", "ab", "▁▁a[0,1) b[1,2)"},
    {R"({"type":"ByteLevel"})", "a é", "a[0,1) Ġ[1,2) Ã©[2,4)"},
    {R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]})",
     "a b", "▁a[0,1) ▁[1,2) b[2,3)"},
    {R"({"type":"Replace","pattern":{"Regex":"x*"},"content":"-"})", "axxé",
     "-a[0,1) -[2,3) é-[3,5)"},
    {R"({"type":"Replace","pattern":{"Regex":"\\b"},"content":"|"})", " é b",
     " |[0,1) é|[1,3)  |[3,4) b|[4,5)"},
    {R"({"type":"Replace","pattern":{"String":""},"content":"."})", "aé", ".a.[0,1) é.[1,3)"},
};

constexpr Case kPreTokenizers[] = {
    {R"({"type":"BertPreTokenizer"})", "don't $5 a—b\u00a0c",
     "d[0,1) o[1,2) n[2,3) | '[3,4) | t[4,5) | $[6,7) | 5[7,8) | a[9,10) | —[10,13) | b[13,14) | "
     "c[16,17)"},
    {R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})",
     "I'll don't  go 12a!?\n é",
     "ĠI[0,1) | '[1,2) l[2,3) l[3,4) | Ġ[4,5) d[5,6) o[6,7) n[7,8) | '[8,9) t[9,10) | Ġ[10,11) | "
     "Ġ[11,12) g[12,13) o[13,14) | Ġ[14,15) 1[15,16) 2[16,17) | a[17,18) | ![18,19) ?[19,20) | "
     "Ċ[20,21) | Ġ[21,22) Ã©[22,24)"},
    {R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false})",
     "a b", "a[0,1) Ġ[1,2) b[2,3)"},
    {R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true})", "a  b",
     "▁a[0,1) | ▁[1,2) | ▁[2,3) b[3,4)"},
    {R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":true})", "a b▁c",
     "a[0,1) | ▁[1,2) b[2,3) | ▁[3,6) c[6,7)"},
    {R"({"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":false})", "a b",
     "_a[0,1) _[1,2) b[2,3)"},
    {R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]})",
     " a  b", "▁a[1,2) | ▁b[4,5)"},
    {R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Isolated"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}]})",
     "a,b", "▁a[0,1) | ,[1,2) | b[2,3)"},
    {R"({"type":"Whitespace"})", "it's 日本 _x \u200d½",
     "i[0,1) t[1,2) | '[2,3) | s[3,4) | 日[5,8) 本[8,11) | _[12,13) x[13,14) | \u200d[15,18) | "
     "½[18,20)"},
    {R"({"type":"WhitespaceSplit"})", "a\u3000b \n c,", "a[0,1) | b[4,5) | c[8,9) ,[9,10)"},
    {R"({"type":"Punctuation","behavior":"Contiguous"})", "a,.b «c»",
     "a[0,1) | ,[1,2) .[2,3) | b[3,4)  [4,5) | «[5,7) | c[7,8) | »[8,10)"},
    {R"({"type":"Digits","individual_digits":true})", "a12½b",
     "a[0,1) | 1[1,2) | 2[2,3) | ½[3,5) | b[5,6)"},
    {R"({"type":"Digits","individual_digits":false})", "a12½b",
     "a[0,1) | 1[1,2) 2[2,3) ½[3,5) | b[5,6)"},
    {R"({"type":"Split","pattern":{"Regex":"(?i:'s|'ll)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"},"behavior":"Removed","invert":true})",
     "It'S  12345 ok",
     "I[0,1) t[1,2) | '[2,3) S[3,4) |  [4,5) |  [5,6) | 1[6,7) 2[7,8) 3[8,9) | 4[9,10) 5[10,11) |  "
     "[11,12) o[12,13) k[13,14)"},
    {R"({"type":"Split","pattern":{"String":"."},"behavior":"Isolated","invert":false})", "a.b..c",
     "a[0,1) | .[1,2) | b[2,3) | .[3,4) | .[4,5) | c[5,6)"},
    {R"({"type":"Split","pattern":{"String":"-"},"behavior":"Removed","invert":false})", "a-bc--d",
     "a[0,1) | b[2,3) c[3,4) | d[6,7)"},
    {R"({"type":"Split","pattern":{"String":"-"},"behavior":"Isolated","invert":false})", "a-bc--d",
     "a[0,1) | -[1,2) | b[2,3) c[3,4) | -[4,5) | -[5,6) | d[6,7)"},
    {R"({"type":"Split","pattern":{"String":"-"},"behavior":"MergedWithPrevious","invert":false})",
     "a-bc--d", "a[0,1) -[1,2) | b[2,3) c[3,4) -[4,5) | -[5,6) | d[6,7)"},
    {R"({"type":"Split","pattern":{"String":"-"},"behavior":"MergedWithNext","invert":false})",
     "a-bc--d", "a[0,1) | -[1,2) b[2,3) c[3,4) | -[4,5) | -[5,6) d[6,7)"},
    {R"({"type":"Split","pattern":{"String":"-"},"behavior":"Contiguous","invert":false})",
     "a-bc--d", "a[0,1) | -[1,2) | b[2,3) c[3,4) | -[4,5) -[5,6) | d[6,7)"},
    {R"({"type":"Split","pattern":{"Regex":"[a-z]+"},"behavior":"MergedWithNext","invert":true})",
     "ab--cd-", "a[0,1) b[1,2) | -[2,3) -[3,4) c[4,5) d[5,6) | -[6,7)"},
    {R"({"type":"Metaspace","replacement":"▁","add_prefix_space":true,"str_rep":"▁"})", "a b",
     "▁a[0,1) | ▁[1,2) b[2,3)"},
    {R"({"type":"Metaspace","replacement":"▁","add_prefix_space":false})", "a b",
     "a[0,1) | ▁[1,2) b[2,3)"},
    {R"({"type":"Split","pattern":{"Regex":"\\b"},"behavior":"Isolated","invert":false})", "a bc",
     "a[0,1) |  [1,2) | b[2,3) c[3,4)"},
    {R"({"type":"Split","pattern":{"Regex":"\\b"},"behavior":"MergedWithPrevious","invert":false})",
     "a bc d", "a[0,1) |  [1,2) | b[2,3) c[3,4) |  [4,5) | d[5,6)"},
    {R"({"type":"Split","pattern":{"Regex":"\\b"},"behavior":"MergedWithNext","invert":false})",
     "a bc d", "a[0,1) |  [1,2) | b[2,3) c[3,4) |  [4,5) | d[5,6)"},
    {R"({"type":"Split","pattern":{"Regex":"\\b"},"behavior":"Contiguous","invert":false})",
     "a bc d", "a[0,1) |  [1,2) | b[2,3) c[3,4) |  [4,5) | d[5,6)"},
    {R"({"type":"Split","pattern":{"Regex":"x*"},"behavior":"Removed","invert":false})", "axxb c",
     "a[0,1) | b[3,4) |  [4,5) | c[5,6)"},
    {R"({"type":"Split","pattern":{"Regex":"x*"},"behavior":"Removed","invert":true})", "axxb c",
     "x[1,2) x[2,3)"},
    {R"({"type":"Split","pattern":{"String":""},"behavior":"Isolated","invert":false})", "aé",
     "a[0,1) | é[1,3)"},
    {R"({"type":"CharDelimiterSplit","delimiter":"-"})", "a-bc--d é-",
     "a[0,1) | b[2,3) c[3,4) | d[6,7)  [7,8) é[8,10)"},
    {R"({"type":"CharDelimiterSplit","delimiter":"é"})", "aéb", "a[0,1) | b[3,4)"},
    {R"({"type":"FixedLength","length":2})", "aébc日", "a[0,1) é[1,3) | b[3,4) c[4,5) | 日[5,8)"},
    {R"({"type":"FixedLength"})", "abcdefg", "a[0,1) b[1,2) c[2,3) d[3,4) e[4,5) | f[5,6) g[6,7)"},
    {R"({"type":"UnicodeScripts"})", " abc где日本ひらカーx1, y\u0301",
     "a[1,2) b[2,3) c[3,4)  [4,5) | г[5,7) д[7,9) е[9,11) | 日[11,14) 本[14,17) ひ[17,20) "
     "ら[20,23) "
     "カ[23,26) ー[26,29) | x[29,30) | 1[30,31) ,[31,32)  [32,33) | y[33,34) | \u0301[34,36)"},
    {R"({"type":"UnicodeScripts"})", "どこ a. б",
     "ど[0,3) こ[3,6)  [6,7) | a[7,8) | .[8,9)  [9,10) | б[10,12)"},
    {R"({"type":"UnicodeScripts"})", "  ", ""},
};

TEST(TextComponents, NormaliseAsTheReference) {
  for (const Case& test : kNormalizers) {
    const Tokenizer tokenizer = TokenizerJson{.normalizer = test.component}.make();
    EXPECT_EQ(shown_bytes(tokenizer.encode(test.text)), test.expected) << test.component;
  }
}

TEST(TextComponents, SplitAsTheReference) {
  for (const Case& test : kPreTokenizers) {
    const Tokenizer tokenizer = TokenizerJson{.pre_tokenizer = test.component}.make();
    EXPECT_EQ(shown_bytes(tokenizer.encode(test.text)), test.expected) << test.component;
  }
}

TEST(TextComponents, TakeTextsThatBecomeEmpty) {
  for (const Case& test : kNormalizers) {
    const Tokenizer tokenizer = TokenizerJson{.normalizer = test.component}.make();
    EXPECT_TRUE(tokenizer.encode("").ids.empty());
  }
  for (const Case& test : kPreTokenizers) {
    const Tokenizer tokenizer = TokenizerJson{.pre_tokenizer = test.component}.make();
    EXPECT_TRUE(tokenizer.encode("").ids.empty());
  }
  const Tokenizer strips =
      TokenizerJson{.normalizer = R"({"type":"Strip","strip_left":true,"strip_right":true})",
                    .pre_tokenizer = R"({"type":"Metaspace","replacement":"▁"})"}
          .make();
  EXPECT_TRUE(strips.encode(" \t ").ids.empty());
}

/// A charsmap with replacements of "Ａ", "ﬁ", "ﬃ", "①" and the zero-width joiner, in base64: units
/// of a double-array trie, most of which are free, and the replacements.
std::string small_charsmap() {
  constexpr std::pair<std::size_t, std::uint32_t> kUsed[] = {
      {0, 0x400},      {1, 0x80000007}, {2, 0x80000005}, {3, 0x80000002}, {4, 0x80000008},
      {5, 0x80000000}, {128, 0x20D81},  {129, 0x20080},  {130, 0x21983},  {140, 0x2358D},
      {144, 0x24491},  {160, 0x295A1},  {161, 0x28DA0},  {173, 0x2B0AC},  {189, 0x2F0BC},
      {227, 0x388E2},  {238, 0x3BCEF}};
  std::vector<std::uint32_t> units(239, 0xFF);
  for (const auto& [place, unit] : kUsed) units[place] = unit;
  std::string bytes;
  const auto add = [&](std::uint32_t word) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(word >> 8 * i);
  };
  add(static_cast<std::uint32_t>(4 * units.size()));
  for (const std::uint32_t unit : units) add(unit);
  bytes += std::string(
      "A\0fi\0"
      "1\0\0ffi\0",
      12);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | static_cast<unsigned char>(bytes[i + k]);
    for (int shift = 18; shift >= 0; shift -= 6) {
      text +=
          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[bits >> shift & 63];
    }
  }
  return text;
}

TEST(TextComponents, ReplaceByTheTableOfSentencePiece) {
  const Tokenizer tokenizer =
      TokenizerJson{.normalizer = R"({"type":"Precompiled","precompiled_charsmap":")" +
                                  small_charsmap() + "\"}"}
          .make();
  const std::pair<const char*, const char*> cases[] = {
      {"Ａﬁ①xﬁ", "A[0,3) fi[3,6) 1[6,9) x[9,10) fi[10,13)"},
      {"a\u200db\u200d", "a[0,1) b[4,5)"},
      {"\u200dab", "a[0,3) b[3,4)"},
      {"ﬃＡ\u0301é", "ffi[0,3) A[3,6) é[8,10)"},
      {"ﬁ\u0301\r\n①", "f[0,3) i[3,5) \r[5,6) \n[6,7) 1[7,10)"}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(shown_bytes(tokenizer.encode(text)), expected) << text;
  }
}

}  // namespace
}  // namespace dynet_like::nn
