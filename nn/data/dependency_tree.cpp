// Both functions work without recursion, since a sentence may be long.
#include "nn/data/dependency_tree.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

bool is_tree(std::span<const std::uint32_t> heads, Roots roots) {
  if (roots == Roots::one && std::ranges::count(heads, 0u) != 1) return false;
  enum class State : std::uint8_t { unknown, followed, hangs_from_root };
  std::vector<State> states(heads.size() + 1, State::unknown);
  states[0] = State::hangs_from_root;
  for (std::uint32_t start = 1; start <= heads.size(); ++start) {
    std::size_t word = start;
    while (states[word] == State::unknown) {
      states[word] = State::followed;
      word = heads[word - 1];
      if (word > heads.size()) return false;
    }
    if (states[word] == State::followed) return false;
    for (word = start; states[word] == State::followed; word = heads[word - 1]) {
      states[word] = State::hangs_from_root;
    }
  }
  return true;
}

bool is_projective(std::span<const std::uint32_t> heads) {
  // Arcs from left to right; of arcs that begin together, the longest first. If none cross, open
  // arcs end in the reverse order.
  std::vector<std::pair<std::size_t, std::size_t>> arcs;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] > heads.size()) {
      throw UsageError("[is_projective] need heads from 0 to " + std::to_string(heads.size()) +
                       "; got " + std::to_string(heads[i]));
    }
    arcs.push_back(std::minmax<std::size_t>(heads[i], i + 1));
  }
  std::sort(arcs.begin(), arcs.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  std::vector<std::size_t> open_ends;
  for (const auto& [begin, end] : arcs) {
    while (!open_ends.empty() && open_ends.back() <= begin) open_ends.pop_back();
    if (!open_ends.empty() && open_ends.back() < end) return false;
    open_ends.push_back(end);
  }
  return true;
}

}  // namespace dynet_like::nn
