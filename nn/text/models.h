// The models that cut words into pieces: WordPiece, BPE, Unigram and WordLevel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nn/text/trie.h"

namespace dynet_like::nn::text {

/// Pieces and their ids.
class Pieces {
 public:
  /// Of equal pieces, the last id counts; of pieces with the same id, piece() returns the first.
  /// Throws UsageError if the id is too large.
  void add(std::string_view piece, std::uint64_t id);

  std::optional<std::uint32_t> find(std::string_view piece) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Calls f(piece, id) for all, in no order.
  template <class F>
  void for_each(const F& f) const {
    for (const auto& [piece, id] : ids_) f(piece, id);
  }
  /// The piece with an id below size(); empty if there is none.
  const std::string& piece(std::uint32_t id) const { return pieces_[id]; }
  /// One more than the largest id.
  std::size_t size() const { return pieces_.size(); }
  /// How many were added.
  std::size_t count() const { return count_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::vector<std::string> pieces_;
  std::size_t count_ = 0;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
};

/// All pieces that are not empty, with their ids.
Trie trie_of(const Pieces& pieces);

/// A piece of a word, and its bytes in the word.
struct WordPart {
  std::uint32_t id = 0;
  std::size_t begin = 0, end = 0;
};

/// Cuts words into pieces. Several threads may use it.
class Model {
 public:
  explicit Model(Pieces pieces) : pieces_(std::move(pieces)) {}
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const Pieces& pieces() const { return pieces_; }
  /// Appends the pieces of a word, which is not empty.
  virtual void cut(std::string_view word, std::vector<WordPart>& parts) const = 0;

 private:
  Pieces pieces_;
};

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  std::size_t max_input_chars_per_word = 100;
};
/// The longest piece from the left, again and again (Wu et al., 2016). Throws UsageError.
std::unique_ptr<Model> make_word_piece(Pieces pieces, const WordPieceOptions& options);

struct BytePairOptions {
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
};
/// Merges neighbours in the order of the list (Sennrich et al., 2016). Throws UsageError.
std::unique_ptr<Model> make_byte_pair(
    Pieces pieces, const std::vector<std::pair<std::string, std::string>>& merges,
    const BytePairOptions& options);

/// The most likely pieces (Kudo, 2018), each of which has a log-probability, by id. Without unk_id,
/// cutting throws UsageError for unknown characters. Throws UsageError.
std::unique_ptr<Model> make_unigram(Pieces pieces, std::vector<double> scores,
                                    std::optional<std::uint64_t> unk_id, bool byte_fallback);

/// Words that are pieces as a whole; without unk_token among the pieces, cutting throws UsageError
/// for other words.
std::unique_ptr<Model> make_word_level(Pieces pieces, std::string unk_token);

/// The piece "<0x0A>" of a byte.
std::string byte_piece(unsigned char byte);

}  // namespace dynet_like::nn::text
