// Models, added tokens and post-processors, with results of Hugging Face's library.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/text/tokenizer_json.h"

namespace dynet_like::nn {
namespace {

const std::string kBySpace = R"({"type":"WhitespaceSplit"})";
const std::string kBertWords = R"({"type":"BertPreTokenizer"})";

std::string pieces(const TokenizerJson& json, std::string_view text) {
  return shown(json.make().encode(text));
}

TEST(WordPieceModel, TakesTheLongestPieces) {
  const TokenizerJson json = {
      .pre_tokenizer = kBertWords,
      .model = R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
          "max_input_chars_per_word":8,"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"un":3,"##aff":4,
          "##able":5,"a":6,"##é":7,"é":8,"##a":9,",":10}})"};
  EXPECT_EQ(pieces(json, "unaffable aé, éa"),
            "0@0[0,9) 6@1[10,11) 7@1[11,13) 10@2[13,14) 8@3[15,17) 9@3[17,18)")
      << "the first word is too long";
  EXPECT_EQ(pieces(json, "unaffa éééééééé ééééééééé unb"),
            "3@0[0,2) 4@0[2,5) 9@0[5,6) 8@1[7,9) 7@1[9,11) 7@1[11,13) 7@1[13,15) 7@1[15,17) "
            "7@1[17,19) 7@1[19,21) 7@1[21,23) 0@2[24,42) 0@3[43,46)");
}

TokenizerJson byte_pair(const std::string& options, const std::string& more_pieces = "") {
  return {.pre_tokenizer = kBySpace,
          .model = R"({"type":"BPE","vocab":{"<s>":0,"a":1,"b":2,"c":3,"ab":4,"abc":5,"bc":6,
              "cab":7,"é":8,"?":9)" +
                   more_pieces + "}," + options + '}'};
}

TEST(BytePairModel, MergesInTheOrderOfTheList) {
  const std::string merges = R"("merges":[["b","c"],["a","b"],["ab","c"]])";
  EXPECT_EQ(pieces(byte_pair(merges), "abc ab bcab abab xaxb"),
            "1@0[0,1) 6@0[1,3) 4@1[4,6) 6@2[7,9) 4@2[9,11) 4@3[12,14) 4@3[14,16) 4@4[17,19)")
      << "unknown characters are dropped, and places count without them";
  EXPECT_EQ(pieces(byte_pair(R"("merges":["#version: 0.2","a b","ab c"])"), "abc bc"),
            "5@0[0,3) 2@1[4,5) 3@1[5,6)");
  EXPECT_EQ(pieces(byte_pair(merges + R"(,"dropout":0.0,"unk_token":"?")"), "axyb xy"),
            "1@0[0,1) 9@0[1,2) 9@0[2,3) 2@0[3,4) 9@1[5,6) 9@1[6,7)");
  EXPECT_EQ(pieces(byte_pair(merges + R"(,"unk_token":"?","fuse_unk":true)"), "axyb xéy"),
            "1@0[0,1) 9@0[1,3) 2@0[3,4) 9@1[5,6) 8@1[6,8) 9@1[8,9)");
  EXPECT_EQ(pieces(byte_pair(merges + R"(,"ignore_merges":true)"), "cab abc"), "7@0[0,3) 5@1[4,7)");
  EXPECT_EQ(pieces(byte_pair(merges + R"(,"unk_token":"?","fuse_unk":true,"byte_fallback":true)",
                             R"(,"<0xC3>":10,"<0xA0>":11)"),
                   "aàb xàa"),
            "1@0[0,1) 10@0[1,3) 11@0[1,3) 2@0[3,4) 10@1[5,6) 11@1[6,8) 9@1[6,8) 1@1[8,9)")
      << "an unknown character comes behind the bytes of the next one";
  EXPECT_EQ(pieces(byte_pair(merges + R"(,"unk_token":"?","byte_fallback":true)",
                             R"(,"<0xC3>":10,"<0xA0>":11)"),
                   "aáà"),
            "1@0[0,1) 10@0[1,3) 11@0[1,3) 9@0[3,5)")
      << "half of a character's bytes do not count";
}

TEST(BytePairModel, MarksPartsOfWords) {
  const TokenizerJson json = {
      .pre_tokenizer = kBySpace,
      .model = R"({"type":"BPE","continuing_subword_prefix":"##","end_of_word_suffix":"</w>",
          "vocab":{"a":0,"##b":1,"##b</w>":2,"ab</w>":3,"a</w>":4,"ab":5,"##c</w>":6,"abc</w>":7},
          "merges":[["a","##b</w>"],["a","##b"],["ab","##c</w>"]]})"};
  EXPECT_EQ(pieces(json, "ab a abc abb"), "3@0[0,2) 4@1[3,4) 7@2[5,8) 5@3[9,11) 2@3[11,12)");
}

TEST(BytePairModel, NeedsItsUnknownTokenOnlyForUnknownCharacters) {
  const Tokenizer tokenizer = byte_pair(R"("merges":[],"unk_token":"[UNK]")").make();
  EXPECT_EQ(tokenizer.encode("ab").ids.size(), 2u);
  EXPECT_EQ(message_of<UsageError>([&] { tokenizer.encode("x"); }),
            "BPE needs unk_token among its pieces for unknown characters; got \"[UNK]\"");
}

TEST(UnigramModel, TakesTheMostLikelyPieces) {
  const std::string vocab = R"(["<unk>",0.0],["a",-1.0],["b",-1.5],["ab",-2.0],["abc",-9.0],
      ["c",-2.5],["▁",-3.0],["é",-2.0])";
  const auto json = [&](const std::string& more, const char* bytes) {
    return TokenizerJson{.pre_tokenizer = kBySpace,
                         .model = R"({"type":"Unigram","unk_id":0,"vocab":[)" + vocab + more +
                                  "],\"byte_fallback\":" + bytes + '}'};
  };
  EXPECT_EQ(pieces(json("", "false"), "abc aab xxaxy é"),
            "3@0[0,2) 5@0[2,3) 1@1[4,5) 3@1[5,7) 0@2[8,10) 1@2[10,11) 0@2[11,13) 7@3[14,16)");
  EXPECT_EQ(pieces(json(R"(,["<0xC3>",0.0],["<0xA0>",0.0])", "true"), "aàb à"),
            "1@0[0,1) 8@0[1,3) 9@0[1,3) 2@0[3,4) 8@1[5,7) 9@1[5,7)");
  EXPECT_EQ(pieces(json(R"(,["<0xC3>",0.0],["<0xA0>",0.0])", "true"), "aáb àá"),
            "1@0[0,1) 0@0[1,3) 2@0[3,4) 0@1[5,9)")
      << "unknown text stays whole unless all of its bytes are pieces";
}

TEST(UnigramModel, NeedsUnkIdOnlyForUnknownCharacters) {
  const Tokenizer tokenizer =
      TokenizerJson{.pre_tokenizer = kBySpace,
                    .model = R"({"type":"Unigram","unk_id":null,"vocab":[["a",-1.0],["ab",-1.5],
                        ["a",-9.0],["b",-1.0]]})"}
          .make();
  EXPECT_EQ(shown(tokenizer.encode("ab a")), "1@0[0,2) 2@1[3,4)") << "of equal pieces, the last";
  EXPECT_EQ(message_of<UsageError>([&] { tokenizer.encode("x"); }),
            "Unigram needs unk_id for unknown characters; got null");
}

TEST(WordLevelModel, TakesWholeWords) {
  EXPECT_EQ(pieces({.pre_tokenizer = kBySpace,
                    .model = R"({"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"é":2},
                        "unk_token":"[UNK]"})"},
                   "a bé é"),
            "1@0[0,1) 0@1[2,5) 2@2[6,8)");
  const Tokenizer without =
      TokenizerJson{.model = R"({"type":"WordLevel","vocab":{"a":1},"unk_token":"?"})"}.make();
  EXPECT_EQ(without.encode("a").ids, std::vector<std::uint32_t>{1});
  EXPECT_EQ(message_of<UsageError>([&] { without.encode("b"); }),
            "WordLevel needs unk_token among its pieces for unknown words; got \"?\"");
}

struct ModelCase {
  const char *model, *text, *expected;
};

// The reference tells models without a type by their keys.
constexpr ModelCase kModels[] = {
    {R"({"vocab":{"[UNK]":0,"a":1,"é":2},"unk_token":"[UNK]"})", "a bé é",
     "1@0[0,1) 0@1[2,5) 2@2[6,8)"},
    {R"({"unk_token":"?","continuing_subword_prefix":"##","max_input_chars_per_word":9,
        "vocab":{"?":0,"a":1,"##b":2}})",
     "ab b", "1@0[0,1) 2@0[1,2) 0@1[3,4)"},
    {R"({"dropout":null,"unk_token":null,"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})", "ab b",
     "2@0[0,2) 1@1[3,4)"},
    {R"({"unk_id":0,"vocab":[["?",0.0],["a",-1.0],["ab",-1.5],["b",-1.0]]})", "abx ba",
     "2@0[0,2) 0@0[2,3) 3@1[4,5) 1@1[5,6)"},
    // Two pieces may have the same id.
    {R"({"type":"WordPiece","unk_token":"?","continuing_subword_prefix":"##",
        "max_input_chars_per_word":9,"vocab":{"?":0,"a":1,"b":1}})",
     "a b c", "1@0[0,1) 1@1[2,3) 0@2[4,5)"},
    {R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":1,"ba":1},"merges":["a b"]})", "ab b ba",
     "1@0[0,2) 1@1[3,4) 1@2[5,6) 0@2[6,7)"},
};

TEST(TextModels, AreReadAsByTheReference) {
  for (const ModelCase& test : kModels) {
    EXPECT_EQ(pieces({.pre_tokenizer = kBySpace, .model = test.model}, test.text), test.expected)
        << test.model;
  }
}

const std::string kFewWords = R"({"type":"WordPiece","unk_token":"[UNK]",
    "continuing_subword_prefix":"##","max_input_chars_per_word":100,
    "vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"b":4,"[MASK]":5}})";

std::string added(int id, const std::string& content, const std::string& what,
                  const std::string& normalized) {
  std::string token = R"({"id":)" + std::to_string(id) + R"(,"content":")" + content + '"';
  for (const std::string flag : {"single_word", "lstrip", "rstrip"}) {
    token += ",\"" + flag + "\":" + (flag == what ? "true" : "false");
  }
  return token + R"(,"normalized":)" + normalized + R"(,"special":true})";
}

TEST(AddedTokensTest, AreFoundInTexts) {
  const TokenizerJson json = {.normalizer = R"({"type":"Lowercase"})",
                              .pre_tokenizer = kBertWords,
                              .model = kFewWords,
                              .added_tokens = '[' + added(5, "[MASK]", "lstrip", "false") + ',' +
                                              added(6, "<r>", "rstrip", "false") + ',' +
                                              added(7, "cat", "single_word", "false") + ',' +
                                              added(8, "Dog", "", "true") + ',' +
                                              added(9, "DogX", "", "false") + ']'};
  EXPECT_EQ(pieces(json, "a  [MASK] b<r> \u3000a"),
            "3@0[0,1) 5@1[1,9) 4@2[10,11) 6@3[11,18) 3@4[18,19)");
  EXPECT_EQ(pieces(json, "cat cats a cat"), "7@0[0,3) 0@1[4,8) 3@2[9,10) 7@3[11,14)");
  EXPECT_EQ(pieces(json, "DOG DogX dogx [MASK][MASK]"),
            "8@0[0,3) 9@1[4,8) 8@2[9,12) 0@3[12,13) 5@4[13,20) 5@5[20,26)");
  const Tokenizer tokenizer = json.make();
  EXPECT_EQ(tokenizer.size(), 10u);
  EXPECT_EQ(tokenizer.piece(9), "DogX");
  EXPECT_EQ(tokenizer.find("Dog"), 8u);
}

TEST(AddedTokensTest, MayBeEqual) {
  const TokenizerJson lower = {.normalizer = R"({"type":"Lowercase"})",
                               .pre_tokenizer = kBySpace,
                               .model = kFewWords,
                               .added_tokens = '[' + added(6, "COVID", "", "true") + ',' +
                                               added(7, "Covid", "", "true") + ']'};
  EXPECT_EQ(pieces(lower, "a Covid"), "3@0[0,1) 6@1[2,7)") << "the first one is found";
  EXPECT_EQ(lower.make().find("Covid"), 7u);
  const TokenizerJson twice = {.pre_tokenizer = kBySpace,
                               .model = kFewWords,
                               .added_tokens = '[' + added(6, "x", "", "true") + ',' +
                                               added(7, "y", "", "true") + ',' +
                                               added(6, "x", "rstrip", "true") + ']'};
  EXPECT_EQ(pieces(twice, "ax  ay"), "3@0[0,1) 6@1[1,4) 3@2[4,5) 7@3[5,6)") << "the last one";
}

// The reference finds such a token again in the white space that the one before has taken.
TEST(AddedTokensTest, OfWhiteSpaceMayOverlap) {
  const auto json = [](const char* flag, const char* normalized) {
    return TokenizerJson{.model = kFewWords,
                         .added_tokens = '[' + added(6, " ", flag, normalized) + ']'};
  };
  EXPECT_EQ(pieces(json("rstrip", "false"), "   a"), "6@0[0,3) 6@1[1,3) 6@2[2,3) 3@3[3,4)");
  EXPECT_EQ(pieces(json("lstrip", "true"), "   a"), "6@0[0,1) 6@1[1,2) 6@2[2,3) 3@3[3,4)");
  for (const char* normalized : {"false", "true"}) {
    const Tokenizer right = json("rstrip", normalized).make();
    EXPECT_EQ(right.encode(std::string(2000, ' ')).ids.size(), 2000u);
    EXPECT_EQ(message_of<UsageError>([&] { right.encode(std::string(4000, ' ')); }),
              "a tokenizer needs tokens that overlap by at most 4194304 bytes of a text; got more "
              "of \" \"");
    const Tokenizer left = json("lstrip", normalized).make();
    EXPECT_EQ(left.encode(std::string(100'000, ' ')).ids.size(), 100'000u);
  }
}

const std::string kByteWords = R"({"type":"BPE","vocab":{"<s>":0,"</s>":1,"a":2,"b":3,"Ġ":4,"Ġa":5,
    "ĠĠ":6,"<mask>":7},"merges":[["Ġ","a"],["Ġ","Ġ"]]})";

std::string byte_level(bool prefix) {
  return std::string(R"({"type":"ByteLevel","add_prefix_space":)") + (prefix ? "true" : "false") +
         R"(,"trim_offsets":true,"use_regex":true})";
}

std::string roberta(bool prefix) {
  return std::string(R"({"type":"RobertaProcessing","sep":["</s>",1],"cls":["<s>",0],
      "trim_offsets":true,"add_prefix_space":)") +
         (prefix ? "true}" : "false}");
}

TEST(PostProcessors, OfRobertaTrimPlaces) {
  const Tokenizer tokenizer =
      TokenizerJson{.pre_tokenizer = byte_level(false),
                    .post_processor = roberta(false),
                    .model = kByteWords,
                    .added_tokens = '[' + added(7, "<mask>", "lstrip", "false") + ']'}
          .make();
  EXPECT_EQ(shown(tokenizer.encode("a a  b <mask>")),
            "0:0 2@0[0,1) 5@1[2,3) 4@2[4,4) 4@3[5,5) 3@3[5,6) 7@4[7,13) 1:0");
  EXPECT_EQ(shown(tokenizer.encode("a", "b a")), "0:0 2@0[0,1) 1:0 1:0 3@0[0,1) 5@1[2,3) 1:0");
  const std::vector<std::string> words = {"a", "b a"};
  EXPECT_EQ(shown(tokenizer.encode(words)), "0:0 2@0[0,1) 3@1[0,1) 5@1[2,3) 1:0");
  EXPECT_EQ(shown(tokenizer.encode("a", {.special_tokens = false})), "2@0[0,1)");

  const Tokenizer with_prefix =
      TokenizerJson{
          .pre_tokenizer = byte_level(true), .post_processor = roberta(true), .model = kByteWords}
          .make();
  EXPECT_EQ(shown(with_prefix.encode("a a b")), "0:0 5@0[0,1) 5@1[2,3) 4@2[4,4) 3@2[4,5) 1:0");
  EXPECT_EQ(shown(with_prefix.encode(std::vector<std::string>{"a", "a"})),
            "0:0 5@0[0,1) 5@1[0,1) 1:0");
}

TEST(PostProcessors, OfBertMarkTheSecondText) {
  const Tokenizer tokenizer =
      TokenizerJson{
          .pre_tokenizer = kBertWords,
          .post_processor = R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]})",
          .model = kFewWords}
          .make();
  EXPECT_EQ(shown(tokenizer.encode("a")), "1:0 3@0[0,1) 2:0");
  EXPECT_EQ(shown(tokenizer.encode("a", "b b")), "1:0 3@0[0,1) 2:0 4@0[0,1):1 4@1[2,3):1 2:1");
  const EncodedText pair = tokenizer.encode("a", "b b", {.special_tokens = false});
  EXPECT_EQ(shown(pair), "3@0[0,1) 4@0[0,1):1 4@1[2,3):1");
  EXPECT_EQ(pair.sources[0].text, 0);
  EXPECT_EQ(pair.sources[2].text, 1);
}

TEST(PostProcessors, OfTemplatesChooseTheOrder) {
  const auto token = [](const std::string& name, int segment) {
    return R"({"SpecialToken":{"id":")" + name + R"(","type_id":)" + std::to_string(segment) + "}}";
  };
  const auto text = [](const std::string& name, int segment) {
    return R"({"Sequence":{"id":")" + name + R"(","type_id":)" + std::to_string(segment) + "}}";
  };
  const std::string tokens = R"({"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]},
      "[SEP]":{"id":"[SEP]","ids":[2,2],"tokens":["[SEP]","[SEP]"]}})";
  const Tokenizer tokenizer =
      TokenizerJson{.pre_tokenizer = kBertWords,
                    .post_processor = R"({"type":"TemplateProcessing","single":[)" +
                                      token("[CLS]", 0) + ',' + text("A", 0) + ',' +
                                      token("[SEP]", 0) + R"(],"pair":[)" + text("B", 1) + ',' +
                                      token("[SEP]", 1) + ',' + text("A", 0) +
                                      R"(],"special_tokens":)" + tokens + '}',
                    .model = kFewWords}
          .make();
  EXPECT_EQ(shown(tokenizer.encode("a")), "1:0 3@0[0,1) 2:0 2:0");
  EXPECT_EQ(shown(tokenizer.encode("a", "b b")), "4@0[0,1):1 4@1[2,3):1 2:1 2:1 3@0[0,1)");

  const Tokenizer several =
      TokenizerJson{.pre_tokenizer = byte_level(true),
                    .post_processor = R"({"type":"Sequence","processors":[)" + byte_level(true) +
                                      R"(,{"type":"TemplateProcessing","single":[)" +
                                      token("<s>", 0) + ',' + text("A", 0) +
                                      R"(],"pair":[],"special_tokens":{"<s>":{"id":"<s>",
                        "ids":[0],"tokens":["<s>"]}}}]})",
                    .model = kByteWords}
          .make();
  EXPECT_EQ(shown(several.encode("a  a b")), "0:0 5@0[0,1) 4@1[2,2) 5@2[3,4) 4@3[5,5) 3@3[5,6)");
}

TEST(PostProcessors, AreNotNeeded) {
  const Tokenizer tokenizer = TokenizerJson{.pre_tokenizer = kBertWords, .model = kFewWords}.make();
  EXPECT_EQ(shown(tokenizer.encode("a", "b b")), "3@0[0,1) 4@0[0,1):1 4@1[2,3):1");
}

}  // namespace
}  // namespace dynet_like::nn
