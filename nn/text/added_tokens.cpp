// Finds added tokens by tries of their texts.
#include "nn/text/added_tokens.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn::text {

namespace {

constexpr std::size_t kMostOverlap = 1 << 22;

bool begins_with_word(std::string_view text, std::size_t at) {
  return at < text.size() && is_word(character_at(text, at));
}

bool ends_with_word(std::string_view text, std::size_t at) {
  return at > 0 && is_word(character_at(text, character_before(text, at)));
}

[[noreturn]] void refuse_overlap(const AddedToken& token) {
  throw UsageError("a tokenizer needs tokens that overlap by at most " +
                   detail::counted(kMostOverlap, "byte") + " of a text; got more of " +
                   detail::quoted_text(token.content));
}

std::size_t before_spaces(std::string_view text, std::size_t at, std::size_t least) {
  while (at > least) {
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
  for (AddedToken& token : tokens_) {
    AlignedText text = aligned(token.content, 0, token.content.size());
    if (token.normalized && normalizer) normalizer(text);
    token.text = std::move(text.text);
  }
  raw_ = finder(false);
  normalised_ = finder(true);
}

AddedTokens::Finder AddedTokens::finder(bool is_normalized) const {
  Finder result;
  std::vector<std::pair<std::string_view, std::uint32_t>> entries;
  std::set<std::string_view> known;
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& token = tokens_[i];
    if (token.normalized != is_normalized) continue;
    if (token.text.empty()) {
      throw UsageError("need added tokens that the normalizer leaves something of; got " +
                       detail::quoted_text(token.content));
    }
    if (!known.insert(token.text).second) continue;
    entries.emplace_back(token.text, i);
    result.begins[static_cast<unsigned char>(token.text[0])] = true;
  }
  result.is_empty = entries.empty();
  result.trie = Trie(std::move(entries));
  return result;
}

// Calls emit(begin, end, token) for all parts of a text; for text between tokens, the token is
// null.
template <class F>
void AddedTokens::find(const Finder& finder, std::string_view text, const F& emit) const {
  std::size_t done = 0, taken = 0;
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
    if (token.lstrip) first = std::max(before_spaces(text, begin, done), done);
    if (token.rstrip) end = behind_spaces(text, end);
    if (done < first) emit(done, first, nullptr);
    if (first < end) {  // otherwise the token before has taken all of it
      // A token that is white space is found again in what the one before has taken.
      if ((taken += end - first) > text.size() + kMostOverlap) refuse_overlap(token);
      emit(first, end, &token);
    }
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
