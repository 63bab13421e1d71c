// Finds added tokens by tries of their texts.
#include "nn/text/added_tokens.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn::text {

namespace {

bool begins_with_word(std::string_view text, std::size_t at) {
  return at < text.size() && is_word(character_at(text, at));
}

bool ends_with_word(std::string_view text, std::size_t at) {
  return at > 0 && is_word(character_at(text, character_before(text, at)));
}

std::size_t before_spaces(std::string_view text, std::size_t at) {
  while (at > 0) {
    const std::size_t before = character_before(text, at);
    if (!is_space(character_at(text, before))) break;
    at = before;
  }
  return at;
}

std::size_t behind_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(character_at(text, at))) at += character_bytes(text[at]);
  return at;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalizer)
    : tokens_(std::move(tokens)) {
  std::vector<std::string> texts;
  for (const AddedToken& token : tokens_) {
    AlignedText text = aligned(token.content, 0, token.content.size());
    if (token.normalized && normalizer) normalizer(text);
    texts.push_back(text.text);
  }
  raw_ = finder(texts, false);
  normalised_ = finder(texts, true);
}

AddedTokens::Finder AddedTokens::finder(const std::vector<std::string>& texts,
                                        bool is_normalized) const {
  Finder result;
  std::vector<std::pair<std::string_view, std::uint32_t>> entries;
  std::set<std::string_view> known;
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].normalized != is_normalized) continue;
    if (texts[i].empty()) {
      throw UsageError("need added tokens that the normalizer leaves something of; got " +
                       detail::quoted_text(tokens_[i].content));
    }
    if (!known.insert(texts[i]).second) {
      throw UsageError("need added tokens that differ; got twice " + detail::quoted_text(texts[i]));
    }
    entries.emplace_back(texts[i], i);
    result.begins[static_cast<unsigned char>(texts[i][0])] = true;
  }
  result.is_empty = entries.empty();
  result.trie = Trie(std::move(entries));
  return result;
}

// Calls emit(begin, end, token) for all parts of a text; for text between tokens, the token is
// null.
template <class F>
void AddedTokens::find(const Finder& finder, std::string_view text, const F& emit) const {
  std::size_t done = 0;
  for (std::size_t at = 0; !finder.is_empty && at < text.size();) {
    const std::size_t begin = at++;
    if (!finder.begins[static_cast<unsigned char>(text[begin])]) continue;
    std::size_t end = begin;
    std::uint32_t found = 0;
    Trie::Node node = Trie::kRoot;
    for (std::size_t i = begin; i < text.size();) {
      node = finder.trie.child(node, text[i++]);
      if (node == Trie::kRoot) break;
      if (!finder.trie.has_value(node)) continue;
      end = i;
      found = finder.trie.value(node);
    }
    if (end == begin) continue;
    at = end;
    const AddedToken& token = tokens_[found];
    if (token.single_word && (ends_with_word(text, begin) || begins_with_word(text, end))) continue;
    std::size_t first = begin;
    if (token.lstrip) first = std::max(before_spaces(text, begin), done);
    if (token.rstrip) end = behind_spaces(text, end);
    if (done < first) emit(done, first, nullptr);
    if (first < end) emit(first, end, &token);  // the token before may have taken all of it
    done = end;
  }
  if (done != text.size()) emit(done, text.size(), nullptr);
}

void AddedTokens::add_normalised(AlignedText part, Splits& splits) const {
  const std::size_t offset = splits.aligned.text.size();
  find(normalised_, part.text, [&](std::size_t begin, std::size_t end, const AddedToken* token) {
    splits.parts.push_back(
        {offset + begin, offset + end, token == nullptr ? std::nullopt : std::optional(token->id)});
  });
  if (offset == 0) {
    splits.aligned = std::move(part);
  } else {
    splits.aligned.append(part, 0, part.text.size());
  }
}

Splits AddedTokens::extract(std::string_view text, const Normalizer& normalizer) const {
  Splits splits;
  find(raw_, text, [&](std::size_t begin, std::size_t end, const AddedToken* token) {
    AlignedText part = aligned(text, begin, end);
    if (token == nullptr) {
      if (normalizer) normalizer(part);
      add_normalised(std::move(part), splits);
      return;
    }
    const std::size_t offset = splits.aligned.text.size();
    splits.aligned.append(part, 0, part.text.size());
    splits.parts.push_back({offset, offset + part.text.size(), token->id});
  });
  return splits;
}

}  // namespace dynet_like::nn::text
