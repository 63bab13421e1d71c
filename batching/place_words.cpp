// Finds the occurrences of words in a sample, from left to right.
#include "batching/place_words.h"

#include <algorithm>
#include <numeric>

namespace dynet_like::batching {

WordPlacer::WordPlacer(const Words& words)
    : words_(words), first_(words.loose.size() + 1, 0), by_length_(words.words.size()) {
  const auto& all = words.words;
  std::iota(by_length_.begin(), by_length_.end(), 0u);
  std::stable_sort(by_length_.begin(), by_length_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return all[a][0] != all[b][0] ? all[a][0] < all[b][0] : all[a].size() > all[b].size();
  });
  for (const auto& word : all) ++first_[word[0] + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

std::vector<Place> WordPlacer::place(std::span<const std::uint32_t> types,
                                     const MayStand& may_stand) const {
  std::vector<Place> places(types.size());
  for (std::uint32_t i = 0; i < types.size(); ++i) places[i].first = i;
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < types.size(); ++i) {
    if (places[i].word != Place::alone) continue;
    for (std::uint32_t k = first_[types[i]]; k < first_[types[i] + 1]; ++k) {
      const std::uint32_t word = by_length_[k];
      if (!find(word, types, places, i, nodes)) continue;
      if (may_stand && !may_stand(word, nodes, places)) continue;
      for (const std::uint32_t node : nodes) places[node] = {word, i};
      break;
    }
  }
  return places;
}

bool WordPlacer::find(std::uint32_t number, std::span<const std::uint32_t> types,
                      std::span<const Place> places, std::uint32_t first,
                      std::vector<std::uint32_t>& nodes) const {
  const std::vector<std::uint32_t>& word = words_.words[number];
  const bool is_loose = words_.loose[word[0]] != 0;
  nodes.clear();
  for (std::uint32_t i = first; i < types.size() && nodes.size() < word.size(); ++i) {
    const bool lies_between = !is_loose && words_.loose[types[i]] != 0;
    if (places[i].word != Place::alone || lies_between) continue;
    if (types[i] != word[nodes.size()]) return false;
    nodes.push_back(i);
  }
  return nodes.size() == word.size();
}

}  // namespace dynet_like::batching
