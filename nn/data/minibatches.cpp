// Minibatches are slices of a list of sample numbers, after it has been shuffled or sorted.
#include "nn/data/minibatches.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

using Samples = std::vector<std::uint32_t>;

/// How full a minibatch is: samples count 1 each, or their sizes.
struct Filling {
  std::uint64_t limit;
  std::span<const std::uint32_t> sizes = {};  ///< if empty, each counts 1

  std::uint64_t of(std::uint32_t sample) const { return sizes.empty() ? 1 : sizes[sample]; }
};

Samples numbered(std::size_t sample_count, const Filling& filling) {
  if (filling.limit == 0) throw UsageError("minibatches need a batch size above 0; got 0");
  if (sample_count > std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError("minibatches need fewer than 2^32 samples; got " +
                     std::to_string(sample_count));
  }
  Samples samples(sample_count);
  std::iota(samples.begin(), samples.end(), 0u);
  return samples;
}

/// Consecutive slices, each as long as the limit allows, but with at least one sample.
std::vector<std::span<std::uint32_t>> slices(std::span<std::uint32_t> samples,
                                             const Filling& filling) {
  std::vector<std::span<std::uint32_t>> result;
  while (!samples.empty()) {
    std::size_t length = 1;
    std::uint64_t filled = filling.of(samples[0]);  // exact: fewer than 2^32 sizes below 2^32
    while (length < samples.size() && filled + filling.of(samples[length]) <= filling.limit) {
      filled += filling.of(samples[length++]);
    }
    result.push_back(samples.first(length));
    samples = samples.subspan(length);
  }
  return result;
}

void sort_by_size(std::span<std::uint32_t> samples, std::span<const std::uint32_t> sizes) {
  std::stable_sort(samples.begin(), samples.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return sizes[a] < sizes[b]; });
}

void cut(std::span<std::uint32_t> samples, const Filling& filling, Minibatches& batches) {
  for (const std::span<std::uint32_t> slice : slices(samples, filling)) {
    batches.emplace_back(slice.begin(), slice.end());
  }
}

Minibatches similar_sizes(std::span<const std::uint32_t> sizes, const Filling& filling,
                          std::size_t pool_batches, Random& random) {
  Samples samples = numbered(sizes.size(), filling);
  if (pool_batches == 0) throw UsageError("minibatches need pools of 1 batch or more; got 0");
  random.shuffle(samples);
  Filling pool = filling;
  // If the product overflows, all samples are one pool.
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  pool.limit = pool_batches > kLargest / filling.limit ? kLargest : filling.limit * pool_batches;
  Minibatches batches;
  for (const std::span<std::uint32_t> slice : slices(samples, pool)) {
    sort_by_size(slice, sizes);
    cut(slice, filling, batches);
  }
  random.shuffle(batches);
  return batches;
}

Minibatches sorted(std::span<const std::uint32_t> sizes, const Filling& filling) {
  Samples samples = numbered(sizes.size(), filling);
  sort_by_size(samples, sizes);
  Minibatches batches;
  cut(samples, filling, batches);
  return batches;
}

}  // namespace

Minibatches shuffled_minibatches(std::size_t sample_count, std::size_t batch_size, Random& random) {
  const Filling filling = {batch_size};
  Samples samples = numbered(sample_count, filling);
  random.shuffle(samples);
  Minibatches batches;
  cut(samples, filling, batches);
  return batches;
}

Minibatches similar_size_minibatches(std::span<const std::uint32_t> sizes, std::size_t batch_size,
                                     std::size_t pool_batches, Random& random) {
  return similar_sizes(sizes, {batch_size}, pool_batches, random);
}

Minibatches similar_size_minibatches(std::span<const std::uint32_t> sizes, TotalSize total,
                                     std::size_t pool_batches, Random& random) {
  return similar_sizes(sizes, {total.limit, sizes}, pool_batches, random);
}

Minibatches sorted_minibatches(std::span<const std::uint32_t> sizes, std::size_t batch_size) {
  return sorted(sizes, {batch_size});
}

Minibatches sorted_minibatches(std::span<const std::uint32_t> sizes, TotalSize total) {
  return sorted(sizes, {total.limit, sizes});
}

std::uint64_t total_size(std::span<const std::uint32_t> sizes,
                         std::span<const std::uint32_t> samples) {
  std::uint64_t total = 0;
  for (const std::uint32_t sample : samples) {
    if (sample >= sizes.size()) {
      throw UsageError("[total_size] need samples below " + std::to_string(sizes.size()) +
                       "; got " + std::to_string(sample));
    }
    total += sizes[sample];
  }
  return total;
}

}  // namespace dynet_like::nn
