// The benchmark's network over molecules: different sizes, and molecules joined by hand.
#include <gtest/gtest.h>

#include "bench/models/graph_network.h"

namespace dynet_like::bench::molecules {
namespace {

using Record = void (*)(Minibatch&, const GraphNetwork&, std::span<const Molecules>);

std::vector<Molecules> molecules_of(const std::vector<unsigned>& sizes) {
  Random random(3);
  std::vector<Molecules> all;
  for (const unsigned size : sizes) all.push_back(random_molecule(size, random));
  return all;
}

std::vector<Molecules> different_molecules() {
  std::vector<unsigned> sizes;
  for (unsigned size = 2; size <= 33; ++size) sizes.push_back(size);
  return molecules_of(sizes);
}

struct Pass {
  float loss;
  Report report;
};
Pass pass(const GraphNetwork& network, Record record, std::span<const Molecules> all) {
  Minibatch batch;
  record(batch, network, all);
  const float loss = batch.forward();
  batch.backward();
  return {loss, batch.explain()};
}

TEST(GraphNetworkBenchmarkTest, JoinedMoleculesAreTheSame) {
  const GraphNetwork network(16);
  const auto all = different_molecules();
  const float expected = pass(network, record_each, all).loss;
  EXPECT_GT(expected, 0);
  EXPECT_NEAR(pass(network, record_joined, all).loss, expected, 1e-5f * expected);
}

// There are as many batches as one graph has nodes to run, however many molecules there are.
TEST(GraphNetworkBenchmarkTest, MoleculesOfDifferentSizesShareBatches) {
  const GraphNetwork network(16);
  const Report each = pass(network, record_each, different_molecules()).report;
  const Report equal =
      pass(network, record_each, molecules_of(std::vector<unsigned>(32, 9))).report;
  const Report joined = pass(network, record_joined, different_molecules()).report;
  EXPECT_EQ(each.batches, equal.batches);
  EXPECT_EQ(each.batches, joined.batches);
  EXPECT_EQ(each.bound, joined.batches);
}

}  // namespace
}  // namespace dynet_like::bench::molecules
