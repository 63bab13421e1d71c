// Trees for training: in three parts, with their words and sizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/data/splits.h"
#include "nn/data/tree.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::nn {

using TreeSplits = Splits<Tree>;

/// The words of the leaves that come min_count times and more, and "<unk>" for all others.
Vocabulary vocabulary_of(std::span<const Tree> trees, std::uint64_t min_count = 1,
                         WordNormalisation normalisation = {});

/// The number of nodes of each tree, to put similar ones into minibatches.
std::vector<std::uint32_t> sizes_of(std::span<const Tree> trees);

}  // namespace dynet_like::nn
