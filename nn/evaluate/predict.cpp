// predict: inference minibatches, one after the other; each rank runs its share of them.
#include "nn/evaluate/predict.h"

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "nn/data/minibatches.h"

namespace dynet_like::nn {

namespace {

Minibatches minibatches_of(std::size_t count, const PredictionOptions& options) {
  if (options.sizes.empty()) {
    return sorted_minibatches(std::vector<std::uint32_t>(count), options.batch_size);
  }
  if (options.sizes.size() != count) {
    throw UsageError(fmt::format("[predict] need a size per sample, or none; got {} for {}",
                                 options.sizes.size(), count));
  }
  return sorted_minibatches(options.sizes, options.batch_size);
}

/// Calls use(sample) for each sample of the minibatches of a rank.
template <class Use>
void for_samples_of(const Communicator& ranks, unsigned rank, const Minibatches& all,
                    const Use& use) {
  for (std::size_t m = rank; m < all.size(); m += ranks.size()) {
    for (const std::uint32_t sample : all[m]) use(sample);
  }
}

void share(Communicator& ranks, const Minibatches& all, const Prediction& prediction) {
  Communicator::Bytes mine;
  for_samples_of(ranks, ranks.rank(), all, [&](auto sample) { prediction.append(sample, mine); });
  std::vector<Communicator::Bytes> by_rank;
  ranks.all_gather(mine, by_rank);
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    std::span<const std::byte> bytes = by_rank[rank];
    if (rank == ranks.rank()) continue;
    for_samples_of(ranks, rank, all, [&](auto sample) { prediction.read(sample, bytes); });
  }
}

}  // namespace

void predict_samples(std::size_t count, const Prediction& prediction,
                     const PredictionOptions& options) {
  const Minibatches all = minibatches_of(count, options);
  const bool is_shared = options.ranks != nullptr && options.ranks->size() > 1;
  if (is_shared && prediction.append == nullptr) {
    throw UsageError(
        "[predict] need results that are numbers, strings, or vectors of these, to share them with "
        "other ranks; got a type of your own");
  }
  GraphOptions graph_options = options.graph;
  graph_options.inference = true;
  Minibatch batch(graph_options);
  std::vector<std::uint64_t> seeds;
  for (std::size_t m = is_shared ? options.ranks->rank() : 0; m < all.size();
       m += is_shared ? options.ranks->size() : 1) {
    seeds.clear();
    for (const std::uint32_t sample : all[m]) {
      seeds.push_back(derived_seed(options.graph.seed.value_or(0), 0, sample));
    }
    batch.clear();
    batch.seed_samples(seeds);
    batch.run_samples(all[m].size(), [&](ComputationGraph& graph, std::size_t i) {
      prediction.run(graph, all[m][i]);
    });
  }
  if (is_shared) share(*options.ranks, all, prediction);
}

}  // namespace dynet_like::nn
