// How long tokenizers take for texts and files that are made to be slow: the time grows with the
// length of the text, or the text is refused.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/core/errors.h"
#include "nn/text/tokenizer.h"

namespace {

using namespace dynet_like;

struct Attack {
  std::string name, json, unit;  // the text is the unit, again and again
};

std::string tokenizer(const std::string& model, const std::string& more = "") {
  return R"({"version":"1.0",)" + more + R"("model":)" + model + '}';
}

std::string bytes_model() {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte) {
    char piece[16];
    std::snprintf(piece, sizeof piece, "<0x%02X>", byte);
    vocab += std::string(byte > 0 ? ",\"" : "\"") + piece + "\":" + std::to_string(byte);
  }
  return R"({"type":"BPE","byte_fallback":true,"merges":[],"vocab":{)" + vocab + "}}";
}

std::string by_expression(const std::string& expression) {
  return tokenizer(bytes_model(), R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":")" +
                                      expression + R"("},"behavior":"Isolated","invert":false},)");
}

std::string with_token(const std::string& content, bool lstrip, bool rstrip) {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  return tokenizer(bytes_model(), R"("added_tokens":[{"id":256,"content":")" + content +
                                      R"(","single_word":false,"lstrip":)" + flag(lstrip) +
                                      R"(,"rstrip":)" + flag(rstrip) +
                                      R"(,"normalized":false,"special":false}],)");
}

/// Pieces of up to `most` letters, so that all of them are tried at each place.
std::string unigram(std::size_t most, bool has_bytes) {
  std::string vocab = R"(["?",0.0])";
  for (std::size_t i = 1; i <= most; ++i) {
    vocab += ",[\"" + std::string(i, 'a') + "\",-" + std::to_string(i) + ".0]";
  }
  for (int byte = 0; has_bytes && byte < 256; ++byte) {
    char piece[32];
    std::snprintf(piece, sizeof piece, ",[\"<0x%02X>\",-50.0]", byte);
    vocab += piece;
  }
  return tokenizer(R"({"type":"Unigram","unk_id":0,"byte_fallback":)" +
                   std::string(has_bytes ? "true" : "false") + R"(,"vocab":[)" + vocab + "]}");
}

std::vector<Attack> all_attacks() {
  const std::string many(250, 'a'),
      llama3 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|)"
               R"(\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";
  return {
      {"expression (a|b)*c|.", by_expression("(a|b)*c|."), "a"},
      {"expression a*c|.", by_expression("a*c|."), "a"},
      {"expression of Llama 3, letters", by_expression(llama3), "a"},
      {"expression of Llama 3, spaces", by_expression(llama3), " "},
      {"white space with rstrip", with_token(" ", false, true), " "},
      {"white space with lstrip", with_token(" ", true, false), " "},
      {"a long added token", with_token(many + 'b', false, false), "a"},
      {"WordPiece with a long piece",
       tokenizer(R"({"type":"WordPiece","unk_token":"?","continuing_subword_prefix":"##",
           "max_input_chars_per_word":100000000,"vocab":{"?":0,"a":1,"##a":2,"##)" +
                 many + R"(b":3}})"),
       "a"},
      {"Unigram with long pieces", unigram(250, false), "a"},
      {"Unigram with bytes", unigram(1, true), "aé"},
  };
}

void run(int argc, char** argv) {
  std::size_t most = 16384;
  bench::Options options(
      "Time of texts that are made to be slow: of 64 KiB, of 16 times as much, and so on.");
  options.number("kib", most, 64, 1 << 20, "size of the largest text, in KiB");
  if (!options.read(argc, argv)) return;
  for (const Attack& attack : all_attacks()) {
    const nn::Tokenizer tokenizer = nn::Tokenizer::from_text(attack.json);
    std::printf("%-32s", attack.name.c_str());
    for (std::size_t kib = 64; kib <= most; kib *= 16) {
      std::string text;
      while (text.size() < kib * 1024) text += attack.unit;
      const auto begin = std::chrono::steady_clock::now();
      std::string result = "refused";
      try {
        result = std::to_string(tokenizer.encode(text).ids.size()) + " pieces";
      } catch (const UsageError&) {  // a limit
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      std::printf(" | %8.3f s, %s", took.count(), result.c_str());
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("tokenizer_attacks", [&] { run(argc, argv); });
}
