// What the heads of the words of a sentence are as a graph.
#pragma once

#include <cstdint>
#include <span>

namespace dynet_like::nn {

/// How many words hang on the root: one, as Universal Dependencies wants it, or any number.
enum class Roots { one, any };

/// Whether every word comes to 0, the root, from head to head; heads[i] is that of word i + 1.
bool is_tree(std::span<const std::uint32_t> heads, Roots roots = Roots::any);
/// Whether no two arcs cross, those from 0 included. Throws UsageError for a head that is no word.
bool is_projective(std::span<const std::uint32_t> heads);

}  // namespace dynet_like::nn
