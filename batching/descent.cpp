// Policy descent: each batch lowers the bound on the remaining batches by one, if that is certain.
//
// rank(v) is the longest chain of v's own type from v towards the outputs. M is the largest rank
// among the unexecuted nodes of a type. The sum of M over the types is a lower bound on the
// remaining batches. Running a type lowers it by one exactly if all its unexecuted nodes of rank M
// are ready; such a type is certified. A schedule of certified steps only reaches the bound.
//
// Among certified types the one with the smallest mean depth runs (over all nodes of the type in
// the graph; ties: the smaller type). Without a certified type the schedule gets one batch more
// than the bound. That batch goes to a type that depends on no other remaining types, since types
// that only read others, such as output layers and losses, gain companions by waiting. Of these
// types it goes to the one with the smallest M: it has the fewest batches to align with those of
// the others (ties: the largest ready share at rank M, the smaller mean depth, the smaller type).
#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "batching/policies.h"

namespace dynet_like::batching {
namespace {

/// An uncertified step compares at most this many types, which bounds its time.
constexpr std::size_t most_compared = 64;

class Descent {
 public:
  explicit Descent(Scratch& scratch)
      : s_(scratch.descent),
        survey_(scratch.survey),
        cycles_(scratch.cycles),
        turns_(scratch.turns),
        ready_(scratch.ready) {}

  void prepare(const Dag& dag, const ChainRanks& ranks);
  void run(Schedule& schedule);

 private:
  std::uint32_t next_type();
  std::uint32_t best_uncertified() const;
  void start_below(std::uint32_t type);
  void drop_candidate(std::uint32_t type);

  DescentScratch& s_;
  const Survey& survey_;
  const TypeCycles& cycles_;
  std::vector<Turn>& turns_;  ///< the certified types
  ReadyNodes& ready_;
};

/// Nodes of one type and rank are a group; the groups of a type are side by side.
void Descent::prepare(const Dag& dag, const ChainRanks& ranks) {
  s_.first_group.resize(dag.type_count + 1);
  s_.first_group[0] = 0;
  std::inclusive_scan(ranks.longest.begin(), ranks.longest.end(), s_.first_group.begin() + 1);
  s_.waiting.assign(s_.first_group.back(), 0);
  s_.top.assign(s_.first_group.begin() + 1, s_.first_group.end());
  s_.top_total.resize(dag.type_count);
  s_.place.resize(dag.type_count);
  s_.candidates.clear();
  turns_.clear();
  ready_.reset(dag, survey_, [&](std::uint32_t node, std::uint32_t type) {
    const std::uint32_t group = s_.first_group[type] + ranks.rank[node] - 1;
    ++s_.waiting[group];
    return group;
  });
  for (std::uint32_t type = 0; type < dag.type_count; ++type) start_below(type);
}

void Descent::run(Schedule& schedule) {
  const auto on_ready = [this](const ReadyNodes::Node& node, bool first) {
    if (first) {
      s_.place[node.type] = static_cast<std::uint32_t>(s_.candidates.size());
      s_.candidates.push_back(node.type);
    }
    // Once no node of the largest rank waits, the type stays certified until it runs.
    if (--s_.waiting[node.group] == 0 && node.group + 1 == s_.top[node.type]) {
      turns_.emplace_back(survey_.mean_depth[node.type], node.type);
      std::push_heap(turns_.begin(), turns_.end(), std::greater<>());
    }
  };
  ready_.release_sources(on_ready);
  while (!s_.candidates.empty()) {
    const std::uint32_t type = next_type();
    ready_.take(type, schedule);
    drop_candidate(type);
    start_below(type);
    ready_.release_consumers(on_ready);
  }
}

std::uint32_t Descent::next_type() {
  if (turns_.empty()) return best_uncertified();
  std::pop_heap(turns_.begin(), turns_.end(), std::greater<>());
  const std::uint32_t type = turns_.back().second;
  turns_.pop_back();
  return type;
}

std::uint32_t Descent::best_uncertified() const {
  const auto merit = [this](std::uint32_t type) {  // the smallest is the best
    const std::uint32_t ranks_left = s_.top[type] - s_.first_group[type];
    const double waiting_share =
        static_cast<double>(s_.waiting[s_.top[type] - 1]) / s_.top_total[type];
    return std::tuple(cycles_.stage[type], ranks_left, waiting_share, survey_.mean_depth[type],
                      type);
  };
  const std::size_t compared = std::min(s_.candidates.size(), most_compared);
  auto best = merit(s_.candidates[0]);
  for (std::size_t i = 1; i < compared; ++i) best = std::min(best, merit(s_.candidates[i]));
  return std::get<4>(best);
}

/// Finds the largest remaining rank of the type when all its unexecuted nodes wait.
void Descent::start_below(std::uint32_t type) {
  std::uint32_t top = s_.top[type];
  while (top > s_.first_group[type] && s_.waiting[top - 1] == 0) --top;
  s_.top[type] = top;
  s_.top_total[type] = top > s_.first_group[type] ? s_.waiting[top - 1] : 0;
}

void Descent::drop_candidate(std::uint32_t type) {
  const std::uint32_t last = s_.candidates.back();
  s_.candidates[s_.place[type]] = last;
  s_.place[last] = s_.place[type];
  s_.candidates.pop_back();
}

}  // namespace

void descend(const Dag& dag, Scratch& scratch, Schedule& schedule) {
  find_chain_ranks(dag, scratch.survey, scratch.cycles, scratch.ranks);
  const auto& longest = scratch.ranks.longest;
  schedule.bound = std::accumulate(longest.begin(), longest.end(), 0u);
  Descent descent(scratch);
  descent.prepare(dag, scratch.ranks);
  descent.run(schedule);
}

void plan_descent(const Dag& dag, Scratch& scratch, Schedule& schedule) {
  find_type_cycles(dag, scratch.survey, scratch.cycles);
  descend(dag, scratch, schedule);
}

}  // namespace dynet_like::batching
