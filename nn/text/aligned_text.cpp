// New texts from old ones, character by character.
#include "nn/text/aligned_text.h"

#include <algorithm>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::nn::text {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 26;

}  // namespace

void check_size(std::size_t bytes) {
  if (bytes <= kMostBytes) return;
  throw UsageError("a tokenizer needs a text of at most " + detail::counted(kMostBytes, "byte") +
                   "; got " + std::to_string(bytes));
}

AlignedText aligned(std::string_view text, std::size_t begin, std::size_t end) {
  AlignedText result;
  result.text = text.substr(begin, end - begin);
  result.places.resize(end - begin);
  for (std::size_t i = begin; i < end;) {
    const std::size_t bytes = character_bytes(text[i]);
    const Place place = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + bytes)};
    for (std::size_t k = 0; k < bytes; ++k) result.places[i - begin + k] = place;
    i += bytes;
  }
  return result;
}

void replace(AlignedText& aligned, std::span<const Replacement> characters) {
  if (aligned.text.empty()) return;
  AlignedText result;
  result.reserve(aligned.text.size() + aligned.text.size() / 4);
  const std::size_t last = aligned.text.size() - 1;
  std::size_t at = 0;  // the next character of the old text
  for (const Replacement& character : characters) {
    const std::size_t from = character.is_inserted && at > 0 ? at - 1 : at;
    result.append(character.code, aligned.places[std::min(from, last)]);
    if (character.is_inserted) continue;
    for (std::uint32_t i = 0; i <= character.removed && at <= last; ++i) {
      at += character_bytes(aligned.text[at]);
    }
  }
  aligned = std::move(result);
}

}  // namespace dynet_like::nn::text
