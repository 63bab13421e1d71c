// Reads characters and spaces, and puts tokens together.
#include "nn/pipeline/raw_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "dynet_like/core/errors.h"
#include "nn/data/text.h"
#include "nn/text/characters.h"

namespace dynet_like::nn {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;
constexpr std::size_t kLongestCharacter = 4;

// The spaces of Unicode that need more than one byte, and the byte order mark.
constexpr auto kSpaces = std::to_array<std::string_view>(
    {"\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81",
     "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86",
     "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8",
     "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80", "\xEF\xBB\xBF"});

constexpr auto kEscapes = std::to_array<std::pair<char, char>>(
    {{' ', 's'}, {'\t', 't'}, {'\r', 'r'}, {'\n', 'n'}, {'|', 'p'}, {'\\', '\\'}});

/// The character of "\\u00A0" at the beginning of a text; else nothing.
std::string numbered_character(std::string_view text) {
  unsigned code = 0;
  if (!text.starts_with("\\u") || text.size() < 6) return {};
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, code, 16);
  if (error != std::errc{} || end != text.data() + 6) return {};
  std::string character;
  nn::text::append_character(code, character);
  return character;
}

/// The character as "\\u00A0". No space is beyond U+FFFF.
std::string character_by_number(std::string_view character) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const std::uint32_t code = nn::text::character_at(character, 0);
  std::string text = "\\u";
  for (const unsigned shift : {12u, 8u, 4u, 0u}) text += kDigits[(code >> shift) & 15];
  return text;
}

std::string escaped_spaces(std::string_view spaces) {
  std::string text;
  while (!spaces.empty()) {
    const auto* const found =
        std::ranges::find(kEscapes, spaces.front(), &std::pair<char, char>::first);
    const std::size_t bytes = std::max<std::size_t>(1, space_bytes(spaces));
    if (found != kEscapes.end()) {
      text += {'\\', found->second};
    } else if (space_bytes(spaces) > 0) {
      text += character_by_number(spaces.substr(0, bytes));
    } else {
      text += spaces.front();
    }
    spaces.remove_prefix(bytes);
  }
  return text;
}

}  // namespace

std::size_t space_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const char first = text.front();
  if (first == ' ' || (first >= '\t' && first <= '\r')) return 1;
  if (first >= '\x1C' && first <= '\x1F') return 1;  // separators of files, groups, records, units
  if (static_cast<signed char>(first) >= 0) return 0;
  for (const std::string_view space : kSpaces) {
    if (text.starts_with(space)) return space.size();
  }
  return 0;
}

bool RawUnit::has_blank_line() const { return is_space && std::ranges::count(bytes, '\n') >= 2; }

/// What is not used yet: a whole character or more, except at the end of the stream.
std::string_view RawUnits::rest() {
  if (block_.size() - begin_ < kLongestCharacter && stream_) {
    block_.erase(0, begin_);
    begin_ = 0;
    while (block_.size() < kLongestCharacter && stream_) {
      const std::size_t old = block_.size();
      block_.resize(old + kBlock);
      stream_.read(block_.data() + old, static_cast<std::streamsize>(kBlock));
      block_.resize(old + static_cast<std::size_t>(stream_.gcount()));
    }
  }
  return std::string_view(block_).substr(begin_);
}

std::optional<RawUnit> RawUnits::next() {
  const bool is_first = std::exchange(is_first_, false);
  RawUnit unit;
  while (const std::size_t bytes = space_bytes(rest())) {
    unit.is_space = true;
    unit.bytes.append(block_, begin_, bytes);
    begin_ += bytes;
  }
  if (unit.is_space) {
    const bool ends_line = lines_ && unit.bytes.find('\n') != unit.bytes.npos;
    unit.is_border = is_first || ends_line || unit.has_blank_line() || rest().empty();
    return unit;
  }
  if (stream_.bad()) throw FileError("text", "need to read it; got an error");
  if (rest().empty()) return {};
  unit.bytes = split_line(rest().substr(0, kLongestCharacter), TextUnit::character).front();
  begin_ += unit.bytes.size();
  return unit;
}

std::string unescaped_spaces(std::string_view text) {
  std::string spaces;
  while (!text.empty()) {
    const auto* const found =
        text[0] == '\\' && text.size() > 1
            ? std::ranges::find(kEscapes, text[1], &std::pair<char, char>::second)
            : kEscapes.end();
    const std::string by_number = numbered_character(text);
    if (!by_number.empty()) {
      spaces += by_number;
    } else {
      spaces += found == kEscapes.end() ? text[0] : found->first;
    }
    text.remove_prefix(!by_number.empty() ? 6 : found == kEscapes.end() ? 1 : 2);
  }
  return spaces;
}

std::string misc_of_spaces(const TokenSpaces& spaces) {
  std::string misc;
  const auto add = [&](const char* key, const std::string& value) {
    misc += std::string(misc.empty() ? "" : "|") + key + value;
  };
  if (spaces.after.empty()) add("SpaceAfter=", "No");
  if (!spaces.after.empty() && spaces.after != " ") {
    add("SpacesAfter=", escaped_spaces(spaces.after));
  }
  if (!spaces.before.empty()) add("SpacesBefore=", escaped_spaces(spaces.before));
  if (!spaces.token.empty()) add("SpacesInToken=", escaped_spaces(spaces.token));
  return misc.empty() ? "_" : misc;
}

std::optional<std::string> spaces_after(const ConlluColumns& token) {
  if (const auto spaces = conllu_value(token.misc, "SpacesAfter")) return unescaped_spaces(*spaces);
  if (conllu_value(token.misc, "SpaceAfter") == "No") return "";
  return {};
}

std::vector<TextToken> tokens_of(const ConlluSentence& sentence) {
  std::vector<TextToken> tokens;
  auto multiword = sentence.multiwords.begin();
  for (std::uint32_t i = 1; i <= sentence.words.size(); ++i) {
    if (multiword != sentence.multiwords.end() && multiword->first == i) {
      tokens.push_back({multiword->columns, true});
      i = std::max(i, (multiword++)->last);
    } else {
      tokens.push_back({sentence.words[i - 1]});
    }
  }
  return tokens;
}

bool begins_paragraph(const ConlluSentence& sentence) {
  return std::ranges::any_of(sentence.comments, [](const std::string& comment) {
    return comment.starts_with("# newpar") || comment.starts_with("# newdoc");
  });
}

std::string text_of(std::span<const ConlluSentence> sentences, std::vector<std::size_t>* ends) {
  std::string text;
  std::optional<std::string> spaces = "";  // behind the last token; nothing: a blank
  for (const ConlluSentence& sentence : sentences) {
    if (!text.empty() && begins_paragraph(sentence)) {
      if (!spaces) spaces = "";
      while (std::ranges::count(*spaces, '\n') < 2) *spaces += '\n';
    }
    for (const TextToken& each : tokens_of(sentence)) {
      const ConlluColumns& token = each.columns;
      const auto value = [&](const char* key) { return conllu_value(token.misc, key); };
      text += spaces.value_or(" ") + unescaped_spaces(value("SpacesBefore").value_or(""));
      const auto with_spaces = value("SpacesInToken");
      text += with_spaces ? unescaped_spaces(*with_spaces) : token.form;
      if (ends != nullptr) ends->push_back(text.size());
      spaces = spaces_after(token);
    }
  }
  return text + spaces.value_or(" ");
}

}  // namespace dynet_like::nn
