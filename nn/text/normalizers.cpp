// Normalizers, each a pass over the characters.
#include "nn/text/normalizers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nn/text/unicode_forms.h"

namespace dynet_like::nn::text {

namespace {

/// Calls f(code, place, result) for each character, and takes the result.
template <class F>
void rewrite(AlignedText& aligned, const F& f) {
  AlignedText result;
  result.reserve(aligned.text.size() + aligned.text.size() / 8);
  for (std::size_t at = 0; at < aligned.text.size(); at += character_bytes(aligned.text[at])) {
    f(character_at(aligned.text, at), aligned.places[at], result);
  }
  aligned = std::move(result);
}

void clean(AlignedText& aligned, const BertNormalizerOptions& options) {
  rewrite(aligned, [&](char32_t code, Place place, AlignedText& result) {
    if (options.clean_text) {
      if (code == 0 || code == 0xFFFD || is_control(code)) return;
      if (is_space(code)) code = U' ';
    }
    const bool is_apart = options.handle_chinese_chars && is_ideograph(code);
    if (is_apart) result.append(U' ', place);
    result.append(code, place);
    if (is_apart) result.append(U' ', place);
  });
}

bool is_dropped_by_nmt(char32_t code) {
  return (code >= 1 && code <= 8) || code == 0x0B || (code >= 0x0E && code <= 0x1F) ||
         code == 0x7F || code == 0x8F || code == 0x9F;
}

bool is_space_of_nmt(char32_t code) {
  return code == 0x09 || code == 0x0A || code == 0x0C || code == 0x0D || code == 0x1680 ||
         (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 || code == 0x2581 ||
         code == 0xFEFF || code == 0xFFFD;
}

/// Visible Latin-1 characters stand for themselves, the other bytes for characters from U+0100.
std::array<char32_t, 256> make_byte_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_visible = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    characters[byte] = is_visible ? byte : next++;
  }
  return characters;
}

}  // namespace

Normalizer bert_normalizer(const BertNormalizerOptions& options) {
  return [options](AlignedText& aligned) {
    if (options.clean_text || options.handle_chinese_chars) clean(aligned, options);
    if (options.strip_accents && !is_ascii(aligned.text)) {
      bring_into(UnicodeForm::nfd, aligned);
      rewrite(aligned, [](char32_t code, Place place, AlignedText& result) {
        if (!is_mark_without_width(code)) result.append(code, place);
      });
    }
    if (options.lowercase) lower_case(aligned);
  };
}

void lower_case(AlignedText& aligned) {
  if (is_ascii(aligned.text)) {
    for (char& c : aligned.text) c = static_cast<char>(small_letter(static_cast<char32_t>(c)));
    return;
  }
  rewrite(aligned, [](char32_t code, Place place, AlignedText& result) {
    result.append(small_letter(code), place);
    if (code == 0x130) result.append(0x307, place);
  });
}

void strip_accents(AlignedText& aligned) {
  if (is_ascii(aligned.text)) return;
  rewrite(aligned, [](char32_t code, Place place, AlignedText& result) {
    if (!is_mark(code)) result.append(code, place);
  });
}

void nmt(AlignedText& aligned) {
  rewrite(aligned, [](char32_t code, Place place, AlignedText& result) {
    if (!is_dropped_by_nmt(code)) result.append(is_space_of_nmt(code) ? U' ' : code, place);
  });
}

char32_t byte_character(unsigned char byte) {
  static const std::array<char32_t, 256> kCharacters = make_byte_characters();
  return kCharacters[byte];
}

void byte_level(AlignedText& aligned) {
  AlignedText result;
  result.reserve(aligned.text.size() * 2);
  for (std::size_t i = 0; i < aligned.text.size(); ++i) {
    result.append(byte_character(static_cast<unsigned char>(aligned.text[i])), aligned.places[i]);
  }
  aligned = std::move(result);
}

Normalizer strip(bool left, bool right) {
  return [left, right](AlignedText& aligned) {
    const std::string_view kept = without_spaces(aligned.text, left, right);
    if (kept.size() == aligned.text.size()) return;
    const auto begin = static_cast<std::size_t>(kept.data() - aligned.text.data());
    AlignedText result;
    result.append(aligned, begin, begin + kept.size());
    aligned = std::move(result);
  };
}

Normalizer prepend(std::string string) {
  return [string = std::move(string)](AlignedText& aligned) {
    if (aligned.text.empty()) return;
    check_size(aligned.text.size() + string.size());
    aligned.text.insert(0, string);
    aligned.places.insert(aligned.places.begin(), string.size(), aligned.places.front());
  };
}

Normalizer replace_matches(Pattern pattern, std::string content) {
  return [pattern = std::move(pattern), content = std::move(content)](AlignedText& aligned) {
    std::vector<Match> matches;
    pattern(aligned.text, matches);
    if (matches.empty()) return;
    AlignedText result;
    check_size(aligned.text.size() + matches.size() * content.size());
    result.reserve(aligned.text.size() + matches.size() * content.size());
    std::size_t at = 0;
    for (const Match& match : matches) {
      result.append(aligned, at, match.begin);
      result.append(content, match.end == 0 ? Place{} : aligned.places[match.end - 1]);
      at = match.end;
    }
    result.append(aligned, at, aligned.text.size());
    aligned = std::move(result);
  };
}

}  // namespace dynet_like::nn::text
