// Pre-tokenizers that are more than a pattern.
#include "nn/text/pre_tokenizers.h"

#include <utility>

#include "nn/text/normalizers.h"

namespace dynet_like::nn::text {

namespace {

/// Calls f(part, result) for each part that is not a token; it appends to the text of the result.
/// The parts keep their order.
template <class F>
void rewrite_parts(Splits& splits, const F& f) {
  AlignedText result;
  result.reserve(splits.aligned.text.size() * 3 / 2);
  for (Split& part : splits.parts) {
    const std::size_t begin = result.text.size();
    if (part.token) {
      result.append(splits.aligned, part.begin, part.end);
    } else {
      f(part, result);
    }
    part.begin = begin;
    part.end = result.text.size();
  }
  splits.aligned = std::move(result);
}

enum class Kind { space, letter, number, sign };

Kind kind_of(char32_t code) {
  if (is_letter(code)) return Kind::letter;
  if (is_space(code)) return Kind::space;
  return is_number(code) ? Kind::number : Kind::sign;
}

std::size_t end_of_kind(std::string_view text, std::size_t at, Kind kind) {
  while (at < text.size() && kind_of(character_at(text, at)) == kind) {
    at += character_bytes(text[at]);
  }
  return at;
}

/// The bytes of an English contraction, such as "'ll", at a place; 0 if there is none.
std::size_t contraction_bytes(std::string_view text, std::size_t at) {
  if (text[at] != '\'') return 0;
  const std::string_view two = text.substr(at + 1, 2), one = two.substr(0, 1);
  if (one == "s" || one == "t" || one == "m" || one == "d") return 2;
  return two == "re" || two == "ve" || two == "ll" ? 3 : 0;
}

/// The end of a match of GPT-2's expression:
/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t end_of_gpt2_word(std::string_view text, std::size_t at) {
  if (const std::size_t bytes = contraction_bytes(text, at)) return at + bytes;
  const std::size_t first = text[at] == ' ' ? at + 1 : at;
  const Kind kind = first < text.size() ? kind_of(character_at(text, first)) : Kind::space;
  if (kind != Kind::space) return end_of_kind(text, first, kind);
  const std::size_t end = end_of_kind(text, at, Kind::space);
  if (end == text.size()) return end;
  // The last space belongs to the word behind it.
  const std::size_t last = character_before(text, end);
  return last == at ? end : last;
}

void each_gpt2_word(std::string_view text, std::vector<Match>& matches) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_gpt2_word(text, at);
    matches.push_back({at, end});
    at = end;
  }
}

}  // namespace

void bert_pre_tokenizer(Splits& splits) {
  std::vector<Split> parts;
  parts.reserve(splits.aligned.text.size() / 4);
  for (const Split& part : splits.parts) {
    if (part.token) {
      parts.push_back(part);
      continue;
    }
    std::size_t begin = part.begin;
    const auto add = [&](std::size_t end) {
      if (end > begin) parts.push_back({begin, end, std::nullopt});
      begin = end;
    };
    for (std::size_t at = part.begin; at < part.end;) {
      const char32_t code = character_at(splits.aligned.text, at);
      const std::size_t end = at + character_bytes(splits.aligned.text[at]);
      if (is_space(code)) {
        add(at);
        begin = end;
      } else if (is_punctuation(code)) {
        add(at);
        add(end);
      }
      at = end;
    }
    add(part.end);
  }
  splits.parts = std::move(parts);
}

PreTokenizer byte_level(const ByteLevelOptions& options) {
  return [options, words = Pattern(each_gpt2_word)](Splits& splits) {
    if (options.add_prefix_space) {
      rewrite_parts(splits, [&](const Split& part, AlignedText& result) {
        if (!splits.text(part).starts_with(' ')) {
          result.append(U' ', splits.aligned.places[part.begin]);
        }
        result.append(splits.aligned, part.begin, part.end);
      });
    }
    if (options.use_regex) split(splits, words, SplitBehaviour::isolated, false);
    rewrite_parts(splits, [&](const Split& part, AlignedText& result) {
      for (std::size_t i = part.begin; i < part.end; ++i) {
        const auto byte = static_cast<unsigned char>(splits.aligned.text[i]);
        result.append(byte_character(byte), splits.aligned.places[i]);
      }
    });
  };
}

PreTokenizer metaspace(const MetaspaceOptions& options) {
  std::string mark;
  append_character(options.replacement, mark);
  const auto is_mark = [code = options.replacement](char32_t c) { return c == code; };
  return [options, mark, pattern = each_character(is_mark)](Splits& splits) {
    rewrite_parts(splits, [&](const Split& part, AlignedText& result) {
      const std::string_view text = splits.text(part);
      const Place* const places = &splits.aligned.places[part.begin];
      const bool prepends =
          options.prepend_scheme == PrependScheme::always ||
          (options.prepend_scheme == PrependScheme::first && places[0].begin == 0);
      if (prepends && text[0] != ' ' && !text.starts_with(mark)) result.append(mark, places[0]);
      for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ' ') {
          result.append(mark, places[i]);
        } else {
          result.append(splits.aligned, part.begin + i, part.begin + i + 1);
        }
      }
    });
    if (options.split) split(splits, pattern, SplitBehaviour::merged_with_next, false);
  };
}

PreTokenizer fixed_length(std::uint64_t characters) {
  return [characters](Splits& splits) {
    std::vector<Split> parts;
    for (const Split& part : splits.parts) {
      if (part.token) {
        parts.push_back(part);
        continue;
      }
      std::uint64_t count = 0;
      for (std::size_t at = part.begin; at < part.end; ++count) {
        const std::size_t end = at + character_bytes(splits.aligned.text[at]);
        if (count % characters == 0) parts.push_back({at, end, std::nullopt});
        parts.back().end = end;
        at = end;
      }
    }
    splits.parts = std::move(parts);
  };
}

Pattern words_and_signs() {
  return [](std::string_view text, std::vector<Match>& matches) {
    for (std::size_t at = 0; at < text.size();) {
      const auto kind = [&](std::size_t i) {
        const char32_t code = character_at(text, i);
        return is_word(code) ? Kind::letter : is_space(code) ? Kind::space : Kind::sign;
      };
      const Kind first = kind(at);
      std::size_t end = at;
      while (end < text.size() && kind(end) == first) end += character_bytes(text[end]);
      if (first != Kind::space) matches.push_back({at, end});
      at = end;
    }
  };
}

}  // namespace dynet_like::nn::text
