// Categories of characters and small letters, by utf8proc.
#include "nn/text/characters.h"

#include <utf8proc.h>

namespace dynet_like::nn::text {

namespace {

utf8proc_category_t category(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool is_between(utf8proc_category_t is, utf8proc_category_t first, utf8proc_category_t last) {
  return is >= first && is <= last;
}

bool is_ascii_letter(char32_t code) { return (code | 0x20) >= 'a' && (code | 0x20) <= 'z'; }
bool is_ascii_digit(char32_t code) { return code >= '0' && code <= '9'; }

}  // namespace

bool is_letter(char32_t code) {
  if (code < 0x80) return is_ascii_letter(code);
  return is_between(category(code), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}

bool is_number(char32_t code) {
  if (code < 0x80) return is_ascii_digit(code);
  return is_between(category(code), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool is_mark(char32_t code) {
  return code >= 0x300 && is_between(category(code), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

bool is_mark_without_width(char32_t code) {
  return code >= 0x300 && category(code) == UTF8PROC_CATEGORY_MN;
}

bool is_punctuation(char32_t code) {
  if (code < 0x80)
    return code > ' ' && code < 0x7F && !is_ascii_letter(code) && !is_ascii_digit(code);
  return is_between(category(code), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool is_control(char32_t code) {
  if (code == '\t' || code == '\n' || code == '\r') return false;
  if (code < 0x80) return code < ' ' || code == 0x7F;
  const utf8proc_category_t is = category(code);
  return is == UTF8PROC_CATEGORY_CC || is == UTF8PROC_CATEGORY_CF || is == UTF8PROC_CATEGORY_CO;
}

bool is_word(char32_t code) {
  if (code < 0x80) return is_ascii_letter(code) || is_ascii_digit(code) || code == '_';
  const utf8proc_category_t is = category(code);
  if (is_between(is, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_ND)) return true;
  if (is == UTF8PROC_CATEGORY_NL || is == UTF8PROC_CATEGORY_PC) return true;
  // Joiners, and letters in circles and squares.
  return code == 0x200C || code == 0x200D || (code >= 0x24B6 && code <= 0x24E9) ||
         (code >= 0x1F130 && code <= 0x1F149) || (code >= 0x1F150 && code <= 0x1F169) ||
         (code >= 0x1F170 && code <= 0x1F189);
}

bool is_ideograph(char32_t code) {
  if (code < 0x3400) return false;
  return code <= 0x4DBF || (code >= 0x4E00 && code <= 0x9FFF) ||
         (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x20000 && code <= 0x2A6DF) ||
         (code >= 0x2A700 && code <= 0x2B81F) || (code >= 0x2B920 && code <= 0x2CEAF) ||
         (code >= 0x2F800 && code <= 0x2FA1F);
}

std::string_view without_spaces(std::string_view text, bool left, bool right) {
  while (left && !text.empty() && is_space(character_at(text, 0))) {
    text.remove_prefix(character_bytes(text[0]));
  }
  while (right && !text.empty()) {
    const std::size_t last = character_before(text, text.size());
    if (!is_space(character_at(text, last))) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

char32_t small_letter(char32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + 0x20 : code;
  if (code == 0x130) return U'i';
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

}  // namespace dynet_like::nn::text
