// WordPiece: the longest match in a trie, from the beginning of the word or behind the prefix.
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "nn/text/characters.h"
#include "nn/text/models.h"
#include "nn/text/trie.h"

namespace dynet_like::nn::text {

namespace {

class WordPiece final : public Model {
 public:
  WordPiece(Pieces all, const WordPieceOptions& options)
      : Model(std::move(all)),
        trie_(trie_of(pieces())),
        continued_(trie_.find(options.continuing_subword_prefix)),
        most_characters_(options.max_input_chars_per_word) {
    const std::optional<std::uint32_t> unknown = pieces().find(options.unk_token);
    if (!unknown) {
      throw UsageError("WordPiece needs unk_token among its pieces; got " +
                       detail::quoted_text(options.unk_token));
    }
    unknown_ = *unknown;
  }

  void cut(std::string_view word, std::vector<WordPart>& parts) const override {
    const std::size_t before = parts.size();
    bool is_known = !has_too_many_characters(word);
    for (std::size_t at = 0; at < word.size() && is_known;) {
      const WordPart part = longest(word, at);
      is_known = part.end > at;
      parts.push_back(part);
      at = part.end;
    }
    if (is_known) return;
    parts.resize(before);
    parts.push_back({unknown_, 0, word.size()});
  }

 private:
  bool has_too_many_characters(std::string_view word) const {
    if (word.size() <= most_characters_) return false;
    std::size_t count = 0;
    for (std::size_t at = 0; at < word.size(); at += character_bytes(word[at])) ++count;
    return count > most_characters_;
  }

  WordPart longest(std::string_view word, std::size_t begin) const {
    WordPart part = {0, begin, begin};
    if (begin > 0 && !continued_) return part;
    Trie::Node node = begin == 0 ? Trie::kRoot : *continued_;
    for (std::size_t at = begin; at < word.size();) {
      node = trie_.child(node, word[at++]);
      if (node == Trie::kRoot) break;
      if (trie_.has_value(node)) part = {trie_.value(node), begin, at};
    }
    return part;
  }

  Trie trie_;
  std::optional<Trie::Node> continued_;
  std::size_t most_characters_;
  std::uint32_t unknown_ = 0;
};

}  // namespace

std::unique_ptr<Model> make_word_piece(Pieces pieces, const WordPieceOptions& options) {
  return std::make_unique<WordPiece>(std::move(pieces), options);
}

}  // namespace dynet_like::nn::text
