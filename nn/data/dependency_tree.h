// Properties of the graph of heads of a sentence.
#pragma once

#include <cstdint>
#include <span>

namespace dynet_like::nn {

/// How many words have 0 as their head: one, as in Universal Dependencies, or any number.
enum class Roots { one, any };

/// Whether the heads lead from every word to 0, the root; heads[i] is the head of word i + 1.
bool is_tree(std::span<const std::uint32_t> heads, Roots roots = Roots::any);
/// Whether no two arcs cross, including those from 0. Throws UsageError for a head that is not a
/// word.
bool is_projective(std::span<const std::uint32_t> heads);

}  // namespace dynet_like::nn
