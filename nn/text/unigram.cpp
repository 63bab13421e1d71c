// Unigram: the best path through all pieces of a word, by Viterbi's algorithm.
#include <algorithm>
#include <limits>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "nn/text/characters.h"
#include "nn/text/models.h"
#include "nn/text/trie.h"

namespace dynet_like::nn::text {

namespace {

constexpr double kUnknownPenalty = 10;

class Unigram final : public Model {
 public:
  Unigram(Pieces all, std::vector<double> scores, std::optional<std::uint64_t> unk_id,
          bool byte_fallback)
      : Model(std::move(all)),
        trie_(trie_of(pieces())),
        scores_(std::move(scores)),
        byte_fallback_(byte_fallback) {
    if (unk_id && *unk_id >= scores_.size()) {
      throw UsageError("Unigram needs unk_id below " + std::to_string(scores_.size()) + "; got " +
                       std::to_string(*unk_id));
    }
    if (unk_id) unknown_ = static_cast<std::uint32_t>(*unk_id);
    if (scores_.empty()) return;
    unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty;
  }

  void cut(std::string_view word, std::vector<WordPart>& parts) const override {
    const std::vector<Step> steps = best_steps(word);
    std::vector<WordPart> found;  // from the end of the word
    for (std::size_t end = word.size(); end > 0; end = steps[end].begin) {
      const Step& step = steps[end];
      if (step.id == kNone)
        throw UsageError("Unigram needs unk_id for unknown characters; got null");
      // Neighbours that are unknown become one.
      if (step.id == unknown_ && !found.empty() && found.back().id == unknown_) {
        found.back().begin = step.begin;
      } else {
        found.push_back({step.id, step.begin, end});
      }
    }
    for (std::size_t i = found.size(); i-- > 0;) {
      if (found[i].id != unknown_ || !add_bytes(word, found[i], parts)) parts.push_back(found[i]);
    }
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// The last piece of the best path to a byte.
  struct Step {
    double score = 0;
    std::uint32_t id = 0;
    std::uint32_t begin = kNone;
  };

  std::vector<Step> best_steps(std::string_view word) const {
    std::vector<Step> steps(word.size() + 1);
    for (std::size_t begin = 0; begin < word.size();) {
      const double score = steps[begin].score;
      const auto offer = [&](std::size_t end, double more, std::uint32_t id) {
        Step& step = steps[end];
        if (step.begin != kNone && !(score + more > step.score)) return;
        step = {score + more, id, static_cast<std::uint32_t>(begin)};
      };
      const std::size_t next = begin + character_bytes(word[begin]);
      bool has_single = false;
      Trie::Node node = Trie::kRoot;
      for (std::size_t at = begin; at < word.size();) {
        node = trie_.child(node, word[at++]);
        if (node == Trie::kRoot) break;
        if (!trie_.has_value(node)) continue;
        offer(at, scores_[trie_.value(node)], trie_.value(node));
        has_single |= at == next;
      }
      if (!has_single) offer(next, unknown_score_, unknown_);
      begin = next;
    }
    return steps;
  }

  /// Text that is unknown becomes a piece, if it is one; or the pieces of its bytes, if it has all
  /// of these.
  bool add_bytes(std::string_view word, WordPart unknown, std::vector<WordPart>& parts) const {
    const std::string_view text = word.substr(unknown.begin, unknown.end - unknown.begin);
    if (const std::optional<std::uint32_t> id = pieces().find(text)) {
      parts.push_back({*id, unknown.begin, unknown.end});
      return true;
    }
    if (!byte_fallback_) return false;
    const std::size_t before = parts.size();
    for (const char c : text) {
      const auto id = pieces().find(byte_piece(static_cast<unsigned char>(c)));
      if (!id) {
        parts.resize(before);
        return false;
      }
      parts.push_back({*id, unknown.begin, unknown.end});
    }
    return true;
  }

  Trie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  std::uint32_t unknown_ = kNone;
  bool byte_fallback_;
};

}  // namespace

std::unique_ptr<Model> make_unigram(Pieces pieces, std::vector<double> scores,
                                    std::optional<std::uint64_t> unk_id, bool byte_fallback) {
  return std::make_unique<Unigram>(std::move(pieces), std::move(scores), unk_id, byte_fallback);
}

}  // namespace dynet_like::nn::text
