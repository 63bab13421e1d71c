// Data of ListOps: the trees of files, and generated ones where there are no files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "nn/data/tree_splits.h"

namespace dynet_like::examples {

/// How many expressions are generated, and how many tokens they may have.
struct ListOpsSizes {
  std::size_t train = 80'000, dev = 2'000, test = 2'000;
  std::uint32_t max_tokens = 100;
};

/// The trees of the files. Without a file name, and always for dev, they are generated, with the
/// probabilities of the original data. Generated trees are all different, also across splits. Those
/// for training have at least 1 operator, the others at least 3: smaller expressions are easy, and
/// many. Throws FileError as nn::read_listops does, and UsageError if a million draws in a row give
/// nothing new.
nn::TreeSplits listops_splits(const std::string& train_file, const std::string& test_file,
                              const ListOpsSizes& sizes, std::uint64_t seed);

}  // namespace dynet_like::examples
