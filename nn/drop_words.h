// Word dropout: teaches a model to handle unknown words.
#pragma once

#include <vector>

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

/// Replaces each word by `instead`, such as the unknown word, with probability p (Bowman et al.
/// 2016, "Generating sentences from a continuous space"). In inference, returns the words
/// unchanged. As in dropout, the choice follows from the graph's seed. Throws UsageError unless p
/// is 0 to 1, and if the graph has no seed (see GraphOptions::seed).
std::vector<unsigned> drop_words(ComputationGraph& graph, std::vector<unsigned> words,
                                 unsigned instead, float p);

}  // namespace dynet_like::nn
