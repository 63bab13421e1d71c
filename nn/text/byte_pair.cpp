// BPE: merges neighbours, the first pair of the list first.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "nn/text/characters.h"
#include "nn/text/models.h"

namespace dynet_like::nn::text {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// The piece that two neighbours become, and its place in the list: smaller is earlier.
struct Merge {
  std::uint32_t rank = kNone, id = 0;
};

/// Merges by their pair of ids: a hash table with open addresses.
class Merges {
 public:
  explicit Merges(std::size_t count)
      : entries_(std::bit_ceil(2 * count + 1)), shift_(64 - std::countr_zero(entries_.size())) {}

  void set(std::uint32_t left, std::uint32_t right, Merge merge) {
    JsonEntry& entry = entries_[place(key(left, right))];
    entry = {key(left, right), merge};
  }
  /// The rank is kNone if the pair is not in the list.
  Merge find(std::uint32_t left, std::uint32_t right) const {
    return entries_[place(key(left, right))].merge;
  }

 private:
  struct JsonEntry {
    std::uint64_t key = kFree;
    Merge merge;
  };
  static constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();

  static std::uint64_t key(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32 | right;
  }
  std::size_t place(std::uint64_t key) const {
    std::size_t at =
        shift_ == 64 ? 0 : static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> shift_);
    while (entries_[at].key != kFree && entries_[at].key != key) at = (at + 1) % entries_.size();
    return at;
  }

  std::vector<JsonEntry> entries_;
  int shift_;
};

/// A character of a word, or several that were merged; neighbours are linked.
struct Symbol {
  std::uint32_t id, previous, next;
  std::uint32_t bytes;  // 0 if it was merged into the one before
};

/// A pair that may be merged: the symbol at a place and the next one.
struct Candidate {
  Merge merge;
  std::uint32_t at;

  /// Of a heap, whose top is the first pair of the list that is first in the word.
  bool operator<(const Candidate& other) const {
    return merge.rank != other.merge.rank ? merge.rank > other.merge.rank : at > other.at;
  }
};

class BytePair final : public Model {
 public:
  BytePair(Pieces all, const std::vector<std::pair<std::string, std::string>>& merges,
           const BytePairOptions& options)
      : Model(std::move(all)), options_(options), merges_(merges.size()) {
    if (options_.unk_token) unknown_ = pieces().find(*options_.unk_token);
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const auto& [left, right] = merges[rank];
      const std::size_t prefix = options_.continuing_subword_prefix.size();
      const std::string whole = left + right.substr(std::min(prefix, right.size()));
      const std::uint32_t first = id_of(left), second = id_of(right), both = id_of(whole);
      merges_.set(first, second, {static_cast<std::uint32_t>(rank), both});
    }
    if (options_.continuing_subword_prefix.empty() && options_.end_of_word_suffix.empty()) {
      for (char32_t code = 0; code < first_ids_.size(); ++code) {
        std::string text;
        append_character(code, text);
        first_ids_[code] = pieces().find(text).value_or(kNone);
      }
    }
    find_whole_words();
  }

  void cut(std::string_view word, std::vector<WordPart>& parts) const override {
    if (const auto id = pieces().find(word); id && is_whole(*id, word)) {
      parts.push_back({*id, 0, word.size()});
      return;
    }
    std::vector<Symbol> symbols = symbols_of(word);
    merge(symbols);
    std::size_t at = 0;
    for (const Symbol& symbol : symbols) {
      if (symbol.bytes != 0) parts.push_back({symbol.id, at, at + symbol.bytes});
      at += symbol.bytes;
    }
  }

 private:
  std::uint32_t id_of(const std::string& piece) const {
    if (const std::optional<std::uint32_t> id = pieces().find(piece)) return *id;
    throw UsageError("BPE needs merges of pieces that it has; got " + detail::quoted_text(piece));
  }

  /// Other pieces may have the same id.
  bool is_whole(std::uint32_t id, std::string_view word) const {
    return options_.ignore_merges || (is_whole_[id] && pieces().piece(id) == word);
  }

  /// Most words of a text are pieces. If the merges of such a word end in the piece itself, there
  /// is no need to merge again.
  void find_whole_words() {
    is_whole_.resize(pieces().size());
    if (options_.ignore_merges) return;
    for (std::uint32_t id = 0; id < pieces().size(); ++id) {
      const std::string& piece = pieces().piece(id);
      if (piece.empty() || (options_.unk_token && !unknown_)) continue;
      std::vector<Symbol> symbols = symbols_of(piece);
      merge(symbols);
      is_whole_[id] = !symbols.empty() && symbols[0].id == id && symbols[0].bytes == piece.size();
    }
  }

  std::uint32_t first_id(std::string_view word, std::size_t begin, std::size_t end,
                         std::string& text) const {
    text.clear();
    if (begin > 0) text += options_.continuing_subword_prefix;
    text += word.substr(begin, end - begin);
    if (end == word.size()) text += options_.end_of_word_suffix;
    return pieces().find(text).value_or(kNone);
  }

  // An unknown character waits for the next known one, so that neighbours can become one. It does
  // not wait for bytes: the reference has the bytes first.
  std::vector<Symbol> symbols_of(std::string_view word) const {
    std::vector<Symbol> symbols;
    symbols.reserve(word.size());
    const auto add = [&](std::uint32_t id, std::size_t bytes) {
      const auto at = static_cast<std::uint32_t>(symbols.size());
      symbols.push_back({id, at - 1, at + 1, static_cast<std::uint32_t>(bytes)});
    };
    const bool has_table =
        options_.continuing_subword_prefix.empty() && options_.end_of_word_suffix.empty();
    std::size_t waiting = 0;  // bytes of unknown characters
    std::string text;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t bytes = character_bytes(word[at]), end = at + bytes;
      const char32_t code = character_at(word, at);
      text.clear();
      const std::uint32_t id =
          has_table && code < first_ids_.size() ? first_ids_[code] : first_id(word, at, end, text);
      if (id == kNone && add_bytes(text.empty() ? word.substr(at, bytes) : text, add)) {
        at = end;
        continue;
      }
      if (waiting > 0 && (id != kNone || !options_.fuse_unk)) {
        add(*unknown_, waiting);
        waiting = 0;
      }
      if (id != kNone) {
        add(id, bytes);
      } else if (options_.unk_token) {
        check_unknown();
        waiting += bytes;
      }
      at = end;
    }
    if (waiting > 0) add(*unknown_, waiting);
    if (!symbols.empty()) symbols.back().next = kNone;
    return symbols;
  }

  void check_unknown() const {
    if (unknown_) return;
    throw UsageError("BPE needs unk_token among its pieces for unknown characters; got " +
                     detail::quoted_text(*options_.unk_token));
  }

  /// Adds the pieces of the bytes of a text, if there are all of them.
  template <class F>
  bool add_bytes(std::string_view text, const F& add) const {
    if (!options_.byte_fallback) return false;
    std::vector<std::uint32_t> ids;
    for (const char c : text) {
      const auto id = pieces().find(byte_piece(static_cast<unsigned char>(c)));
      if (!id) return false;
      ids.push_back(*id);
    }
    for (const std::uint32_t id : ids) add(id, 1);
    return true;
  }

  void merge(std::vector<Symbol>& symbols) const {
    std::vector<Candidate> heap;
    heap.reserve(symbols.size());
    const auto offer = [&](std::uint32_t at) {
      const std::uint32_t next = symbols[at].next;
      if (next == kNone) return;
      const Merge found = merges_.find(symbols[at].id, symbols[next].id);
      if (found.rank != kNone) heap.push_back({found, at});
    };
    for (std::uint32_t at = 0; at < symbols.size(); ++at) offer(at);
    std::make_heap(heap.begin(), heap.end());
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end());
      const Candidate top = heap.back();
      heap.pop_back();
      Symbol& left = symbols[top.at];
      if (left.bytes == 0 || left.next == kNone) continue;
      Symbol& right = symbols[left.next];
      const Merge now = merges_.find(left.id, right.id);  // the neighbours may have changed
      if (now.rank == kNone || now.id != top.merge.id) continue;
      left.id = now.id;
      left.bytes += right.bytes;
      left.next = right.next;
      right.bytes = 0;
      if (left.next != kNone) symbols[left.next].previous = top.at;
      const std::size_t before = heap.size();
      if (left.previous != kNone) offer(left.previous);
      if (heap.size() > before) std::push_heap(heap.begin(), heap.end());
      const std::size_t after = heap.size();
      offer(top.at);
      if (heap.size() > after) std::push_heap(heap.begin(), heap.end());
    }
  }

  BytePairOptions options_;
  Merges merges_;
  std::optional<std::uint32_t> unknown_;
  std::array<std::uint32_t, 512> first_ids_{};  // of single characters
  std::vector<bool> is_whole_;                  // by id: a word of this text becomes this piece
};

}  // namespace

std::unique_ptr<Model> make_byte_pair(
    Pieces pieces, const std::vector<std::pair<std::string, std::string>>& merges,
    const BytePairOptions& options) {
  return std::make_unique<BytePair>(std::move(pieces), merges, options);
}

}  // namespace dynet_like::nn::text
