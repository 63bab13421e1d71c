// Trees for training, development and test, with their words and sizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/data/splits.h"
#include "nn/data/tree.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::nn {

using TreeSplits = Splits<Tree>;

/// The words of leaves that occur at least min_count times, and "<unk>" for all others.
Vocabulary vocabulary_of(std::span<const Tree> trees, std::uint64_t min_count = 1,
                         WordNormalisation normalisation = {});

/// The number of nodes of each tree, by which similar trees are put into minibatches.
std::vector<std::uint32_t> sizes_of(std::span<const Tree> trees);

}  // namespace dynet_like::nn
