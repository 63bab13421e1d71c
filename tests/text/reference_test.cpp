// The same pieces, places, words and decoded texts as Hugging Face's library, for tokenizers that
// are configured as published ones, and one that is published, on texts of many languages and
// random strings.
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "dynet_like/core/text.h"
#include "nn/text/regex.h"
#include "tests/support/precompiled.h"
#include "tests/support/python.h"
#include "tests/support/slow_build.h"
#include "tests/text/with_bars.h"

namespace dynet_like::nn {
namespace {

namespace fs = std::filesystem;

enum class Input { texts, pairs, words };
constexpr const char* kInputs[] = {"texts", "pairs", "words"};

constexpr const char* kFamilies[] = {"bert",       "bert_cased",  "roberta",
                                     "modernbert", "xlm_roberta", "xlm_roberta_old",
                                     "deberta_v3", "cl100k",      "llama"};

/// The number of the character of each byte of a text, and of its end.
std::vector<std::size_t> character_numbers(std::string_view text) {
  std::vector<std::size_t> numbers;
  for (std::size_t number = 0, at = 0; at < text.size(); ++number) {
    const std::size_t bytes = detail::first_character(text.substr(at)).bytes;
    numbers.insert(numbers.end(), bytes, number);
    at += bytes;
  }
  numbers.push_back(numbers.empty() ? 0 : numbers.back() + 1);
  return numbers;
}

/// As reference.py writes them. A text is a list of words, or one that is all of it.
std::string shown(const EncodedText& encoded, std::span<const std::vector<std::string>> texts) {
  std::string result;
  std::string_view last;
  std::vector<std::size_t> numbers = {0};
  for (std::size_t i = 0; i < encoded.ids.size(); ++i) {
    const PieceSource& source = encoded.sources[i];
    if (source.text >= 0) {
      const std::vector<std::string>& words = texts[static_cast<std::size_t>(source.text)];
      const std::string& word =
          words.size() == 1 ? words[0] : words[static_cast<std::size_t>(source.word)];
      if (word.data() != last.data()) numbers = character_numbers(word);
      last = word;
    }
    const std::size_t begin = source.text < 0 ? 0 : numbers[source.begin];
    const std::size_t end = source.text < 0 ? 0 : numbers[source.end];
    for (const auto number : {std::int64_t{encoded.ids[i]}, std::int64_t{encoded.segments[i]},
                              std::int64_t{source.text}, std::int64_t{source.word},
                              static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)}) {
      result += std::to_string(number) + ',';
    }
    result.back() = ' ';
  }
  if (!result.empty()) result.pop_back();
  return result;
}

class ReferenceTest : public PythonTest {
 protected:
  void SetUp() override {
    if (!imports("tokenizers, sentencepiece")) {
      GTEST_SKIP() << "needs Python with tokenizers and sentencepiece, which "
                      "scripts/python_env.sh installs";
    }
  }

  // DYNET_LIKE_THOROUGH: a million texts, and 100,000 random strings.
  void write_texts() {
    script("texts.py", is_thorough() ? "messages 1000000 0" : "messages 2000 0");
    script("texts.py", is_thorough() ? "random 0 100000" : "random 0 1000");
  }

  static std::string source(const std::string& name) {
    const char* root = std::getenv("DYNET_LIKE_SOURCE_DIR");
    return (fs::path(root != nullptr ? root : ".") / name).string();
  }

  /// Runs a script beside this file.
  void script(const std::string& name, const std::string& arguments) {
    const std::string folder = source("tests/text/");
    run("import runpy, sys\nsys.path.insert(0, '" + folder + "')\nsys.argv = ['" + name + "'] + '" +
        arguments + "'.split()\nrunpy.run_path('" + folder + name + "', run_name='__main__')");
  }

  std::vector<std::string> read_texts(const std::string& name) const {
    std::vector<std::string> texts;
    std::ifstream stream(path(name));
    for (std::string line; std::getline(stream, line);) {
      texts.push_back(nlohmann::json::parse(line).get<std::string>());
    }
    return texts;
  }

  void compare_all(const std::string& path_of_tokenizer) {
    const Tokenizer tokenizer = Tokenizer::load(path_of_tokenizer);
    script("reference.py", path_of_tokenizer + " messages random");
    for (const char* file : {"messages", "random"}) {
      for (const Input input : {Input::texts, Input::pairs, Input::words}) {
        SCOPED_TRACE(path_of_tokenizer);
        compare(tokenizer, file, input);
      }
    }
  }

 private:
  /// Compares all texts of a file.
  void compare(const Tokenizer& tokenizer, const std::string& file, Input input) {
    const std::string result = file + '.' + kInputs[static_cast<int>(input)];
    std::vector<std::string> texts = read_texts(file);
    if (input != Input::texts) texts.resize(std::min<std::size_t>(texts.size(), 100000));
    std::ifstream results(path(result)), decoded(path(file + ".decoded"));
    std::size_t differ = 0, count = 0;
    std::string first;
    const std::size_t step = input == Input::pairs ? 2 : 1;
    for (std::size_t i = 0; i + step <= texts.size(); i += step, ++count) {
      std::string expected;
      ASSERT_TRUE(std::getline(results, expected)) << i;
      std::vector<std::vector<std::string>> all = {{texts[i]}};
      if (input == Input::pairs) all.push_back({texts[i + 1]});
      if (input == Input::words) all[0] = words_of(texts[i]);
      const EncodedText encoded = input == Input::texts   ? tokenizer.encode(texts[i])
                                  : input == Input::pairs ? tokenizer.encode(texts[i], texts[i + 1])
                                                          : tokenizer.encode(all[0]);
      std::string got = shown(encoded, all);
      if (input == Input::texts) {
        got += nlohmann::json({tokenizer.decode(encoded.ids),
                               tokenizer.decode(encoded.ids, {.special_tokens = true})})
                   .dump();
        std::string both;
        ASSERT_TRUE(std::getline(decoded, both)) << i;
        expected += nlohmann::json::parse(both).dump();
      }
      if (got == expected) continue;
      if (++differ == 1)
        first = nlohmann::json(all).dump(-1, ' ', true) + '\n' + got + '\n' + expected;
    }
    EXPECT_GT(count, 0u);
    EXPECT_EQ(differ, 0u) << "of " << count << " in " << result << ", such as " << first;
  }

  static std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
      if (c == ' ') {
        words.emplace_back();
      } else {
        words.back() += c;
      }
    }
    return words;
  }
};

TEST_F(ReferenceTest, HasTheSamePieces) {
  write_texts();
  script("texts.py", "train 3000 0");
  script("families.py", ". train");
  for (const char* family : kFamilies) compare_all(path(std::string(family) + ".json"));
}

TEST_F(ReferenceTest, HasTheSamePiecesForChainsOfComponents) {
  script("chains.py", is_thorough() ? "chains 3000" : "chains 200");
  std::ifstream chains(path("chains"));
  std::size_t count = 0;
  for (std::string line; std::getline(chains, line);) {
    const nlohmann::json chain = nlohmann::json::parse(line);
    const auto description = chain["tokenizer"].get<std::string>();
    std::optional<Tokenizer> tokenizer;
    try {
      tokenizer = Tokenizer::from_text(description);
    } catch (const FileError& error) {  // the reference takes any of them
      ASSERT_NE(std::string(error.what()).find("need added tokens"), std::string::npos)
          << error.what();
      continue;
    }
    for (std::size_t i = 0; i < chain["texts"].size(); ++i, ++count) {
      const auto text = chain["texts"][i].get<std::string>();
      const std::vector<std::vector<std::string>> texts = {{text}};
      ASSERT_EQ(shown(tokenizer->encode(text), texts), chain["results"][i].get<std::string>())
          << nlohmann::json(text) << ' ' << description;
      ASSERT_EQ(tokenizer->decode(tokenizer->encode(text).ids),
                chain["decoded"][i].get<std::string>())
          << nlohmann::json(text) << ' ' << description;
    }
  }
  EXPECT_GT(count, 3000u);
}

// Thoroughly: 10,000 expressions. Of those that the reference takes, some are refused: their work
// cannot be counted, or it is too much for a text.
TEST_F(ReferenceTest, HasTheSameMatchesOfExpressions) {
  script("expressions.py", is_thorough() ? "expressions 10000" : "expressions 1500");
  std::ifstream expressions(path("expressions"));
  std::size_t same = 0, refused = 0;
  for (std::string line; std::getline(expressions, line);) {
    const nlohmann::json test = nlohmann::json::parse(line);
    const auto expression = test["expression"].get<std::string>();
    if (test["results"].is_null()) {
      EXPECT_THROW(text::each_regex(expression), UsageError) << expression;
      continue;
    }
    for (std::size_t i = 0; i < test["texts"].size(); ++i) {
      const auto text = test["texts"][i].get<std::string>();
      try {
        EXPECT_EQ(text::with_bars(text::each_regex(expression), text),
                  test["results"][i].get<std::string>())
            << expression << " in " << test["texts"][i];
        ++same;
      } catch (const UsageError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(same, 5000u);
  EXPECT_LT(refused, same / 200);
}

TEST_F(ReferenceTest, HasTheSamePiecesForAPublishedModel) {
  const std::string published = source("build/minilm/tokenizer.json");
  if (!fs::exists(published)) GTEST_SKIP() << "needs scripts/minilm_model.sh";
  write_texts();
  compare_all(published);
}

}  // namespace
}  // namespace dynet_like::nn
