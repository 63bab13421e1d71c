// Fuzzes tokenizers: a file up to a zero byte, which may be refused, and a text, whose pieces must
// be within it and decode to UTF-8. Files that lack a model get one that has a piece for each byte.
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/text.h"
#include "nn/text/tokenizer.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

std::string byte_model() {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string vocab;
  for (unsigned byte = 0; byte < 256; ++byte) {
    vocab += std::string(byte == 0 ? "" : ",") + "\"<0x" + kDigits[byte / 16] + kDigits[byte % 16] +
             ">\":" + std::to_string(byte);
  }
  return R"("model":{"type":"BPE","byte_fallback":true,"merges":[],"vocab":{)" + vocab + "}}";
}

void check(const nn::Tokenizer& tokenizer, const nn::EncodedText& encoded,
           const std::vector<std::string_view>& texts) {
  require(encoded.ids.size() == encoded.sources.size());
  require(encoded.ids.size() == encoded.segments.size());
  for (std::size_t i = 0; i < encoded.ids.size(); ++i) {
    require(encoded.ids[i] < tokenizer.size());
    const nn::PieceSource& source = encoded.sources[i];
    require(source.begin <= source.end);
    if (source.text < 0) continue;
    require(source.word >= 0);
    require(source.end <= texts[static_cast<std::size_t>(source.text)].size());
  }
  require(detail::is_utf8(tokenizer.decode(encoded.ids)));
}

}  // namespace

void run(const std::string& all) {
  static const std::string model = byte_model();
  const std::string_view input = all;
  const std::size_t end = input.find('\0');
  std::string json(input.substr(0, end));
  const std::string_view text = end == input.npos ? "" : input.substr(end + 1);
  if (json.ends_with("*}")) json.replace(json.size() - 2, 1, model);
  may_refuse([&] {
    const nn::Tokenizer tokenizer = nn::Tokenizer::from_text(json, "fuzz");
    try {
      check(tokenizer, tokenizer.encode(text), {text});
      check(tokenizer, tokenizer.encode(text, "a b", {.special_tokens = false}), {text, "a b"});
      const std::vector<std::string> words = {std::string(text)};
      check(tokenizer, tokenizer.encode(words), {text});
      require(detail::is_utf8(text));
    } catch (const UsageError&) {  // not UTF-8, or text that is too hard for an expression
    }
  });
}

}  // namespace dynet_like::fuzz
