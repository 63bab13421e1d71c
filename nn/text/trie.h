// Strings and their numbers, to be matched byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dynet_like::nn::text {

/// A tree whose edges are bytes. The children of a node are next to each other.
class Trie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;

  Trie() : Trie(std::vector<std::pair<std::string_view, std::uint32_t>>()) {}
  /// Of equal strings, the last number counts. The strings are not kept. Throws UsageError for one
  /// of more than 256 bytes: so many may be tried at each place of a text.
  explicit Trie(std::vector<std::pair<std::string_view, std::uint32_t>> entries);

  /// The child by a byte, or kRoot if there is none.
  Node child(Node node, char byte) const {
    const std::uint32_t begin = nodes_[node].children, end = nodes_[node + 1].children;
    if (end - begin == 1) return bytes_[begin] == byte ? begin : kRoot;  // as nearly always
    const void* found = begin == end ? nullptr : std::memchr(&bytes_[begin], byte, end - begin);
    return found == nullptr ? kRoot
                            : static_cast<Node>(static_cast<const char*>(found) - bytes_.data());
  }
  bool has_value(Node node) const { return nodes_[node].value != kNone; }
  std::uint32_t value(Node node) const { return nodes_[node].value; }
  /// The node of a string, if a string begins with it.
  std::optional<Node> find(std::string_view prefix) const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  struct Links {
    std::uint32_t children = 0;  // the first child; the last one is before that of the next node
    std::uint32_t value = kNone;
  };

  std::vector<Links> nodes_;  // level by level, with one more at the end
  std::string bytes_;         // of the edge to each node
};

}  // namespace dynet_like::nn::text
