// Finds the occurrences of words in a sample, in the main sequence and in what is loose.
#include "batching/place_words.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dynet_like::batching {
namespace {

class Placer {
 public:
  Placer(std::span<const std::uint32_t> types, const Words& words)
      : types_(types),
        words_(words.words),
        first_(words.loose.size() + 1, 0),
        by_length_(words_.size()) {
    std::iota(by_length_.begin(), by_length_.end(), 0u);
    std::stable_sort(by_length_.begin(), by_length_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return words_[a][0] != words_[b][0] ? words_[a][0] < words_[b][0]
                                          : words_[a].size() > words_[b].size();
    });
    for (const auto& word : words_) ++first_[word[0] + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    for (std::uint32_t i = 0; i < types.size(); ++i) places_.push_back({Place::alone, i});
  }

  /// Places the words of a sequence of nodes.
  void place(std::span<const std::uint32_t> nodes) {
    for (std::size_t i = 0; i < nodes.size();) i += place_at(nodes.subspan(i));
  }

  std::vector<Place> take() { return std::move(places_); }

 private:
  /// The length of the word that the nodes begin with, or 1.
  std::size_t place_at(std::span<const std::uint32_t> nodes) {
    const std::uint32_t type = types_[nodes[0]];
    for (std::uint32_t k = first_[type]; k < first_[type + 1]; ++k) {
      const auto& word = words_[by_length_[k]];
      if (!begins_with(nodes, word)) continue;
      for (const std::uint32_t node : nodes.first(word.size())) {
        places_[node] = {by_length_[k], nodes[0]};
      }
      return word.size();
    }
    return 1;
  }

  bool begins_with(std::span<const std::uint32_t> nodes,
                   const std::vector<std::uint32_t>& word) const {
    if (word.size() > nodes.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (types_[nodes[i]] != word[i]) return false;
    }
    return true;
  }

  std::span<const std::uint32_t> types_;
  const std::vector<std::vector<std::uint32_t>>& words_;
  std::vector<std::uint32_t> first_;      ///< per type and one more, into by_length_
  std::vector<std::uint32_t> by_length_;  ///< words by their first type, the longest first
  std::vector<Place> places_;
};

}  // namespace

std::vector<Place> place_words(std::span<const std::uint32_t> types, const Words& words) {
  std::vector<std::uint8_t> in_word(words.loose.size(), 0);
  for (const auto& word : words.words) {
    for (const std::uint32_t type : word) in_word[type] = 1;
  }
  Placer placer(types, words);
  std::vector<std::uint32_t> main, aside;
  for (std::uint32_t node = 0; node < types.size(); ++node) {
    if (words.loose[types[node]] == 0) {
      main.push_back(node);
      placer.place(aside);  // no word goes on behind a node of the main sequence
      aside.clear();
    } else if (in_word[types[node]] != 0) {
      aside.push_back(node);
    }
  }
  placer.place(aside);
  placer.place(main);
  return placer.take();
}

}  // namespace dynet_like::batching
