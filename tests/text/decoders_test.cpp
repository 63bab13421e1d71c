// Texts of pieces: every decoder, with results of Hugging Face's library, and special tokens.
#include <nlohmann/json.hpp>

#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/text/tokenizer_json.h"

namespace dynet_like::nn {
namespace {

/// The text of pieces that are words of a tokenizer.
std::string decoded(const std::string& decoder, const std::vector<std::string>& pieces) {
  nlohmann::json words = nlohmann::json::object();
  for (const std::string& piece : pieces) words.emplace(piece, words.size());
  const nlohmann::json model = {{"type", "WordLevel"}, {"unk_token", "?"}, {"vocab", words}};
  const Tokenizer tokenizer = TokenizerJson{.model = model.dump(), .decoder = decoder}.make();
  std::vector<std::uint32_t> ids;
  for (const std::string& piece : pieces) ids.push_back(words[piece].get<std::uint32_t>());
  return tokenizer.decode(ids);
}

struct DecoderCase {
  const char* decoder;
  std::vector<std::string> pieces;
  const char* expected;
};

const std::string kByteLevel =
    R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})";

const DecoderCase kCases[] = {
    {"null", {"a", "b"}, "a b"},
    {kByteLevel.c_str(), {"ĠhÃ", "©", "Ġ日", "a é"}, " héĠ日a é"},
    {kByteLevel.c_str(), {"Ã", "a", "â", "Ĥ", "Ģ", "Ģ"}, "\uFFFDa₀\uFFFD"},
    {kByteLevel.c_str(),
     {"ð", "Ł", "Ļ", "x", "í", "ł", "Ģ", "ô", "Ĳ", "Ģ", "Ģ", "ø", "Ģ"},
     "\uFFFDx\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
    {R"({"type":"WordPiece","prefix":"##","cleanup":true})",
     {"##a", "##b", "c", ".", "do", "not", "ca", "n't", "'", " it"},
     "##ab c. do not can't '  it"},
    {R"({"type":"WordPiece","prefix":"##","cleanup":false})", {"a", "##b", ".", "##"}, "ab ."},
    {R"({"type":"WordPiece","prefix":"","cleanup":false})", {"a", "b"}, "ab"},
    {R"({"type":"Metaspace","replacement":"▁","add_prefix_space":true})",
     {"▁▁a▁", "▁b", "c"},
     "a bc"},
    {R"({"type":"Metaspace","replacement":"_","prepend_scheme":"never","split":true})",
     {"_a", "_b"},
     " a b"},
    {R"({"type":"BPEDecoder","suffix":"</w>"})", {"a", "b</w>", "c</w>d</w>"}, "ab cd"},
    {R"({"type":"BPEDecoder","suffix":""})", {"ab", "é"}, " a b é"},
    {R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true})",
     {"a", "a", "<pad>", "a", "|", "|", " .", "b<pad>"},
     "aa .b"},
    {R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":false})",
     {"a", "a", "<pad>", "|", "b"},
     "a|b"},
    {R"({"type":"Fuse"})", {"a", "b"}, "ab"},
    {R"({"type":"Strip","content":"x","start":2,"stop":1})", {"xxxaxx", "ax", "xa", "b"}, "xaxaab"},
    {R"({"type":"Strip","content":"x","start":1,"stop":2})", {"x", "xx"}, ""},
    {R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})", {"▁a", "b▁▁"}, " ab  "},
    {R"({"type":"Replace","pattern":{"Regex":"[ab]+"},"content":"-"})", {"xab", "ba"}, "x--"},
    {R"({"type":"Replace","pattern":{"Regex":"x*"},"content":"-"})", {"axb", "c"}, "-a-b--c-"},
    {R"({"type":"ByteFallback"})",
     {"a", "<0xE6>", "<0x97>", "<0xA5>", "<0xFF>", "b", "<0xc3>", "<0xA9>", "<0xG0>", "<0x+5>",
      "<0xC3>"},
     "a\uFFFD\uFFFD\uFFFD\uFFFDbé<0xG0>\uFFFD\uFFFD"},
    {R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
        {"type":"ByteFallback"},{"type":"Fuse"},
        {"type":"Strip","content":" ","start":1,"stop":0}]})",
     {"▁a", "<0xC3>", "<0xA9>", "▁b"},
     "aé b"},
    {R"({"type":"Sequence","decoders":[]})", {"a", "b"}, "ab"},
};

TEST(TextDecoders, GiveTheTextsOfTheReference) {
  for (const DecoderCase& test : kCases) {
    EXPECT_EQ(decoded(test.decoder, test.pieces), test.expected) << test.decoder;
  }
}

TEST(TextDecoders, TakeNoPieces) {
  for (const DecoderCase& test : kCases) EXPECT_EQ(decoded(test.decoder, {}), "") << test.decoder;
}

TEST(TextDecoders, LeaveSpecialTokensOut) {
  const auto token = [](const std::string& id, const std::string& content, bool is_special) {
    return R"({"id":)" + id + R"(,"content":")" + content +
           R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":)" +
           (is_special ? "true}" : "false}");
  };
  const std::string model = R"({"type":"WordLevel","unk_token":"?","vocab":{"a":0,"?":1,"b":3}})";
  const Tokenizer tokenizer =
      TokenizerJson{.model = R"({"type":"WordLevel","unk_token":"?","vocab":{"a":0,"?":1,"b":2}})",
                    .added_tokens = '[' + token("1", "?", true) + ',' + token("3", "x", true) +
                                    ',' + token("4", "y", false) + ']'}
          .make();
  const std::vector<std::uint32_t> ids = {3, 0, 1, 4, 2, 3};
  EXPECT_EQ(tokenizer.decode(ids), "a y b");
  EXPECT_EQ(tokenizer.decode(ids, {.special_tokens = true}), "x a ? y b x");
  const std::vector<std::uint32_t> unknown = {0, 5, 0xFFFFFFFF, 2};
  EXPECT_EQ(tokenizer.decode(unknown), "a b") << "as the reference does";
  // A token is decoded as it is found, and is special by what the file calls it.
  const Tokenizer lower =
      TokenizerJson{
          .normalizer = R"({"type":"Lowercase"})",
          .model = R"({"type":"WordLevel","unk_token":"?","vocab":{"a":0}})",
          .added_tokens = '[' + token("1", "COVID", false) + ',' + token("2", "Z", true) + ']'}
          .make();
  EXPECT_EQ(lower.decode(std::vector<std::uint32_t>{0, 1, 2}), "a covid z");
}

TEST(TextDecoders, BoundTheSizeOfATextThatGrows) {
  const std::string grows =
      R"({"type":"Replace","pattern":{"String":"a"},"content":")" + std::string(1000, 'a') + "\"}";
  const std::string thrice = grows + ',' + grows + ',' + grows;
  EXPECT_NE(message_of<UsageError>([&] {
              decoded(R"({"type":"Sequence","decoders":[)" + thrice + "]}", {"a"});
            }).find("text of at most 67108864 bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace dynet_like::nn
