// Splits samples into minibatches: in random order, or with similar sizes together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/core/random.h"

namespace dynet_like::nn {

/// The sample numbers, from 0, of each minibatch; every sample is in exactly one. All minibatches
/// have the batch size, except one that may be smaller. All functions throw UsageError for batch
/// size 0 and for 2^32 samples or more. Without samples there are no minibatches.
using Minibatches = std::vector<std::vector<std::uint32_t>>;

/// Another kind of batch size: as many samples as have a total size of at most `limit`, such as
/// 2,000 words. A sample that is larger is a minibatch by itself.
struct TotalSize {
  std::uint64_t limit;
};

/// Minibatches of samples in random order. The last one may be smaller.
Minibatches shuffled_minibatches(std::size_t sample_count, std::size_t batch_size, Random& random);

/// Minibatches of samples of similar sizes, for training: shuffles the samples, sorts each pool of
/// pool_batches * batch_size samples by size, and shuffles the minibatches. Sizes have any unit
/// that grows with the work, such as Tree::size(). The smaller minibatch may be anywhere.
Minibatches similar_size_minibatches(std::span<const std::uint32_t> sizes, std::size_t batch_size,
                                     std::size_t pool_batches, Random& random);
/// The same with pools whose total size is at most pool_batches * total.limit.
Minibatches similar_size_minibatches(std::span<const std::uint32_t> sizes, TotalSize total,
                                     std::size_t pool_batches, Random& random);

/// Minibatches of samples from the smallest to the largest, those of one size in the order of their
/// numbers, for evaluation. Always the same. The last minibatch may be smaller.
Minibatches sorted_minibatches(std::span<const std::uint32_t> sizes, std::size_t batch_size);
Minibatches sorted_minibatches(std::span<const std::uint32_t> sizes, TotalSize total);

/// The total size of some samples, such as the number of words in a minibatch. Throws UsageError
/// for a sample without a size.
std::uint64_t total_size(std::span<const std::uint32_t> sizes,
                         std::span<const std::uint32_t> samples);

}  // namespace dynet_like::nn
