// The rank of every node, by sweeps from the outputs that count many types at once.
#include "batching/chain_ranks.h"

#include <algorithm>
#include <limits>

namespace dynet_like::batching {
namespace {

constexpr std::uint32_t none = TypeCycles::none;

/// One sweep. Every node carries a vector: for each type of its cycle, the longest chain of that
/// type on a path from the node. It is the lane-wise maximum over the node's consumers, plus the
/// node itself. A node needs its vector only from its last consumer's turn to its own. So the
/// vectors in use stay in the L1 cache: a node takes over the memory of a consumer that is done.
template <class Lane, std::uint32_t width>
class Sweep {
 public:
  Sweep(ChainRanks& ranks, std::vector<Lane>& vectors) : ranks_(ranks), vectors_(vectors) {
    ranks_.free_slots.clear();
  }

  void run(const Dag& dag) {
    const ChainRanks::Role* const roles = ranks_.roles.data();
    const std::uint32_t* const type = dag.type.data();
    for (std::size_t v = dag.size(); v-- > 0;) {
      const ChainRanks::Role role = roles[type[v]];
      if (role.cycle == none) continue;
      std::uint32_t own = ranks_.slot[v];
      if (own == none) {
        own = new_slot();
        std::fill_n(vector(own), width, Lane{0});
      }
      if (role.lane != none) {
        const auto rank = static_cast<std::uint32_t>(++vector(own)[role.lane]);
        ranks_.rank[v] = rank;
        ranks_.longest[type[v]] = std::max(ranks_.longest[type[v]], rank);
      }
      pass_on(own, role.cycle, dag, v);
    }
  }

 private:
  /// Merges the vector in slot `own` into those of the inputs in the same cycle.
  void pass_on(std::uint32_t own, std::uint32_t cycle, const Dag& dag, std::size_t v) {
    bool given_away = false;
    for (std::uint32_t e = dag.first_input[v], end = dag.first_input[v + 1]; e < end; ++e) {
      const std::uint32_t u = dag.inputs[e];
      if (ranks_.roles[dag.type[u]].cycle != cycle) continue;
      std::uint32_t& slot = ranks_.slot[u];
      if (slot == none) {
        slot = given_away ? new_slot() : own;
        if (given_away) std::copy_n(vector(own), width, vector(slot));
        given_away = true;
      } else if (slot != own) {
        raise(vector(slot), vector(own));
      }
    }
    if (!given_away) ranks_.free_slots.push_back(own);
  }

  static void raise(Lane* to, const Lane* from) {
    // In copies, which cannot overlap: compilers then use SIMD for all widths.
    Lane a[width], b[width];
    std::copy_n(to, width, a);
    std::copy_n(from, width, b);
    for (std::uint32_t i = 0; i < width; ++i) a[i] = a[i] > b[i] ? a[i] : b[i];
    std::copy_n(a, width, to);
  }

  Lane* vector(std::uint32_t slot) { return vectors_.data() + std::size_t{slot} * width; }

  std::uint32_t new_slot() {
    if (!ranks_.free_slots.empty()) {
      const std::uint32_t slot = ranks_.free_slots.back();
      ranks_.free_slots.pop_back();
      return slot;
    }
    if (vectors_.size() < std::size_t{used_ + 1} * width) {
      vectors_.resize(std::max(std::size_t{64} * width, 2 * vectors_.size()));
    }
    return used_++;
  }

  ChainRanks& ranks_;
  std::vector<Lane>& vectors_;
  std::uint32_t used_ = 0;
};

template <class Lane>
void run_sweep(const Dag& dag, std::uint32_t lanes, ChainRanks& ranks, std::vector<Lane>& vectors) {
  if (lanes <= 8) {
    Sweep<Lane, 8>(ranks, vectors).run(dag);
  } else if (lanes <= 16) {
    Sweep<Lane, 16>(ranks, vectors).run(dag);
  } else if (lanes <= 24) {
    Sweep<Lane, 24>(ranks, vectors).run(dag);
  } else {
    Sweep<Lane, 32>(ranks, vectors).run(dag);
  }
}

/// The role of each type in the sweep that counts the lanes from `first` on.
void assign_roles(const TypeCycles& cycles, std::uint32_t first, ChainRanks& ranks) {
  ranks.roles.resize(cycles.cycle.size());
  for (std::size_t t = 0; t < ranks.roles.size(); ++t) {
    const std::uint32_t cycle = cycles.cycle[t];
    const std::uint32_t lane = cycles.lane[t];
    const bool counted =
        lane != none && lane >= first && lane - first < ChainRanks::lanes_per_sweep;
    ranks.roles[t].cycle = cycle != none && cycles.lanes[cycle] > first ? cycle : none;
    ranks.roles[t].lane = counted ? lane - first : none;
  }
}

}  // namespace

std::uint32_t sweeps_for(const TypeCycles& cycles) {
  return (cycles.most_lanes + ChainRanks::lanes_per_sweep - 1) / ChainRanks::lanes_per_sweep;
}

void find_chain_ranks(const Dag& dag, const Survey& survey, const TypeCycles& cycles,
                      ChainRanks& ranks) {
  ranks.rank.assign(dag.size(), 1);
  ranks.longest.resize(dag.type_count);
  for (std::uint32_t t = 0; t < dag.type_count; ++t) {
    ranks.longest[t] = survey.members[t] == 0 ? 0 : 1;
  }
  for (std::uint32_t sweep = 0; sweep < sweeps_for(cycles); ++sweep) {
    const std::uint32_t first = sweep * ChainRanks::lanes_per_sweep;
    const std::uint32_t lanes = std::min(cycles.most_lanes - first, ChainRanks::lanes_per_sweep);
    assign_roles(cycles, first, ranks);
    ranks.slot.assign(dag.size(), none);
    // No chain is longer than the longest path.
    if (survey.levels <= std::uint32_t{std::numeric_limits<std::int16_t>::max()}) {
      run_sweep(dag, lanes, ranks, ranks.narrow);
    } else {
      run_sweep(dag, lanes, ranks, ranks.wide);
    }
  }
}

}  // namespace dynet_like::batching
