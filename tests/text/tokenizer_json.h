// Small tokenizers as JSON, and their pieces as text.
#pragma once

namespace dynet_like::nn {

/// A tokenizer whose components are given as JSON. The default model has a piece for each byte.
struct TokenizerJson {
  std::string normalizer = "null", pre_tokenizer = "null", post_processor = "null";
  std::string model = byte_model(), added_tokens = "[]", decoder = "null";

  std::string text() const {
    return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)" + added_tokens +
           R"(,"normalizer":)" + normalizer + R"(,"pre_tokenizer":)" + pre_tokenizer +
           R"(,"post_processor":)" + post_processor + R"(,"decoder":)" + decoder + R"(,"model":)" +
           model + '}';
  }
  Tokenizer make() const { return Tokenizer::from_text(text(), "test.json"); }

  static std::string byte_model() {
    constexpr const char* kDigits = "0123456789ABCDEF";
    std::string vocab;
    for (unsigned byte = 0; byte < 256; ++byte) {
      vocab += std::string(byte == 0 ? "" : ",") + "\"<0x" + kDigits[byte / 16] +
               kDigits[byte % 16] + ">\":" + std::to_string(byte);
    }
    return R"({"type":"BPE","byte_fallback":true,"merges":[],"vocab":{)" + vocab + "}}";
  }
};

/// The pieces of the model of bytes: characters with their places, and "|" between words.
inline std::string shown_bytes(const EncodedText& encoded) {
  std::string result;
  for (std::size_t i = 0; i < encoded.ids.size(); ++i) {
    const PieceSource source = encoded.sources[i];
    if (i > 0 && source.word != encoded.sources[i - 1].word) {
      result += " | ";
    } else if (i > 0 && source.begin != encoded.sources[i - 1].begin) {
      result += ' ';
    }
    result += static_cast<char>(encoded.ids[i]);
    const bool ends = i + 1 == encoded.ids.size() || source.begin != encoded.sources[i + 1].begin ||
                      source.word != encoded.sources[i + 1].word;
    if (ends) result += '[' + std::to_string(source.begin) + ',' + std::to_string(source.end) + ')';
  }
  return result;
}

/// Pieces as "id@word[begin,end):segment"; "id:segment" for those that were added; segments 0 are
/// left out behind places.
inline std::string shown(const EncodedText& encoded) {
  std::string result;
  for (std::size_t i = 0; i < encoded.ids.size(); ++i) {
    const PieceSource source = encoded.sources[i];
    const std::string segment = ':' + std::to_string(encoded.segments[i]);
    result += (i > 0 ? " " : "") + std::to_string(encoded.ids[i]);
    if (source.text < 0) {
      result += segment;
      continue;
    }
    result += '@' + std::to_string(source.word) + '[' + std::to_string(source.begin) + ',' +
              std::to_string(source.end) + ')' + (encoded.segments[i] > 0 ? segment : "");
  }
  return result;
}

}  // namespace dynet_like::nn
