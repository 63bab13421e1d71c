// Policy descent against its definition, in plain loops.
#include "batching/dag_builder.h"
#include "batching/planner.h"
#include "batching/survey.h"
#include "batching/type_cycles.h"
#include "tests/support/precompiled.h"

namespace dynet_like::batching {
namespace {

using Id = std::uint32_t;
using Random = std::mt19937;

/// See batching/descent.cpp. Everything is counted anew for every batch.
class PlainDescent {
 public:
  explicit PlainDescent(const Dag& dag) : dag_(dag), has_run_(dag.size(), false) {
    take_survey(dag, survey_);
    find_type_cycles(dag, survey_, cycles_);
    find_ranks();
    find_mean_depths();
  }

  /// The nodes of every batch, in their order of recording.
  std::vector<std::vector<Id>> run() {
    std::vector<std::vector<Id>> batches;
    for (std::size_t left = dag_.size(); left > 0; left -= batches.back().size()) {
      batches.push_back(ready(next_type()));
      for (const Id v : batches.back()) has_run_[v] = true;
    }
    return batches;
  }

 private:
  /// The longest chain of a node's own type from it towards the outputs.
  void find_ranks() {
    rank_.assign(dag_.size(), 1);
    for (std::size_t v = 0; v < dag_.size(); ++v) {
      std::vector<Id> longest(dag_.size(), 0);  // on paths from v
      longest[v] = 1;
      for (std::size_t w = v + 1; w < dag_.size(); ++w) {
        for (const Id u : dag_.inputs_of(w)) longest[w] = std::max(longest[w], longest[u]);
        if (longest[w] > 0) longest[w] += dag_.type[w] == dag_.type[v];
        rank_[v] = std::max(rank_[v], longest[w]);
      }
    }
  }
  void find_mean_depths() {
    std::vector<Id> depth(dag_.size(), 0), members(dag_.type_count, 0);
    mean_depth_.assign(dag_.type_count, 0);
    for (std::size_t v = 0; v < dag_.size(); ++v) {
      for (const Id u : dag_.inputs_of(v)) depth[v] = std::max(depth[v], depth[u] + 1);
      mean_depth_[dag_.type[v]] += depth[v];
      ++members[dag_.type[v]];
    }
    for (Id t = 0; t < dag_.type_count; ++t) mean_depth_[t] /= std::max(members[t], 1u);
  }
  bool is_ready(Id v) const {
    const auto inputs = dag_.inputs_of(v);
    return !has_run_[v] &&
           std::all_of(inputs.begin(), inputs.end(), [&](Id u) { return has_run_[u]; });
  }
  std::vector<Id> ready(Id type) const {
    std::vector<Id> nodes;
    for (Id v = 0; v < dag_.size(); ++v) {
      if (dag_.type[v] == type && is_ready(v)) nodes.push_back(v);
    }
    return nodes;
  }
  Id next_type() const {
    using Certified = std::tuple<double, Id>;
    using Other = std::tuple<Id, Id, double, double, Id>;
    std::vector<Certified> certified;
    std::vector<Other> others;
    for (Id type = 0; type < dag_.type_count; ++type) {
      if (ready(type).empty()) continue;
      Id largest = 0;
      for (Id v = 0; v < dag_.size(); ++v) {
        if (dag_.type[v] == type && !has_run_[v]) largest = std::max(largest, rank_[v]);
      }
      double waiting = 0, all = 0;
      for (Id v = 0; v < dag_.size(); ++v) {
        if (dag_.type[v] != type || has_run_[v] || rank_[v] != largest) continue;
        ++all;
        waiting += !is_ready(v);
      }
      if (waiting == 0) certified.emplace_back(mean_depth_[type], type);
      others.emplace_back(cycles_.stage[type], largest, waiting / all, mean_depth_[type], type);
    }
    return certified.empty() ? std::get<4>(*std::ranges::min_element(others))
                             : std::get<1>(*std::ranges::min_element(certified));
  }

  const Dag& dag_;
  std::vector<bool> has_run_;
  std::vector<Id> rank_;
  std::vector<double> mean_depth_;
  Survey survey_;
  TypeCycles cycles_;
};

TEST(PlainDescent, HasTheSameBatches) {
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    DagBuilder graph;
    const Id size = 1 + static_cast<Id>(random() % 60), types = 1 + static_cast<Id>(random() % 7);
    const Id reach = 1 + static_cast<Id>(random() % 30),
             most_inputs = 1 + static_cast<Id>(random() % 3);
    for (Id v = 0; v < size; ++v) {
      std::vector<Id> inputs;
      for (Id k = v == 0 ? 0 : static_cast<Id>(random() % (most_inputs + 1)); k > 0; --k) {
        inputs.push_back(v - 1 - static_cast<Id>(random() % std::min(v, reach)));
      }
      graph.add(static_cast<Id>(random() % types), inputs);
    }
    Planner planner;
    const Schedule& schedule = planner.plan(graph.dag(), Policy::descent);
    std::vector<std::vector<Id>> batches;
    for (std::size_t b = 0; b < schedule.size(); ++b) {
      batches.emplace_back(schedule.batch(b).begin(), schedule.batch(b).end());
      std::ranges::sort(batches.back());
    }
    ASSERT_EQ(batches, PlainDescent(graph.dag()).run()) << "graph " << i;
  }
}

}  // namespace
}  // namespace dynet_like::batching
