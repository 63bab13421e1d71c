// Cuts minibatches into shards, and builds the tree over them.
#include "dynet_like/distributed/shards.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like {

Shards cut_into_shards(std::span<const std::uint32_t> samples, std::span<const std::uint32_t> costs,
                       unsigned count) {
  if (count == 0) throw UsageError("[Shards] need 1 shard or more; got 0");
  const auto cost_of = [&](std::size_t place) -> std::uint64_t {
    if (costs.empty()) return 1;
    if (samples[place] < costs.size()) return costs[samples[place]];
    throw UsageError(fmt::format("[Shards] need a cost for each sample; got sample {} and {}",
                                 samples[place], detail::counted(costs.size(), "cost")));
  };
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (count > 1) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return cost_of(a) > cost_of(b); });
  }
  std::vector<std::uint64_t> loads(count, 0);
  std::vector<std::vector<std::size_t>> places(count);
  for (const std::size_t place : order) {
    const auto least =
        static_cast<std::size_t>(std::min_element(loads.begin(), loads.end()) - loads.begin());
    // A sample without cost still adds to the number of samples.
    loads[least] += std::max<std::uint64_t>(cost_of(place), 1);
    places[least].push_back(place);
  }
  Shards shards;
  for (std::vector<std::size_t>& some : places) {
    std::sort(some.begin(), some.end());
    for (const std::size_t place : some) shards.samples.push_back(samples[place]);
    shards.ends.push_back(static_cast<std::uint32_t>(shards.samples.size()));
  }
  return shards;
}

namespace detail {

std::vector<TreeNode> tree_nodes(RankPart shards) {
  std::vector<TreeNode> nodes;
  for (std::size_t first = shards.begin; first < shards.end;) {
    unsigned level = 0;
    while (first % (std::size_t{2} << level) == 0 &&
           first + (std::size_t{2} << level) <= shards.end) {
      ++level;
    }
    nodes.push_back({first, level});
    first += std::size_t{1} << level;
  }
  return nodes;
}

}  // namespace detail

}  // namespace dynet_like
