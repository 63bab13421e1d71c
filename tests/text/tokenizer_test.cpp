// The interface of tokenizers: files, errors with their keys, wrong text, threads.
#include <thread>

#include "tests/support/file_errors.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/table.h"
#include "tests/text/tokenizer_json.h"

namespace dynet_like::nn {
namespace {

TEST(TokenizerTest, ReadsFiles) {
  const std::string path = ::testing::TempDir() + "/tokenizer.json";
  std::ofstream(path) << TokenizerJson().text();
  const Tokenizer tokenizer = Tokenizer::load(path);
  EXPECT_EQ(tokenizer.encode("ab").ids, (std::vector<std::uint32_t>{'a', 'b'}));
  EXPECT_EQ(tokenizer.size(), 256u);
  EXPECT_EQ(tokenizer.piece(10), "<0x0A>");
  EXPECT_EQ(tokenizer.find("<0x0A>"), 10u);
  EXPECT_EQ(tokenizer.find("a"), std::nullopt);
  EXPECT_EQ(message_of<UsageError>([&] { tokenizer.piece(256); }),
            "need the id of a piece, below 256; got 256");
  EXPECT_THROW(Tokenizer::load(path + ".none"), FileError);
}

TEST(TokenizerTest, IgnoresTruncationAndPadding) {
  std::string text = TokenizerJson().text();
  text.replace(text.find("null"), 4, R"({"max_length":1,"strategy":"LongestFirst","stride":0})");
  text.replace(text.find("null"), 4, R"({"strategy":{"Fixed":8},"pad_id":0})");
  EXPECT_EQ(Tokenizer::from_text(text).encode("abc").ids.size(), 3u);
}

TEST(TokenizerTest, NamesTheFirstByteThatIsNotUtf8) {
  const Tokenizer tokenizer = TokenizerJson().make();
  const std::pair<std::string, int> cases[] = {{"a\xFF", 1},          {"\xC3", 0},
                                               {"é\xE2\x82", 2},      {"\xC0\x80", 0},
                                               {"ab\xED\xA0\x80", 2}, {"\xF4\x90\x80\x80", 0},
                                               {"日\x80", 3}};
  for (const auto& test : cases) {
    const std::string& text = test.first;
    const std::string expected = "a tokenizer needs text in UTF-8; got another byte at " +
                                 std::to_string(test.second) + ", from 0";
    EXPECT_EQ(message_of<UsageError>([&] { tokenizer.encode(text); }), expected);
    EXPECT_EQ(message_of<UsageError>([&] { tokenizer.encode("a", text); }), expected);
    const std::vector<std::string> words = {"a", text};
    EXPECT_EQ(message_of<UsageError>([&] { tokenizer.encode(words); }), expected);
  }
  EXPECT_EQ(tokenizer.encode(std::string_view("\0", 1)).ids, std::vector<std::uint32_t>{0});
}

TEST(TokenizerTest, ServesSeveralThreads) {
  const Tokenizer tokenizer =
      TokenizerJson{.normalizer = R"({"type":"NFC"})",
                    .pre_tokenizer = R"({"type":"Split","pattern":{"Regex":"\\s+"},
                        "behavior":"Isolated","invert":false})"}
          .make();
  const std::string expected = shown(tokenizer.encode("e\u0301 a  ß"));
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) count += shown(tokenizer.encode("e\u0301 a  ß")) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

struct Fault {
  TokenizerJson json;
  const char* message;
};

const std::string kWords = R"({"type":"WordPiece","unk_token":"?","continuing_subword_prefix":"##",
    "max_input_chars_per_word":9,"vocab":{"?":0}})";

std::string token(const char* id, const char* content) {
  return std::string(R"({"id":)") + id + R"(,"content":")" + content + R"(","single_word":false,
      "lstrip":false,"rstrip":false,"normalized":true,"special":false})";
}

std::string repeated(int times, const std::string& item) {
  std::string items = item;
  for (int i = 1; i < times; ++i) items += ',' + item;
  return items;
}

TEST(TokenizerTest, NamesTheKeyOfAFault) {
  // A component, its JSON, and the message.
  for (const auto& row : rows_of(R"T(
normalizer | {"type":"Magic"} | test.json: normalizer.type: need a component that is supported, one of BertNormalizer
normalizer | {"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"X"}]}
    | normalizer.normalizers[1].type: need a component
normalizer | {"type":"NFC","depth":1}
    | normalizer: the option "depth" is not supported; remove it if the model does not need it
normalizer | {"type":"Strip","strip_left":1,"strip_right":true} | normalizer.strip_left: need true or false; got "1"
normalizer | {"type":"Precompiled","precompiled_charsmap":"AA*A"}
    | normalizer.precompiled_charsmap: a charsmap needs base64; got "*"
normalizer | {"type":"Precompiled","precompiled_charsmap":"/////w=="}
    | a charsmap needs the bytes of its trie in front, within 4 bytes; got 4294967295
pre_tokenizer | {"type":"Split","pattern":{"String":"a"},"behavior":"Gone","invert":false}
    | pre_tokenizer.behavior: need one of Removed, Isolated, MergedWithPrevious
pre_tokenizer | {"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated","invert":false}
    | pre_tokenizer.pattern.Regex: a regular expression needs the syntax
pre_tokenizer | {"type":"FixedLength","length":0} | pre_tokenizer.length: need a length from 1
pre_tokenizer | {"type":"CharDelimiterSplit","delimiter":""} | pre_tokenizer.delimiter: need one character
pre_tokenizer | {"type":"Metaspace","replacement":"ab"} | pre_tokenizer.replacement: need one character
pre_tokenizer | {"type":"Metaspace","replacement":"_","add_prefix_space":false,"prepend_scheme":"first"}
    | pre_tokenizer.prepend_scheme: need never
post_processor | {"type":"BertProcessing","sep":["?",0],"cls":["x",300]} | post_processor: need ids below 256; got 300
post_processor | {"type":"BertProcessing","sep":["?"],"cls":["?",0]} | post_processor.sep: need a token and its id
post_processor
    | {"type":"TemplateProcessing","single":[{"Sequence":{"id":"B","type_id":0}}],"pair":[],"special_tokens":{}}
    | post_processor.single[0].Sequence: need the text A
post_processor
    | {"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}],"pair":[],"special_tokens":{}}
    | post_processor.special_tokens: need the key "x"
model | {"type":"Magic"} | model.type: need a component that is supported
model | {"type":"WordLevel","vocab":{"a":0}} | model: need the key "unk_token"
model | {"vocab":{"a":0}} | model: need the key "unk_token"
decoder | {"type":"Magic"} | decoder.type: need a component that is supported
decoder | {"type":"Strip","content":"","start":0,"stop":0} | decoder.content: need one character
decoder | {"type":"Sequence","decoders":[{"type":"CTC"}]} | decoder.decoders[0]: need the key
model | {"type":"BPE","vocab":{"a":0},"merges":["a b"]} | model.merges: BPE needs merges of pieces that it has; got "b"
model | {"type":"BPE","vocab":{"a":0},"merges":["a b c"]} | model.merges[0]: need two pieces, with one space between
model | {"type":"BPE","vocab":{"a":0},"merges":[],"dropout":0.1} | model.dropout: need null
model | {"type":"BPE","vocab":{"a":99999999},"merges":[]}
    | model.vocab["a"]: pieces need ids below 16777216; got 99999999
model | {"type":"BPE","vocab":{"a":-1},"merges":[]} | need a whole number from 0
model | {"type":"Unigram","unk_id":1,"vocab":[["a",0.0]]} | model: Unigram needs unk_id below 1; got 1
model | {"type":"Unigram","unk_id":0,"vocab":[["a"]]} | model.vocab[0]: need a piece and its log-probability
model
    | {"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":9,"vocab":{}}
    | model: WordPiece needs unk_token among its pieces; got "[UNK]"
model | { | test.json: need JSON
)T")) {
    const std::string rest =
        row[0] == "model" ? "}" : ",\"model\":" + TokenizerJson::byte_model() + '}';
    const auto make = [&] {
      Tokenizer::from_text("{\"" + row[0] + "\":" + row[1] + rest, "test.json");
    };
    expect_file_error(make, 0, 0, row[2]);
  }
  const Fault faults[] = {
      {{.model = kWords, .added_tokens = '[' + token("7", "x") + ']'},
       R"(added_tokens[0].id: need the id 1 of "x", the next one; got "7")"},
      {{.model = kWords, .added_tokens = '[' + token("7", "?") + ']'},
       R"(need the id 0 of "?", as in the model; got "7")"},
      {{.normalizer = R"({"type":"Strip","strip_left":true,"strip_right":true})",
        .model = kWords,
        .added_tokens = '[' + token("1", " ") + ']'},
       R"(added_tokens: need added tokens that the normalizer leaves something of; got " ")"},
      {{.model =
            R"({"type":"Unigram","unk_id":0,"vocab":[[")" + std::string(1025, 'a') + R"(",0.0]]})"},
       "model: need pieces of at most 1024 bytes; got \"aaa"},
      {{.model = kWords, .added_tokens = '[' + token("1", std::string(1025, 'a').c_str()) + ']'},
       "added_tokens: need pieces of at most 1024 bytes; got \"aaa"},
      {{.normalizer = R"({"type":"Replace","content":"","pattern":{"String":")" +
                      std::string(1001, 'a') + "\"}}"},
       "normalizer.pattern.String: need at most 1000 bytes; got 1001"},
      {{.decoder = R"({"type":"BPEDecoder","suffix":")" + std::string(1001, 'a') + "\"}"},
       "decoder.suffix: need at most 1000 bytes; got 1001"},
      {{.normalizer =
            R"({"type":"Sequence","normalizers":[)" + repeated(2500, R"({"type":"NFC"})") + "]}"},
       "normalizer: need at most 5000 values; got 5003"},
      {{.post_processor =
            R"({"type":"TemplateProcessing","special_tokens":{},"pair":[],"single":[)" +
            repeated(9, R"({"Sequence":{"id":"A","type_id":0}})") + "]}"},
       "post_processor.single: need at most 8 texts in a template; got more"}};
  for (const Fault& fault : faults) {
    expect_file_error([&] { fault.json.make(); }, 0, 0, fault.message);
  }
  expect_file_error([] { Tokenizer::from_text("[]", "list.json"); }, 0, 0,
                    "list.json: need an object; got another kind of value");
  expect_file_error([] { Tokenizer::from_text(R"({"version":"2.0","model":{}})"); }, 0, 0,
                    "version: need one of 1.0; got");
  expect_file_error([] { Tokenizer::from_text(R"({"extra":1,"model":{}})"); }, 0, 0,
                    "the option \"extra\"");
  const std::string other =
      "need a tokenizer of Hugging Face's library, with the key \"model\"; got ";
  expect_file_error([] { Tokenizer::from_text(R"({"char2idx":{}})"); }, 0, 0, other + "other keys");
  for (const char* keras : {R"({"class_name":"Tokenizer","config":{}})",
                            R"("{\"class_name\": \"Tokenizer\", \"config\": {}}")"}) {
    expect_file_error([&] { Tokenizer::from_text(keras); }, 0, 0,
                      other + "one of Keras, which is a list of words");
  }
  expect_file_error([] { Tokenizer::from_text(std::string(99, '[')); }, 0, 0,
                    "need at most 16 levels of JSON");
}

}  // namespace
}  // namespace dynet_like::nn
