// A lower bound on the number of batches of a graph.
#include "batching/lower_bound.h"

#include <numeric>
#include <utility>

#include "batching/chain_ranks.h"
#include "batching/survey.h"
#include "batching/type_cycles.h"

namespace dynet_like::batching {

std::uint32_t lower_bound(const Dag& dag) {
  const std::vector<std::uint32_t> chains = longest_chains(dag);
  return std::accumulate(chains.begin(), chains.end(), 0u);
}

std::vector<std::uint32_t> longest_chains(const Dag& dag) {
  Survey survey;
  TypeCycles cycles;
  ChainRanks ranks;
  take_survey(dag, survey);
  find_type_cycles(dag, survey, cycles);
  find_chain_ranks(dag, survey, cycles, ranks);
  return std::move(ranks.longest);
}

}  // namespace dynet_like::batching
