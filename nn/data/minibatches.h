// Splitting of samples into minibatches: shuffled, or with samples of similar sizes together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/core/random.h"

namespace dynet_like::nn {

/// The numbers of the samples, from 0, of each minibatch; every sample is in exactly one. All have
/// the batch size but for one that may be smaller. All functions throw UsageError for batch size
/// 0 and for 2^32 samples or more; no samples make no batches.
using Minibatches = std::vector<std::vector<std::uint32_t>>;

/// Another batch size: as many samples as have sizes that add up to at most this, such as 2,000
/// words. A sample that is larger is a minibatch of its own.
struct TotalSize {
  std::uint64_t limit;
};

/// Minibatches of samples in random order; the smaller one is the last.
Minibatches shuffled_minibatches(std::size_t sample_count, std::size_t batch_size, Random& random);

/// Minibatches of samples of similar sizes, for training: shuffles the samples, sorts each pool of
/// pool_batches * batch_size of them by size, and shuffles the batches. Sizes have any unit that
/// grows with the work, such as Tree::size(). The smaller batch may come anywhere.
Minibatches similar_size_minibatches(std::span<const std::uint32_t> sizes, std::size_t batch_size,
                                     std::size_t pool_batches, Random& random);
/// The same with pools whose sizes add up to at most pool_batches * total.limit.
Minibatches similar_size_minibatches(std::span<const std::uint32_t> sizes, TotalSize total,
                                     std::size_t pool_batches, Random& random);

/// Minibatches of samples from the smallest to the largest, those of one size in the order of their
/// numbers, for evaluation: always the same; the smaller batch is the last.
Minibatches sorted_minibatches(std::span<const std::uint32_t> sizes, std::size_t batch_size);
Minibatches sorted_minibatches(std::span<const std::uint32_t> sizes, TotalSize total);

/// The sum of the sizes of some samples, such as the words of a minibatch. Throws UsageError for a
/// sample without a size.
std::uint64_t total_size(std::span<const std::uint32_t> sizes,
                         std::span<const std::uint32_t> samples);

}  // namespace dynet_like::nn
