// Sentence encoders: the modules behind an encoder, in folders, in saved models, and against
// Sentence Transformers; pooling of pieces, and mixtures of layers.
#include "nn/train/saved_model.h"
#include "tests/encoders/small_encoders.h"
#include "tests/encoders/torch_test.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/table.h"

namespace dynet_like::nn {
namespace {

using Floats = std::vector<float>;

const std::string kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nq\n:\n";

class SentenceTest : public EncoderFolder {
 protected:
  void SetUp() override {
    make();
    write_text("vocab.txt", kVocabulary);
  }
  // Adds a module with this config.json.
  void add(const std::string& type, const std::string& config) {
    const std::string folder = std::to_string(++count_) + '_' + type;
    list_ += R"(,{"idx":)" + std::to_string(count_) + R"(,"name":"x","path":")" + folder +
             R"(","type":"sentence_transformers.models.)" + type + "\"}";
    write_text(
        "modules.json",
        R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"})" +
            list_ + ']');
    write_text(folder + "/config.json", config);
  }
  void clear_modules() {
    list_.clear();
    count_ = 0;
    for (const char* const type : {"LSTM", "Pooling", "Normalize", "Dense"}) {
      std::filesystem::remove_all(path(std::string("1_") + type));
    }
  }
  void add_weights(const std::string& folder, const std::vector<FileTensor>& tensors) {
    write(tensors, folder + "/model.safetensors");
  }
  std::string error() {
    ParameterCollection model;
    const std::string message = message_of<FileError>([&] { TextEncoder::load(model, path()); });
    EXPECT_EQ(model.size(), 0u) << message;
    return message.substr(message.find(": ") + 2);
  }
  TextEncoder load() { return TextEncoder::load(model_, path()); }
  static Floats vector_of(const TextEncoder& encoder, const std::string& text) {
    ComputationGraph graph;
    return as_vector(encoder.text(graph, text).value());
  }

  ParameterCollection model_{7};

 private:
  unsigned count_ = 0;
  std::string list_;
};

std::string pooling(const std::string& flags) {
  return R"({"word_embedding_dimension":8)" + (flags.empty() ? "" : "," + flags) + '}';
}

FileTensor tensor(const std::string& name, const std::vector<std::uint64_t>& shape, float first) {
  std::size_t size = 1;
  for (const std::uint64_t each : shape) size *= each;
  Floats numbers(size);
  for (std::size_t i = 0; i < size; ++i) numbers[i] = first + 0.25f * static_cast<float>(i % 7);
  const auto bytes = std::as_bytes(std::span(numbers));
  return {name, "F32", shape, {bytes.begin(), bytes.end()}};
}

// The pooled vector of columns, in plain numbers.
Floats plain(const Tensor& columns, Pooling pooling) {
  const unsigned rows = columns.d.rows(), n = columns.d.cols();
  Floats result;
  for (unsigned row = 0; row < rows; ++row) {
    double sum = 0, weighted = 0, largest = -INFINITY;
    for (unsigned i = 0; i < n; ++i) {
      const double x = columns.at(i * rows + row);
      sum += x;
      weighted += (i + 1) * x;
      largest = std::max(largest, x);
    }
    const double value = pooling == Pooling::first       ? columns.at(row)
                         : pooling == Pooling::last      ? columns.at((n - 1) * rows + row)
                         : pooling == Pooling::max       ? largest
                         : pooling == Pooling::mean      ? sum / n
                         : pooling == Pooling::mean_sqrt ? sum / std::sqrt(n)
                                                         : weighted / (n * (n + 1) / 2.0);
    result.push_back(static_cast<float>(value));
  }
  return result;
}

void expect_close(const Floats& got, const Floats& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
}

// What a config lists, and its poolings in their order: "cls" is the first piece and so on.
class SentencePoolingTest : public SentenceTest,
                            public ::testing::WithParamInterface<std::vector<std::string>> {};

INSTANTIATE_TEST_SUITE_P(Poolings, SentencePoolingTest, ::testing::ValuesIn(rows_of(R"(
Cls | "word_embedding_dimension":8,"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false | cls
Mean | "word_embedding_dimension":8,"pooling_mode_mean_tokens":true | mean
None | "word_embedding_dimension":8 | mean
Max | "word_embedding_dimension":8,"pooling_mode_max_tokens":true | max
MeanSqrt | "word_embedding_dimension":8,"pooling_mode_mean_sqrt_len_tokens":true | mean_sqrt
Weighted | "word_embedding_dimension":8,"pooling_mode_weightedmean_tokens":true | weighted
Last | "word_embedding_dimension":8,"pooling_mode_lasttoken":true,"include_prompt":false | last
TwoInTheirOrder | "word_embedding_dimension":8,"pooling_mode_mean_tokens":true,
   "pooling_mode_cls_token":true | cls | mean
ModeOfOne | "embedding_dimension":8,"pooling_mode":"lasttoken" | last
ModesOfAll | "embedding_dimension":8,"pooling_mode":["mean","cls","lasttoken","max","weightedmean",
   "mean_sqrt_len_tokens"] | mean | cls | last | max | weighted | mean_sqrt
)")),
                         [](const auto& info) { return info.param[0]; });

TEST_P(SentencePoolingTest, IsTheFormula) {
  const std::map<std::string, Pooling> names = {
      {"cls", Pooling::first}, {"last", Pooling::last},
      {"max", Pooling::max},   {"mean_sqrt", Pooling::mean_sqrt},
      {"mean", Pooling::mean}, {"weighted", Pooling::weighted_mean}};
  std::vector<Pooling> poolings;
  for (std::size_t i = 2; i < GetParam().size(); ++i) poolings.push_back(names.at(GetParam()[i]));
  add("Pooling", '{' + GetParam()[1] + '}');
  const TextEncoder encoder = load();
  EXPECT_EQ(encoder.text_size(), 8 * poolings.size());
  for (const std::string text : {"a b c", "b", "c c c a"}) {
    ComputationGraph graph;
    const Tensor columns = encoder.pieces(graph, encoder.tokenizer().encode(text)).value();
    Floats expected;
    for (const Pooling each : poolings) {
      const Floats own = plain(columns, each);
      expected.insert(expected.end(), own.begin(), own.end());
      expect_close(as_vector(encoder.text(graph, text, each).value()), own);
    }
    expect_close(vector_of(encoder, text), expected);
  }
  // Saved in a folder and in a model.
  encoder.save(path("copy"));
  ParameterCollection copied, kept;
  const TextEncoder copy = TextEncoder::load(copied, path("copy"));
  EXPECT_EQ(vector_of(copy, "a b"), vector_of(encoder, "a b"));
  EXPECT_EQ(copy.texts(), encoder.texts());
  save_parameters(path("kept.safetensors"), model_, encoder.texts());
  const SavedModel saved(path("kept.safetensors"));
  EXPECT_TRUE(TextEncoder::is_in(saved.metadata()));
  const TextEncoder again(kept, saved.metadata());
  saved.load(kept);
  EXPECT_EQ(vector_of(again, "a b"), vector_of(encoder, "a b"));
}

TEST_F(SentenceTest, WithoutModulesItIsTheMean) {
  const TextEncoder encoder = load();
  ComputationGraph graph;
  EXPECT_EQ(vector_of(encoder, "a b"),
            as_vector(encoder.text(graph, "a b", Pooling::mean).value()));
  encoder.save(path("copy"));
  EXPECT_FALSE(std::filesystem::exists(path("copy/modules.json")));
}

TEST_F(SentenceTest, LayersNormsAndLengths) {
  add("Pooling", pooling(""));
  add("Dense", R"({"in_features":8,"out_features":3,"bias":true,
      "activation_function":"torch.nn.modules.activation.Tanh"})");
  add("LayerNorm", R"({"dimension":3})");
  add("Dense", R"({"in_features":3,"out_features":2,"bias":false,
      "activation_function":"torch.nn.modules.linear.Identity"})");
  add("Normalize", "{}");
  add_weights("2_Dense", {tensor("linear.weight", {3, 8}, -0.5), tensor("linear.bias", {3}, 0.1f)});
  add_weights("3_LayerNorm", {tensor("norm.weight", {3}, 1), tensor("norm.bias", {3}, 0.5)});
  add_weights("4_Dense", {tensor("linear.weight", {2, 3}, 0.2f)});
  const TextEncoder encoder = load();
  ASSERT_EQ(encoder.text_size(), 2u);
  ComputationGraph graph;
  const Tensor pooled = encoder.text(graph, "a b c", Pooling::mean).value();
  const auto w = [](float first, unsigned i) { return first + 0.25f * static_cast<float>(i % 7); };
  std::vector<double> x(3), y(2);
  double mean = 0, variance = 0;
  for (unsigned i = 0; i < 3; ++i) {
    x[i] = w(0.1f, i);
    for (unsigned j = 0; j < 8; ++j) x[i] += static_cast<double>(w(-0.5, 8 * i + j)) * pooled.at(j);
    x[i] = std::tanh(x[i]);
    mean += x[i] / 3;
  }
  for (const double each : x) variance += (each - mean) * (each - mean) / 3;
  for (unsigned i = 0; i < 3; ++i) {
    x[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * w(1, i) + w(0.5, i);
  }
  for (unsigned i = 0; i < 2; ++i) {
    for (unsigned j = 0; j < 3; ++j) y[i] += w(0.2f, 3 * i + j) * x[j];
  }
  const double length = std::hypot(y[0], y[1]);
  expect_close(vector_of(encoder, "a b c"),
               {static_cast<float>(y[0] / length), static_cast<float>(y[1] / length)});
  // Its parameters are trained, in batches of the same bits.
  EXPECT_NO_THROW(model_.find("/sentence/dense_2/W"));
  EXPECT_NO_THROW(model_.find("/sentence/norm_3/g"));
  expect_same_bits_in_batches(model_, 5, [&](ComputationGraph& own, unsigned sample) {
    return squared_norm(sin(encoder.text(own, std::string("a b c a b").substr(0, 2 * sample + 1))));
  });
  encoder.save(path("copy"));
  ParameterCollection other;
  EXPECT_EQ(vector_of(TextEncoder::load(other, path("copy")), "a b"), vector_of(encoder, "a b"));
}

TEST_F(SentenceTest, AFolderOfItsOwnForTheEncoder) {
  const TextEncoder expected = load();
  std::filesystem::create_directory(path("0_Transformer"));
  for (const char* const file : {"config.json", "model.safetensors", "vocab.txt"}) {
    std::filesystem::rename(path(file), path(std::string("0_Transformer/") + file));
  }
  write_text(
      "modules.json",
      R"([{"idx":0,"name":"0","path":"0_Transformer","type":"sentence_transformers.models.Transformer"}])");
  ParameterCollection other;
  EXPECT_EQ(vector_of(TextEncoder::load(other, path()), "a b"), vector_of(expected, "a b"));
}

TEST_F(SentenceTest, PromptsStandInFront) {
  add("Pooling", pooling(""));
  write_text("config_sentence_transformers.json",
             R"({"prompts":{"query":"q: ","other":"c"},"default_prompt_name":"query"})");
  const TextEncoder encoder = load();
  ComputationGraph graph;
  EXPECT_EQ(vector_of(encoder, "a b"),
            as_vector(encoder.text(graph, "q: a b", Pooling::mean).value()));
  encoder.save(path("copy"));
  ParameterCollection other;
  EXPECT_EQ(vector_of(TextEncoder::load(other, path("copy")), "a b"), vector_of(encoder, "a b"));
}

TEST_F(SentenceTest, WhatIsRefused) {
  // A type, a config, and the message.
  for (const auto& row : rows_of(R"(
LSTM | {}
    | [1].type: need a module Pooling, Dense, LayerNorm or Normalize behind a Transformer; got
    "sentence_transformers.models.LSTM"
Pooling | {"word_embedding_dimension":9}
    | [SentenceConfig] need one pooling, which comes first, and modules that fit: a pooling from 8 to 9; got 9 to 9
Pooling | {"word_embedding_dimension":8,"pooling_mode_median":true} | ["pooling_mode_median"]: this key is not supported
Pooling | {"embedding_dimension":8,"pooling_mode":"median"}
    | pooling_mode: need one of cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken; got "median"
Pooling | {} | need the key "word_embedding_dimension"
Normalize | {}
    | [SentenceConfig] need one pooling, which comes first, and modules that fit: a module from 8 to 0; got 0 to 0
Dense | {"in_features":8,"out_features":2,"activation_function":"torch.nn.Softmax"}
    | activation_function: need Identity, Tanh, ReLU, GELU, SiLU or Sigmoid of torch.nn; got "torch.nn.Softmax"
Dense | {"in_features":8,"out_features":2,"use_residual":true} | use_residual: need false; got "true"
Dense | {"in_features":8,"out_features":2} | [TextEncoder] need this file; got none
)")) {
    SCOPED_TRACE(row[1]);
    clear_modules();
    add(row[0], row[1]);
    EXPECT_EQ(error(), row[2]);
  }
}

// Sizes of a hostile file: nothing is allocated for them.
TEST_F(SentenceTest, WeightsThatDoNotFit) {
  add("Pooling", pooling(""));
  add("Dense", R"({"in_features":8,"out_features":4294967295})");
  add_weights("2_Dense", {tensor("linear.weight", {2, 8}, 0), tensor("linear.bias", {2}, 0)});
  EXPECT_EQ(error(),
            "[TextEncoder] need linear.weight with the shape [4294967295, 8]; got F32 [2, 8]");
  for (const std::string outside : {"../x", "/x", "a/b", "..", ".x"}) {
    write_text("modules.json", R"([{"path":")" + outside +
                                   R"(","type":"sentence_transformers.models.Transformer"}])");
    EXPECT_EQ(error(), "[0].path: need a folder in this one; got \"" + outside + '"');
  }
  write_text("modules.json", R"([{"path":"","type":"my_model.Transformer"}])");
  EXPECT_EQ(
      error(),
      "[0].type: need a class of sentence_transformers, since others are programs of their own; "
      "got \"my_model.Transformer\"");
}

class SentenceReferenceTest : public TorchTest {
 protected:
  SentenceReferenceTest() : TorchTest("torch, transformers, sentence_transformers") {}
};

TEST_F(SentenceReferenceTest, VectorsAreThoseOfSentenceTransformers) {
  const std::string dense = R"(["Dense", {"in_features": 8, "out_features": 5, "bias": true,
      "activation_function": "torch.nn.modules.activation.GELU"},
      {"linear.weight": [5, 8], "linear.bias": [5]}])";
  const auto pool = [](const std::string& modes) {
    return R"(["Pooling", {"embedding_dimension": 8, "pooling_mode": )" + modes + "}, {}]";
  };
  std::vector<std::pair<std::string, std::string>> modules;
  for (const std::string mode :
       {"cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"}) {
    modules.emplace_back(mode, pool('"' + mode + '"'));
  }
  modules.emplace_back("joined", pool(R"(["lasttoken", "cls", "weightedmean"])"));
  modules.emplace_back("flags", R"(["Pooling", {"word_embedding_dimension": 8,
      "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true}, {}])");
  modules.emplace_back("dense", pool("\"mean\"") + ", " + dense + R"(, ["Normalize", {}, {}])");
  modules.emplace_back(
      "norm", pool("\"cls\"") +
                  R"(, ["LayerNorm", {"dimension": 8}, {"norm.weight": [8], "norm.bias": [8]}])");
  std::ofstream lines(path("configs"));
  std::string names;
  for (auto& [name, list] : modules) {
    std::erase(list, '\n');
    const std::string settings =
        name == "dense"  ? R"({"config_sentence_transformers.json": {"prompts": {"x": "query: "},
            "default_prompt_name": "x"}})"
        : name == "norm" ? R"({"tokenizer_config.json": {"do_lower_case": false}})"
                         : "{}";
    std::string line = R"({"name": ")" + name + R"(", "settings": )" + settings +
                       R"(, "modules": [)" + list + "]}";
    std::erase(line, '\n');
    lines << line << '\n';
    names += ' ' + name;
  }
  lines.close();
  run_script("sentence_reference.py", "make configs");
  const std::vector<std::string> texts = {"a", "A cat sat", "the cats sat on the mat the cat", "",
                                          "cat cat cat cat cat cat cat "};
  for (const auto& [name, list] : modules) {
    SCOPED_TRACE(name);
    ParameterCollection model;
    const TextEncoder encoder = TextEncoder::load(model, path(name));
    const auto expected = SafetensorsFile::read(path(name + ".safetensors"));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ComputationGraph graph({.inference = true});
      EXPECT_LT(difference(as_vector(encoder.text(graph, texts[i]).value()),
                           floats(expected, std::to_string(i))),
                1e-5)
          << texts[i];
    }
    encoder.save(path(name + "-saved"));
  }
  run_script("sentence_reference.py", "check" + names);
}

using WordsOfPieces = std::vector<std::int32_t>;

class PoolingTest : public ::testing::Test {
 protected:
  ComputationGraph graph_;
  const Expression pieces_ = input(graph_, {2, 5}, {1, 10, 2, 20, 4, 40, 8, 80, 16, 160});

  Floats pooled(const WordsOfPieces& words, unsigned count, Pooling pooling) {
    return as_vector(pool_words(pieces_, words, count, pooling).value());
  }
};

TEST_F(PoolingTest, OfWords) {
  const WordsOfPieces words = {-1, 0, 0, 1, -1};
  EXPECT_EQ(pooled(words, 2, Pooling::first), (Floats{2, 20, 8, 80}));
  EXPECT_EQ(pooled(words, 2, Pooling::mean), (Floats{3, 30, 8, 80}));
  // WordsOfPieces without pieces.
  EXPECT_EQ(pooled({-1, 1, 1, -1, 3}, 5, Pooling::first),
            (Floats{0, 0, 2, 20, 0, 0, 16, 160, 0, 0}));
  EXPECT_EQ(pooled({-1, 1, 1, -1, 3}, 4, Pooling::mean), (Floats{0, 0, 3, 30, 0, 0, 16, 160}));
  EXPECT_EQ(pooled({-1, -1, -1, -1, -1}, 1, Pooling::mean), (Floats{0, 0}));
}

TEST_F(PoolingTest, RefusesWordsThatDoNotFit) {
  const auto message = [&](const WordsOfPieces& words, unsigned count) {
    return message_of<UsageError>([&] { pool_words(pieces_, words, count); });
  };
  EXPECT_EQ(message({0, 1}, 2),
            "[pool_words] need the word of each of 5 pieces, and at least 1 word; got 2 and 2");
  EXPECT_EQ(message({0, 0, 0, 0, 0}, 0),
            "[pool_words] need the word of each of 5 pieces, and at least 1 word; got 5 and 0");
  EXPECT_EQ(message({0, 1, 2, 2, -1}, 2),
            "[pool_words] need numbers of words that do not decrease, below 2; got 2 after 1");
  EXPECT_EQ(message({0, 1, 0, 1, 1}, 2),
            "[pool_words] need numbers of words that do not decrease, below 2; got 0 after 1");
}

TEST(ScalarMixTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const ScalarMix mix(model, 3);
  const LookupParameter table = model.add_lookup_parameters(9, {2});
  ComputationGraph graph(double_options());
  const auto layers = [&] {
    std::vector<Expression> all;
    for (unsigned k = 0; k < 3; ++k) {
      all.push_back(reshape(lookup(graph, table, {3 * k, 3 * k + 1, 3 * k + 2}), {2, 3}));
    }
    return all;
  };
  expect_near(mix(layers()).value(), as_doubles(average(layers()).value()));
  graph.clear();
  randomise(model, 3);
  const Doubles scores = numbers(model, "/scalar_mix/s"),
                gamma = numbers(model, "/scalar_mix/gamma");
  double total = 0;
  for (const double score : scores) total += std::exp(score);
  Doubles expected(6, 0);
  for (unsigned k = 0; k < 3; ++k) {
    for (unsigned i = 0; i < 6; ++i) {
      expected[i] += gamma[0] * std::exp(scores[k]) / total * row(table, 3 * k + i / 2)[i % 2];
    }
  }
  expect_near(mix(layers()).value(), expected);
  EXPECT_EQ(message_of<UsageError>([&] { mix(std::vector<Expression>(2)); }),
            "[ScalarMix] need 3 layers; got 2");
}

}  // namespace
}  // namespace dynet_like::nn
