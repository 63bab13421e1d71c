// Finds words in the main sequence, and then in what was taken out of it.
#include "batching/find_words.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "batching/forced_merges.h"

namespace dynet_like::batching {
namespace {

constexpr std::uint32_t edge = ForcedMerges::edge;
constexpr std::size_t most_words = 64;

/// The tokens that `use` makes of the nodes of all samples, with edges around the samples.
template <class Use>
std::vector<std::uint32_t> make_tokens(std::span<const std::uint32_t> types,
                                       std::span<const std::uint32_t> begin, const Use& use) {
  std::vector<std::uint32_t> tokens{edge};
  tokens.reserve(types.size() + begin.size() + 1);
  for (std::size_t s = 0; s + 1 < begin.size(); ++s) {
    for (const std::uint32_t type : types.subspan(begin[s], begin[s + 1] - begin[s])) {
      use(type, tokens);
    }
    tokens.push_back(edge);
  }
  return tokens;
}

}  // namespace

Words find_words(std::span<const std::uint32_t> types, std::span<const std::uint32_t> begin,
                 std::span<const TypeFacts> facts) {
  Words result;
  result.loose.resize(facts.size());
  for (std::size_t t = 0; t < facts.size(); ++t) result.loose[t] = facts[t].foldable ? 0 : 1;

  ForcedMerges main(facts, make_tokens(types, begin, [&](std::uint32_t type, auto& tokens) {
                      if (facts[type].foldable) tokens.push_back(type);
                    }));
  do {
    main.merge();
  } while (main.take_out_loose(result.loose));

  // What stands between loose nodes in the main sequence may need one and feed the other.
  ForcedMerges aside(facts, make_tokens(types, begin, [&](std::uint32_t type, auto& tokens) {
                       if (!facts[type].foldable) return;
                       if (result.loose[type] != 0) {
                         tokens.push_back(type);
                       } else if (tokens.back() < ForcedMerges::gap) {
                         tokens.push_back(ForcedMerges::gap);
                       }
                     }));
  aside.merge();

  std::vector<ForcedMerges::Found> found = main.found();
  for (ForcedMerges::Found& other : aside.found()) found.push_back(std::move(other));
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.saved > b.saved; });
  for (ForcedMerges::Found& word : found) {
    const auto& words = result.words;
    if (words.size() == most_words) break;
    if (std::find(words.begin(), words.end(), word.types) != words.end()) continue;
    result.words.push_back(std::move(word.types));
  }
  return result;
}

}  // namespace dynet_like::batching
