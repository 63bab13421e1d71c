// Makes the nodes level by level, from sorted strings.
#include "nn/text/trie.h"

#include <algorithm>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn::text {

Trie::Trie(std::vector<std::pair<std::string_view, std::uint32_t>> entries) {
  constexpr std::size_t kMostBytes = 1024;
  for (const auto& [string, number] : entries) {
    if (string.size() <= kMostBytes) continue;
    throw UsageError("need pieces of at most " + detail::counted(kMostBytes, "byte") + "; got " +
                     detail::quoted_text(string));
  }
  const auto comes_before = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(entries.begin(), entries.end(), comes_before);
  struct Range {
    std::size_t begin, end, depth;  // the strings that begin with the node's string
  };
  std::vector<Range> ranges = {{0, entries.size(), 0}};
  bytes_ = std::string(1, '\0');  // the root has no edge
  for (std::size_t node = 0; node < ranges.size(); ++node) {
    auto [begin, end, depth] = ranges[node];
    Links links = {static_cast<std::uint32_t>(ranges.size()), kNone};
    for (; begin < end && entries[begin].first.size() == depth; ++begin) {
      links.value = entries[begin].second;
    }
    nodes_.push_back(links);
    while (begin < end) {
      const char byte = entries[begin].first[depth];
      const std::size_t first = begin;
      while (begin < end && entries[begin].first[depth] == byte) ++begin;
      ranges.push_back({first, begin, depth + 1});
      bytes_ += byte;
    }
  }
  nodes_.push_back({static_cast<std::uint32_t>(ranges.size()), kNone});
}

std::optional<Trie::Node> Trie::find(std::string_view prefix) const {
  Node node = kRoot;
  for (const char byte : prefix) {
    node = child(node, byte);
    if (node == kRoot) return std::nullopt;
  }
  return node;
}

}  // namespace dynet_like::nn::text
