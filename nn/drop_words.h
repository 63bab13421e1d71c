// Word dropout: a model learns what to do where it does not know a word.
#pragma once

#include <vector>

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

/// These words, of which each is replaced by `instead`, such as the unknown word, with probability
/// p (Bowman et al. 2016, "Generating sentences from a continuous space"). In inference they stay
/// as they are. Which words are replaced follows from the graph's seed, as dropout does. Throws
/// UsageError unless p is 0 to 1, and if the graph has no seed (see GraphOptions::seed).
std::vector<unsigned> drop_words(ComputationGraph& graph, std::vector<unsigned> words,
                                 unsigned instead, float p);

}  // namespace dynet_like::nn
