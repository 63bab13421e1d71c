// Encoders with their tokenizers: words, texts of any length, files.
#include "dynet_like/io/safetensors.h"
#include "tests/encoders/small_encoders.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/text/tokenizer_json.h"

namespace dynet_like::nn {
namespace {

using Words = std::vector<std::string>;

// Pieces: "a" 3, "b" 4, "c" 5, and "##x" 6 to "##z" 8, between [CLS] 1 and [SEP] 2.
std::string tokenizer_json(const std::string& more = "") {
  const std::string special = R"(,"single_word":false,"lstrip":false,"rstrip":false,
      "normalized":false,"special":true})";
  TokenizerJson json;
  json.pre_tokenizer = R"({"type":"WhitespaceSplit"})";
  json.post_processor = R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]})";
  json.added_tokens =
      R"([{"id":1,"content":"[CLS]")" + special + R"(,{"id":2,"content":"[SEP]")" + special + "]";
  json.model = R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
      "max_input_chars_per_word":100,"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"b":4,"c":5,
      "##x":6,"##y":7,"##z":8)" +
               more + "}}";
  return json.text();
}

class TextEncoderTest : public EncoderFolder {
 protected:
  void make_folder(const std::string& family = "bert", const std::string& more = "") {
    make(family);
    write_text("tokenizer.json", tokenizer_json(more));
  }
};

TEST_F(TextEncoderTest, WordsWithoutPiecesAreZeros) {
  make_folder();
  ParameterCollection model;
  const TextEncoder encoder = TextEncoder::load(model, path());
  ComputationGraph graph;
  EXPECT_EQ(as_vector(encoder.words(graph, Words{"", ""}).value()), std::vector<float>(16, 0.0f));
  EXPECT_EQ(message_of<UsageError>([&] { encoder.words(graph, Words()); }),
            "[TextEncoder] need at least 1 word; got 0");
}

// The pieces of all words, and the words that they belong to, if the text is not split at spaces.
struct WordsCase {
  Words words;
  Ids ids;
  std::vector<std::int32_t> word_of_piece;
};

const WordsCase kWordsCases[] = {
    {{"a", "b"}, {3, 7}, {0, 1}},
    {{"a", "", "b", ""}, {3, 7}, {0, 2}},
    {{"", " ", "a", "\u3000", "b"}, {3, 7}, {2, 4}},
    {{" a ", "\t b"}, {3, 7}, {0, 1}},
    {{"a  a", "b"}, {3, 5, 6, 7}, {0, 0, 0, 1}},
    {{"c", "c", "b"}, {8, 7}, {0, 2}},  // "c c" is a piece: it belongs to the first word
    {{"c", "", "c", "c c"}, {8, 9, 9}, {0, 3, 3}},
};

TEST_F(TextEncoderTest, FindsTheWordsOfPiecesOfBytes) {
  make("bert");
  const std::string byte_level =
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false})";
  TokenizerJson json;
  json.pre_tokenizer = byte_level;
  json.model = R"({"type":"BPE","vocab":{"<s>":0,"c":2,"a":3,"b":4,"Ġ":5,"Ġa":6,"Ġb":7,"cĠc":8,
      "Ġc":9},"merges":["Ġ a","Ġ b","Ġ c","c Ġc"]})";
  for (const bool trims : {false, true}) {
    json.post_processor = trims ? byte_level : "null";
    write_text("tokenizer.json", json.text());
    ParameterCollection model;
    const TextEncoder encoder = TextEncoder::load(model, path());
    for (const WordsCase& test : kWordsCases) {
      ComputationGraph graph;
      const auto count = static_cast<unsigned>(test.words.size());
      for (const Pooling pooling : {Pooling::first, Pooling::mean}) {
        const Expression expected =
            pool_words(encoder.encoder()(graph, test.ids), test.word_of_piece, count, pooling);
        EXPECT_EQ(as_vector(encoder.words(graph, test.words, pooling).value()),
                  as_vector(expected.value()))
            << ::testing::PrintToString(test.words) << trims;
      }
    }
  }
}

TEST_F(TextEncoderTest, SecondTextsHaveTheirTypes) {
  make_folder();
  ParameterCollection model;
  const TextEncoder encoder = TextEncoder::load(model, path());
  ComputationGraph graph;
  const EncodedText pair = encoder.tokenizer().encode("ax", "c");
  EXPECT_EQ(as_vector(encoder.pieces(graph, pair).value()),
            as_vector(encoder.encoder()(graph, {1, 3, 6, 2, 5, 2}, {0, 0, 0, 0, 1, 1}).value()));
}

// With 12 positions, a part has 10 pieces, and begins 5 behind the one before.
TEST_F(TextEncoderTest, LongTextsAreReadInParts) {
  make_folder();
  ParameterCollection model;
  const TextEncoder encoder = TextEncoder::load(model, path());
  ComputationGraph graph;
  const auto id_of = [](unsigned i) { return 3 + (i * i + i / 3) % 3; };
  for (unsigned count = 8; count <= 33; ++count) {
    Words words(count);
    for (unsigned i = 0; i < count; ++i) words[i] = std::string(1, "abc"[id_of(i) - 3]);
    const std::vector<float> found = as_vector(encoder.words(graph, words).value());
    ASSERT_EQ(found.size(), 8 * count);
    std::map<unsigned, std::vector<float>> parts;  // by their first piece
    // The part that gives a word: the first, unless a later one has more pieces in front of it.
    for (unsigned i = 0; i < count; ++i) {
      unsigned begin = 0;
      while (begin + 10 < count && begin + 7 <= i) begin += 5;
      std::vector<float>& part = parts[begin];
      if (part.empty()) {
        Ids ids = {1};
        for (unsigned j = begin; j < std::min(begin + 10, count); ++j) ids.push_back(id_of(j));
        ids.push_back(2);
        part = as_vector(encoder.encoder()(graph, ids).value());
      }
      const auto column = part.begin() + 8 * (i - begin + 1);
      EXPECT_EQ(std::vector<float>(found.begin() + 8 * i, found.begin() + 8 * (i + 1)),
                std::vector<float>(column, column + 8))
          << i << " of " << count;
    }
  }
}

// What is pooled part by part is what all pieces would be pooled to.
TEST_F(TextEncoderTest, PartsArePooledOneByOne) {
  make_folder();
  ParameterCollection model;
  const TextEncoder encoder = TextEncoder::load(model, path());
  const auto near = [](const Expression& found, const Expression& expected) {
    const std::vector<float> a = as_vector(found.value()), b = as_vector(expected.value());
    ASSERT_EQ(found.dim(), expected.dim());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << i;
  };
  for (unsigned count = 1; count <= 12; ++count) {
    SCOPED_TRACE(count);
    Words words;
    std::string text;
    std::vector<std::int32_t> word_of_piece = {-1};
    for (unsigned i = 0; i < count; ++i) {
      // Up to 8 pieces, so that some words are in two parts; every fifth has none.
      const unsigned pieces = i % 5 == 3 ? 0 : 1 + i * 5 % 8;
      std::string& word = words.emplace_back();
      for (unsigned k = 0; k < pieces; ++k) word += "abcxyz"[(k == 0 ? 0 : 3) + (i + k) % 3];
      word_of_piece.insert(word_of_piece.end(), pieces, static_cast<std::int32_t>(i));
      text += word + ' ';
    }
    word_of_piece.push_back(-1);
    ComputationGraph graph;
    const Expression pieces = encoder.pieces(graph, encoder.tokenizer().encode(text));
    ASSERT_EQ(pieces.dim().cols(), word_of_piece.size());
    for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::max, Pooling::mean_sqrt,
                                  Pooling::weighted_mean, Pooling::last}) {
      SCOPED_TRACE(static_cast<int>(pooling));
      near(encoder.words(graph, words, pooling), pool_words(pieces, word_of_piece, count, pooling));
      near(encoder.text(graph, text, pooling), pool_sentence(pieces, pooling));
    }
    near(encoder.text(graph, text), pool_sentence(pieces, Pooling::mean));
  }
}

// A text of five times the length needs as much memory, but for its results.
TEST_F(TextEncoderTest, MemoryDoesNotGrowWithATextsParts) {
  make_folder();
  ParameterCollection model;
  const TextEncoder encoder = TextEncoder::load(model, path());
  // Words of eight pieces, so that columns of words are few.
  const auto words_of = [](unsigned count) { return Words(count, "axyzxyzx"); };
  const auto text_of = [](unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += "axyzxyzx ";
    return text;
  };
  using Run = std::function<Expression(ComputationGraph&, unsigned)>;
  const std::vector<std::pair<const char*, Run>> runs = {
      {"text", [&](auto& graph, unsigned n) { return encoder.text(graph, text_of(n)); }},
      {"first",
       [&](auto& graph, unsigned n) { return encoder.text(graph, text_of(n), Pooling::first); }},
      {"words", [&](auto& graph, unsigned n) { return encoder.words(graph, words_of(n)); }},
      {"mean",
       [&](auto& graph, unsigned n) { return encoder.words(graph, words_of(n), Pooling::mean); }},
  };
  for (const auto& [name, run] : runs) {
    SCOPED_TRACE(name);
    const auto peak = [&, &run = run](unsigned words) {
      Minibatch batch({.inference = true, .memory_limit = 20000});
      ComputationGraph training;
      const std::vector<float> expected = as_vector(run(training, words).value());
      for_each_sample(batch, 3, [&](ComputationGraph& graph, std::size_t) {
        EXPECT_EQ(as_vector(run(graph, words).value()), expected);
      });
      return batch.explain().peak_bytes;
    };
    // Of a part of five pieces, at most four vectors, which take a cache line each. Their layers
    // take a hundred times as much.
    const std::uint64_t of_parts = 3 * (100 - 20) * 8 / 5 * 4 * 64;
    EXPECT_LT(peak(100), peak(20) + of_parts);
  }
}

TEST_F(TextEncoderTest, RefusesFilesThatDoNotFit) {
  make_folder("bert", R"(,"##w":11)");
  ParameterCollection model;
  EXPECT_EQ(message_of<FileError>([&] { TextEncoder::load(model, path()); }),
            path("tokenizer.json") +
                ": [TextEncoder] need ids below 11, the encoder's vocabulary; "
                "got 11");
  std::filesystem::remove(path("tokenizer.json"));
  EXPECT_THROW(TextEncoder::load(model, path()), FileError);
  Metadata texts = {{"encoder.config", "{}"}};
  EXPECT_EQ(message_of<FileError>([&] { TextEncoder(model, texts); }),
            "saved model: [TextEncoder] need the texts of an encoder; got none for "
            "encoder.tokenizer");
  EXPECT_FALSE(TextEncoder::is_in({}));
}

TEST_F(TextEncoderTest, RefusesPositionsThatAreNotEnough) {
  EncoderConfig config = small_config("bert");
  config.positions = 2;
  ParameterCollection model;
  Encoder(model, config).save(path());
  write_text("tokenizer.json", tokenizer_json());
  const TextEncoder encoder = TextEncoder::load(model, path());
  ComputationGraph graph;
  EXPECT_EQ(message_of<UsageError>([&] { encoder.text(graph, "a"); }),
            "[TextEncoder] need positions for more pieces than the 2 that the tokenizer adds; got "
            "2");
}

}  // namespace
}  // namespace dynet_like::nn
