// Tests of the planner: policies, the lower bound, the validator.
#include "batching/dag_builder.h"
#include "batching/lower_bound.h"
#include "batching/planner.h"
#include "batching/policies.h"
#include "batching/survey.h"
#include "batching/type_cycles.h"
#include "batching/validate.h"
#include "tests/support/precompiled.h"

namespace dynet_like::batching {
namespace {

using Id = std::uint32_t;
using Random = std::mt19937;

/// The longest chains by their definition: one sweep for every type.
std::vector<Id> reference_chains(const Dag& dag) {
  std::vector<Id> chains(dag.type_count, 0);
  for (Id type = 0; type < dag.type_count; ++type) {
    std::vector<Id> longest(dag.size(), 0);
    for (std::size_t v = 0; v < dag.size(); ++v) {
      for (const Id u : dag.inputs_of(v)) longest[v] = std::max(longest[v], longest[u]);
      longest[v] += dag.type[v] == type;
      chains[type] = std::max(chains[type], longest[v]);
    }
  }
  return chains;
}

Id sum(const std::vector<Id>& values) {
  Id total = 0;
  for (const Id value : values) total += value;
  return total;
}

std::size_t batches(const Dag& dag, Policy policy) { return Planner().plan(dag, policy).size(); }

/// Plans under every policy and checks what holds for every graph.
void check_all_policies(const Dag& dag, Planner& planner) {
  const std::vector<Id> chains = reference_chains(dag);
  const Id bound = sum(chains);
  ASSERT_EQ(longest_chains(dag), chains);
  ASSERT_EQ(lower_bound(dag), bound);
  std::vector<std::size_t> counts;
  for (const Policy policy : kPolicies) {
    SCOPED_TRACE(std::string(name_of(policy)));
    const Schedule& schedule = planner.plan(dag, policy);
    ASSERT_EQ(first_fault(dag, schedule), "");
    ASSERT_GE(schedule.size(), bound);
    const bool must_know = policy == Policy::descent;
    ASSERT_TRUE(schedule.bound == bound || (schedule.bound == 0 && !must_know)) << schedule.bound;
    Planner fresh;
    const Schedule& again = fresh.plan(dag, policy);
    ASSERT_EQ(again.nodes, schedule.nodes);
    ASSERT_EQ(again.begin, schedule.begin);
    counts.push_back(schedule.size());
  }
  ASSERT_EQ(counts[0], dag.size());
}

struct RandomShape {
  Id size;
  Id types;
  Id most_inputs;
  Id reach;  ///< inputs are among that many nodes before
};

DagBuilder random_graph(const RandomShape& shape, Random& random) {
  DagBuilder graph;
  std::vector<Id> inputs;
  for (Id v = 0; v < shape.size; ++v) {
    inputs.clear();
    const auto count = v == 0 ? 0 : random() % (shape.most_inputs + 1);
    for (std::size_t i = 0; i < count; ++i) {
      inputs.push_back(v - 1 - static_cast<Id>(random() % std::min(v, shape.reach)));
    }
    graph.add(static_cast<Id>(random() % shape.types), inputs);
  }
  return graph;
}

/// The fewest batches of any schedule, by trying all of them.
Id fewest_batches(const Dag& dag) {
  const Id all = (1u << dag.size()) - 1;
  std::vector<Id> fewest(all + 1, UINT32_MAX);
  fewest[0] = 0;
  for (Id done = 0; done < all; ++done) {
    if (fewest[done] == UINT32_MAX) continue;
    for (Id type = 0; type < dag.type_count; ++type) {
      Id ready = 0;
      for (Id v = 0; v < dag.size(); ++v) {
        bool runs = dag.type[v] == type && (done >> v & 1) == 0;
        for (const Id u : dag.inputs_of(v)) runs = runs && (done >> u & 1) != 0;
        if (runs) ready |= 1u << v;
      }
      for (Id batch = ready; batch != 0; batch = (batch - 1) & ready) {
        fewest[done | batch] = std::min(fewest[done | batch], fewest[done] + 1);
      }
    }
  }
  return fewest[all];
}

/// A tree of nodes of type 0 with a loss of type 1 at every node.
Id add_tree_with_losses(int leaves, Random& random, DagBuilder& graph) {
  Id node;
  if (leaves == 1) {
    node = graph.add(2);
  } else {
    const int left = 1 + static_cast<int>(random() % (leaves - 1));
    const Id a = add_tree_with_losses(left, random, graph);
    const Id b = add_tree_with_losses(leaves - left, random, graph);
    node = graph.add(0, {a, b});
  }
  graph.add(1, {node});
  return node;
}

/// Words, two recurrent directions, one output per word.
void add_tagged_sentence(Id length, DagBuilder& graph) {
  std::vector<Id> words, forward, backward(length);
  for (Id i = 0; i < length; ++i) words.push_back(graph.add(0));
  for (Id i = 0, h = graph.add(1); i < length; ++i) {
    forward.push_back(h = graph.add(2, {words[i], h}));
  }
  for (Id i = length, h = graph.add(1); i-- > 0;) backward[i] = h = graph.add(3, {words[i], h});
  for (Id i = 0; i < length; ++i) {
    graph.add(5, {graph.add(4, {forward[i], backward[i]})});
  }
}

TEST(Policy, NamesRoundTrip) {
  for (const Policy policy : kPolicies) EXPECT_EQ(policy_from_name(name_of(policy)), policy);
  EXPECT_EQ(name_of(Policy::automatic), "auto");
  EXPECT_FALSE(policy_from_name("automatic"));
  EXPECT_FALSE(policy_from_name(""));
}

TEST(Planner, EmptyGraph) {
  Planner planner;
  for (const Policy policy : kPolicies) {
    const Schedule& schedule = planner.plan(Dag{}, policy);
    EXPECT_EQ(schedule.size(), 0u);
    EXPECT_EQ(first_fault(Dag{}, schedule), "");
  }
  EXPECT_EQ(lower_bound(Dag{}), 0u);
}

TEST(Planner, BatchesInOrderOfRelease) {
  DagBuilder graph;
  const Id a = graph.add(0);
  const Id b = graph.add(0);
  const Id of_b = graph.add(1, {b});
  const Id of_a = graph.add(1, {a});
  Planner planner;
  for (const Policy policy : {Policy::agenda, Policy::descent, Policy::automatic}) {
    EXPECT_EQ(planner.plan(graph.dag(), policy).nodes, (std::vector<Id>{a, b, of_a, of_b}));
  }
}

TEST(Planner, TwoChainsDefeatDepth) {
  // Three x then y, beside one x then two y: at depths 0..3 there are {x}, {x, y}, {x, y}, {y}.
  DagBuilder graph;
  const Id x = graph.add(0);
  const Id xx = graph.add(0, {x});
  const Id xxx = graph.add(0, {xx});
  graph.add(1, {xxx});
  const Id other = graph.add(0);
  graph.add(1, {graph.add(1, {other})});
  EXPECT_EQ(lower_bound(graph.dag()), 5u);
  EXPECT_EQ(batches(graph.dag(), Policy::depth), 6u);
  EXPECT_EQ(batches(graph.dag(), Policy::descent), 5u);
}

TEST(Planner, EarlyLossesDefeatAgenda) {
  // Twenty losses right after a word pull the mean depth of losses below that of a chain of ten;
  // agenda and depth then run them before the last loss, which follows the chain.
  DagBuilder graph;
  Id x = graph.add(0);
  for (int i = 1; i < 10; ++i) x = graph.add(0, {x});
  graph.add(1, {x});
  for (int i = 0; i < 20; ++i) graph.add(1, {graph.add(2)});
  EXPECT_EQ(lower_bound(graph.dag()), 12u);
  EXPECT_EQ(batches(graph.dag(), Policy::depth), 13u);
  EXPECT_EQ(batches(graph.dag(), Policy::agenda), 13u);
  EXPECT_EQ(batches(graph.dag(), Policy::descent), 12u);
  EXPECT_EQ(batches(graph.dag(), Policy::automatic), 12u);
}

TEST(Planner, TreesWithALossAtEveryNode) {
  Random random(3);
  DagBuilder graph;
  for (int i = 0; i < 20; ++i) {
    add_tree_with_losses(2 + static_cast<int>(random() % 20), random, graph);
  }
  const Id height = longest_chains(graph.dag())[0];
  EXPECT_EQ(lower_bound(graph.dag()), 1 + height + 1);
  EXPECT_EQ(batches(graph.dag(), Policy::descent), 1 + height + 1);
  EXPECT_EQ(batches(graph.dag(), Policy::automatic), 1 + height + 1);
  EXPECT_EQ(batches(graph.dag(), Policy::depth), 1 + height + height + 1);
}

TEST(Planner, Tagger) {
  DagBuilder graph;
  for (const Id length : {3u, 9u, 5u, 14u, 1u}) add_tagged_sentence(length, graph);
  EXPECT_EQ(lower_bound(graph.dag()), 2u + 14 + 14 + 2);
  EXPECT_EQ(batches(graph.dag(), Policy::descent), 2u + 14 + 14 + 2);
  EXPECT_EQ(batches(graph.dag(), Policy::agenda), 2u + 14 + 14 + 2);
  EXPECT_GT(batches(graph.dag(), Policy::depth), 2u + 14 + 14 + 2);
}

TEST(Planner, RandomGraphs) {
  Random random(5);
  Planner planner;
  for (int i = 0; i < 400; ++i) {
    const RandomShape shape{.size = 1 + static_cast<Id>(random() % (i % 10 == 0 ? 2000 : 200)),
                            .types = 1 + static_cast<Id>(random() % (i % 4 == 0 ? 90 : 12)),
                            .most_inputs = 1 + static_cast<Id>(random() % 4),
                            .reach = 1 + static_cast<Id>(random() % 100)};
    const DagBuilder graph = random_graph(shape, random);
    SCOPED_TRACE("graph " + std::to_string(i));
    ASSERT_NO_FATAL_FAILURE(check_all_policies(graph.dag(), planner));
  }
}

TEST(Planner, TypesWithoutNodesChangeNothing) {
  // With more than 64 types, edges between types are collected in another way.
  Random random(6);
  for (int i = 0; i < 100; ++i) {
    const DagBuilder dense = random_graph({400, 2 + Id(random() % 20), 3, 50}, random);
    DagBuilder sparse;
    for (Id v = 0; v < dense.dag().size(); ++v) {
      sparse.add(20 * dense.dag().type[v] + 3, dense.dag().inputs_of(v));
    }
    ASSERT_GT(sparse.dag().type_count, 20u);
    for (const Policy policy : kPolicies) {
      Planner one, other;
      const Schedule &expected = one.plan(dense.dag(), policy),
                     &schedule = other.plan(sparse.dag(), policy);
      ASSERT_EQ(schedule.nodes, expected.nodes) << "graph " << i << ", " << name_of(policy);
      ASSERT_EQ(schedule.begin, expected.begin);
      ASSERT_EQ(schedule.bound, expected.bound);
    }
  }
}

/// What automatic has to give: descent where it reaches the bound or depth has no fewer batches,
/// else depth; sinks then wait.
Schedule better_of_two(const Dag& dag) {
  Planner planner;
  Schedule best = planner.plan(dag, Policy::descent);
  if (best.size() == best.bound) return best;
  const Schedule& other = planner.plan(dag, Policy::depth);
  if (other.size() < best.size()) best.nodes = other.nodes, best.begin = other.begin;
  Scratch scratch;
  take_survey(dag, scratch.survey);
  find_type_cycles(dag, scratch.survey, scratch.cycles);
  gather_sinks(dag, scratch, best);
  return best;
}

// Of plans with equally many batches the first is taken: an order that others count on.
TEST(Planner, AutomaticTakesTheFirstOfTheBest) {
  Random random(8);
  int ties = 0, depth_is_better = 0;
  for (int i = 0; i < 16000; ++i) {  // most of them are small, for ties are rare in others
    RandomShape shape{8 + Id(random() % 60), 2 + Id(random() % 4), 1 + Id(random() % 3),
                      1 + Id(random() % 30)};
    if (i % 80 == 0) shape = {300, 8, 3, 1 + Id(random() % 60)};
    if (i >= 8000) shape = {20, 3, 2, 4};  // of these, depth is better for one of a thousand
    const DagBuilder graph = random_graph(shape, random);
    const Schedule expected = better_of_two(graph.dag());
    Planner planner;
    const Schedule& schedule = planner.plan(graph.dag(), Policy::automatic);
    ASSERT_EQ(schedule.nodes, expected.nodes) << "graph " << i;
    ASSERT_EQ(schedule.begin, expected.begin) << "graph " << i;
    const std::size_t descent = batches(graph.dag(), Policy::descent);
    const std::size_t depth = batches(graph.dag(), Policy::depth);
    ASSERT_LE(schedule.size(), depth) << "graph " << i;  // see graph/memory_needs.cpp
    ties += descent > expected.bound && descent == depth;
    depth_is_better += depth < descent;
  }
  EXPECT_GE(ties, 20);
  EXPECT_GE(depth_is_better, 3);
}

// Chains that need types 0 and 1 in different orders, so that no schedule reaches the bound, with
// an output layer and a loss at every node of them and of what came before.
TEST(Planner, SinksWaitForTheirCompanions) {
  for (const Id more_types : {0u, 200u}) {  // with many types in a cycle, descent is left out
    DagBuilder graph;
    for (Id sample = 0; sample < 32; ++sample) {
      Id x = graph.add(4);
      const auto add = [&](Id type) {
        x = graph.add(type, {x});
        graph.add(3, {graph.add(2, {x})});
      };
      for (Id i = 0; i < 10; ++i) add(5);
      for (Id i = 0; i < 6; ++i) add((sample >> i & 1) != 0 ? 1 : 0);
      for (Id i = 0; i < 2 * more_types; ++i) add(6 + i % more_types);
    }
    Planner planner;
    const Schedule& schedule = planner.plan(graph.dag(), Policy::automatic);
    ASSERT_EQ(first_fault(graph.dag(), schedule), "");
    std::vector<int> batches(6 + more_types, 0);
    for (std::size_t b = 0; b < schedule.size(); ++b) {
      ++batches[graph.dag().type[schedule.batch(b)[0]]];
    }
    EXPECT_EQ(batches[2], 1) << more_types;
    EXPECT_EQ(batches[3], 1) << more_types;
  }
}

TEST(Planner, TreesWithForgetGatesOfTheirOwn) {
  // Per tree node: gates 1 and 2 read the left and the right child, 3 reads both gates; 0 is a
  // word. A spine of trees that turns left and right in an order of its own per sample.
  Random random(4);
  DagBuilder graph;
  for (int sample = 0; sample < 30; ++sample) {
    Id x = graph.add(0);
    for (Id level = 3 + Id(random() % 12); level-- > 0;) {
      const Id leaf = graph.add(0);
      const bool left = random() % 2 == 0;
      x = graph.add(3, {graph.add(1, {left ? x : leaf}), graph.add(2, {left ? leaf : x})});
    }
  }
  const std::size_t height = longest_chains(graph.dag())[3];
  EXPECT_LE(batches(graph.dag(), Policy::descent), 3 * height + 1);
}

TEST(Planner, ManyTypesInOneCycle) {
  // More types than automatic plans with descent, and more than fit into one sweep of the ranks.
  Random random(9);
  Planner planner;
  const DagBuilder graph = random_graph({2000, 400, 3, 20}, random);
  check_all_policies(graph.dag(), planner);
  EXPECT_EQ(planner.plan(graph.dag(), Policy::automatic).bound, 0u);
  EXPECT_LE(batches(graph.dag(), Policy::automatic),
            std::min(batches(graph.dag(), Policy::depth), batches(graph.dag(), Policy::agenda)));
}

// At the largest number of a narrow counter, signed or not, and on both sides of it.
TEST(Planner, ChainsAsLongAsCountersReach) {
  for (const Id limit : {32'767u, 65'535u}) {
    for (const Id length : {limit - 1, limit, limit + 1}) {
      DagBuilder graph;
      Id node = graph.add(0);
      for (Id i = 1; i < length; ++i) node = graph.add(0, {node});
      EXPECT_EQ(longest_chains(graph.dag()), std::vector<Id>{length});
      EXPECT_EQ(batches(graph.dag(), Policy::descent), length);
    }
  }
}

TEST(LowerBound, NeverAboveTheOptimum) {
  Random random(11);
  int reached = 0;
  for (int i = 0; i < 300; ++i) {
    const RandomShape shape{1 + Id(random() % 7), 1 + Id(random() % 3), 2, 7};
    const DagBuilder graph = random_graph(shape, random);
    const Id optimum = fewest_batches(graph.dag());
    ASSERT_LE(lower_bound(graph.dag()), optimum) << "graph " << i;
    for (const Policy policy : kPolicies) ASSERT_GE(batches(graph.dag(), policy), optimum);
    reached += batches(graph.dag(), Policy::automatic) == optimum;
  }
  EXPECT_GE(reached, 270);  // a greedy rule: not always the best, but nearly
}

TEST(Validator, FindsFaults) {
  DagBuilder graph, chain;
  graph.add(1, {graph.add(0), graph.add(0)});  // nodes 0 and 1 of type 0, then 2 from both
  chain.add(0, {chain.add(0)});
  struct Case {
    std::vector<Id> nodes, begin;
    std::string fault;
  };
  for (const Case& each : std::vector<Case>{
           {{0, 1, 2}, {0, 2, 3}, ""},
           {{1, 0, 2}, {0, 1, 2, 3}, ""},
           {{0, 1}, {0, 2}, "need 3 scheduled nodes; got 2"},
           {{0, 1, 2}, {0, 2}, "need batch limits from 0 to 3; got 0 to 2"},
           {{0, 1, 2}, {1, 3}, "need batch limits from 0 to 3; got 1 to 3"},
           {{0, 1, 2}, {}, "need batch limits from 0 to 3; got none"},
           {{0, 1, 2}, {0, 2, 2, 3}, "batch 1 is empty or reversed: it goes from 2 to 2"},
           {{0, 1, 3}, {0, 2, 3}, "batch 1 has node 3 of a graph with 3 nodes"},
           {{0, 1, 1}, {0, 2, 3}, "node 1 is in batch 0 and again in batch 1"},
           {{0, 1, 2}, {0, 1, 3}, "batch 1 mixes node 1 of type 0 with node 2 of type 1"},
           {{0, 2, 1}, {0, 1, 2, 3}, "node 2 in batch 1 needs node 1, which is in batch 2"}}) {
    EXPECT_EQ(first_fault(graph.dag(), Schedule{each.nodes, each.begin, 0}), each.fault);
  }
  EXPECT_EQ(first_fault(chain.dag(), Schedule{{0, 1}, {0, 2}, 0}),
            "node 1 in batch 0 needs node 0, which is in batch 0");
}

}  // namespace
}  // namespace dynet_like::batching
