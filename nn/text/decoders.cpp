// Decoders, each a pass over the pieces.
#include "nn/text/decoders.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "dynet_like/core/text.h"
#include "nn/text/normalizers.h"

namespace dynet_like::nn::text {

namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

/// How many bytes at a place belong to one character that is cut short or wrong, as the Unicode
/// standard recommends (section 3.9): at least 1.
std::size_t wrong_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0xC2 || first > 0xF4) return 1;
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 1;
  return first >= 0xF0 && (byte(2) & 0xC0) == 0x80 ? 3 : 2;
}

std::string valid_text(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = detail::first_character(bytes.substr(at)).bytes;
    text += size > 0 ? bytes.substr(at, size) : kReplacement;
    at += size > 0 ? size : wrong_bytes(bytes, at);
  }
  return text;
}

/// The bytes that the characters of a piece stand for; the piece itself if one stands for none.
std::string bytes_of(const std::string& piece) {
  static const std::unordered_map<char32_t, char> kBytes = [] {
    std::unordered_map<char32_t, char> bytes;
    for (unsigned byte = 0; byte < 256; ++byte) {
      bytes[byte_character(static_cast<unsigned char>(byte))] = static_cast<char>(byte);
    }
    return bytes;
  }();
  std::string bytes;
  for (std::size_t at = 0; at < piece.size(); at += character_bytes(piece[at])) {
    const auto found = kBytes.find(character_at(piece, at));
    if (found == kBytes.end()) return piece;
    bytes += found->second;
  }
  return bytes;
}

/// The byte of a piece such as <0x0A>; empty for another piece.
std::optional<char> fallback_byte(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  const auto digit = [](char c) {
    const std::size_t found = std::string_view("0123456789ABCDEFabcdef").find(c);
    return found == std::string_view::npos ? -1 : static_cast<int>(found < 16 ? found : found - 6);
  };
  const int high = piece[3] == '+' ? 0 : digit(piece[3]), low = digit(piece[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

/// Of an empty string, there is one in front of each character and at the end.
std::string replaced(const std::string& text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    if (from.empty()) {
      result += to;
    } else if (text.compare(at, from.size(), from) == 0) {
      result += to;
      at += from.size();
      continue;
    }
    const std::size_t bytes = character_bytes(text[at]);
    result.append(text, at, bytes);
    at += bytes;
  }
  if (from.empty()) result += to;
  return result;
}

std::string cleaned(std::string text) {
  constexpr std::pair<const char*, const char*> kChanges[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kChanges) text = replaced(text, from, to);
  return text;
}

void check_all(const std::vector<std::string>& pieces) {
  std::size_t bytes = 0;
  for (const std::string& piece : pieces) bytes += piece.size();
  check_size(bytes);
}

/// Calls f(piece, index) for each piece, and takes the result.
template <class F>
Decoder each_piece(F f) {
  return [f = std::move(f)](std::vector<std::string>& pieces) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces[i] = f(std::move(pieces[i]), i);
      check_size(bytes += pieces[i].size());
    }
  };
}

}  // namespace

std::string joined(const std::vector<std::string>& pieces, std::string_view between) {
  check_all(pieces);
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) text += between;
    text += pieces[i];
  }
  return text;
}

void fuse(std::vector<std::string>& pieces) { pieces = {joined(pieces, "")}; }

void decode_bytes(std::vector<std::string>& pieces) {
  std::string bytes;
  for (const std::string& piece : pieces) bytes += bytes_of(piece);
  pieces = {valid_text(bytes)};
}

void decode_fallback(std::vector<std::string>& pieces) {
  std::vector<std::string> result;
  std::string bytes;  // of pieces that wait for the end of their characters
  const auto add_bytes = [&] {
    if (detail::is_utf8(bytes)) {
      if (!bytes.empty()) result.push_back(bytes);
    } else {
      result.insert(result.end(), bytes.size(), kReplacement);
    }
    bytes.clear();
  };
  for (std::string& piece : pieces) {
    if (const std::optional<char> byte = fallback_byte(piece)) {
      bytes += *byte;
    } else {
      add_bytes();
      result.push_back(std::move(piece));
    }
  }
  add_bytes();
  pieces = std::move(result);
}

Decoder word_piece_decoder(std::string prefix, bool cleans) {
  return each_piece([prefix = std::move(prefix), cleans](std::string piece, std::size_t i) {
    if (i > 0 && piece.starts_with(prefix)) {
      piece.erase(0, prefix.size());
    } else if (i > 0) {
      piece = ' ' + piece;
    }
    return cleans ? cleaned(std::move(piece)) : piece;
  });
}

Decoder metaspace_decoder(const MetaspaceOptions& options) {
  std::string mark;
  append_character(options.replacement, mark);
  const bool prepends = options.prepend_scheme != PrependScheme::never;
  return each_piece([mark, prepends](const std::string& piece, std::size_t i) {
    return replaced(piece, mark, i == 0 && prepends ? "" : " ");
  });
}

Decoder byte_pair_decoder(std::string suffix) {
  return [suffix = std::move(suffix)](std::vector<std::string>& pieces) {
    for (std::string& piece : pieces) {
      piece = replaced(piece, suffix, &piece == &pieces.back() ? "" : " ");
    }
    check_all(pieces);
  };
}

Decoder ctc_decoder(std::string pad_token, std::string word_delimiter_token, bool cleans) {
  return [=](std::vector<std::string>& pieces) {
    pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    for (std::string& piece : pieces) {
      piece = replaced(piece, pad_token, "");
      if (cleans) piece = replaced(cleaned(std::move(piece)), word_delimiter_token, " ");
    }
    std::erase(pieces, "");
    check_all(pieces);
  };
}

Decoder strip_decoder(char32_t content, std::uint64_t start, std::uint64_t stop) {
  std::string mark;
  append_character(content, mark);
  return each_piece([mark, start, stop](const std::string& piece, std::size_t) {
    std::string_view text = piece;
    std::uint64_t at_end = 0;
    for (std::string_view rest = text; at_end < stop && rest.ends_with(mark); ++at_end) {
      rest.remove_suffix(mark.size());
    }
    for (std::uint64_t i = 0; i < start && text.starts_with(mark); ++i) {
      text.remove_prefix(mark.size());
    }
    text.remove_suffix(std::min<std::size_t>(text.size(), at_end * mark.size()));
    return std::string(text);
  });
}

Decoder replace_decoder(Pattern pattern, std::string content) {
  return each_piece([pattern = std::move(pattern), content = std::move(content)](
                        const std::string& piece, std::size_t) {
    std::vector<Match> matches;
    if (!piece.empty()) pattern(piece, matches);
    check_size(piece.size() + matches.size() * content.size());
    std::string result;
    std::size_t at = 0;
    for (const Match& match : matches) {
      result.append(piece, at, match.begin - at);
      result += content;
      at = match.end;
    }
    return result.append(piece, at, piece.size() - at);
  });
}

}  // namespace dynet_like::nn::text
