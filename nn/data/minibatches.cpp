// Minibatches are slices of a list of sample numbers that is shuffled or sorted first.
#include "nn/data/minibatches.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

using Samples = std::vector<std::uint32_t>;

Samples numbered(std::size_t sample_count, std::size_t batch_size) {
  if (batch_size == 0) throw UsageError("minibatches need a batch size above 0; got 0");
  if (sample_count > std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError("minibatches need fewer than 2^32 samples; got " +
                     std::to_string(sample_count));
  }
  Samples samples(sample_count);
  std::iota(samples.begin(), samples.end(), 0u);
  return samples;
}

/// Consecutive slices of `length` elements, the last one shorter if need be.
std::vector<std::span<std::uint32_t>> slices(Samples& samples, std::size_t length) {
  std::vector<std::span<std::uint32_t>> result;
  for (std::span rest(samples); !rest.empty();) {
    result.push_back(rest.first(std::min(length, rest.size())));
    rest = rest.subspan(result.back().size());
  }
  return result;
}

void sort_by_size(std::span<std::uint32_t> samples, std::span<const std::uint32_t> sizes) {
  std::stable_sort(samples.begin(), samples.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return sizes[a] < sizes[b]; });
}

Minibatches cut(Samples& samples, std::size_t batch_size) {
  Minibatches batches;
  for (const std::span<std::uint32_t> slice : slices(samples, batch_size)) {
    batches.emplace_back(slice.begin(), slice.end());
  }
  return batches;
}

}  // namespace

Minibatches shuffled_minibatches(std::size_t sample_count, std::size_t batch_size, Random& random) {
  Samples samples = numbered(sample_count, batch_size);
  random.shuffle(samples);
  return cut(samples, batch_size);
}

Minibatches similar_size_minibatches(std::span<const std::uint32_t> sizes, std::size_t batch_size,
                                     std::size_t pool_batches, Random& random) {
  Samples samples = numbered(sizes.size(), batch_size);
  if (pool_batches == 0) throw UsageError("minibatches need pools of 1 batch or more; got 0");
  random.shuffle(samples);
  // More batches than there are make one pool; the product must not overflow.
  const std::size_t pool =
      pool_batches > samples.size() / batch_size ? samples.size() : pool_batches * batch_size;
  for (const std::span<std::uint32_t> slice : slices(samples, pool)) sort_by_size(slice, sizes);
  Minibatches batches = cut(samples, batch_size);
  random.shuffle(batches);
  return batches;
}

Minibatches sorted_minibatches(std::span<const std::uint32_t> sizes, std::size_t batch_size) {
  Samples samples = numbered(sizes.size(), batch_size);
  sort_by_size(samples, sizes);
  return cut(samples, batch_size);
}

}  // namespace dynet_like::nn
