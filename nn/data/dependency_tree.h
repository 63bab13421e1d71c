// What the heads of the words of a sentence are as a graph.
#pragma once

#include <cstdint>
#include <span>

namespace dynet_like::nn {

/// Whether every word comes to 0 from head to head; heads[i] is that of word i + 1. Any number of
/// words may hang from 0 itself.
bool is_tree(std::span<const std::uint32_t> heads);
/// Whether no two arcs cross, those from 0 included. Throws UsageError for a head that is no word.
bool is_projective(std::span<const std::uint32_t> heads);

}  // namespace dynet_like::nn
