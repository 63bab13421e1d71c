// How long does planning take, and how many batches does each policy need? Prints a table per
// graph.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "batching/dag_builder.h"
#include "batching/lower_bound.h"
#include "batching/planner.h"
#include "batching/validate.h"
#include "bench/support/program.h"

namespace {

using dynet_like::batching::DagBuilder;
using dynet_like::batching::Planner;
using dynet_like::batching::Policy;

using Id = std::uint32_t;
using Random = std::mt19937;

constexpr int samples = 64;

std::uint32_t between(std::uint32_t low, std::uint32_t high, Random& random) {
  return low + static_cast<std::uint32_t>(random() % (high - low + 1));
}

/// The outputs of a recurrent cell.
struct State {
  Id h;
  Id c;
};

/// Binary Tree-LSTM, one node per operation, a loss at every node.
class TreeLstm {
 public:
  explicit TreeLstm(DagBuilder& graph) : graph_(graph) {}

  void add_sample(std::uint32_t leaves, Random& random) {
    losses_.clear();
    add_tree(leaves, random);
    graph_.add(sum_losses, losses_);
  }

 private:
  enum Type : Id {
    lookup,
    leaf_gate,
    gate = leaf_gate + 3,
    sigmoid = gate + 5,
    tanh,
    product,
    sum,
    score,
    loss,
    sum_losses
  };

  State add_tree(std::uint32_t leaves, Random& random) {
    State state;
    if (leaves == 1) {
      state = add_leaf();
    } else {
      const std::uint32_t left = between(1, leaves - 1, random);
      const State a = add_tree(left, random);
      const State b = add_tree(leaves - left, random);
      state = add_node(a, b);
    }
    losses_.push_back(graph_.add(loss, {graph_.add(score, {state.h})}));
    return state;
  }

  State add_leaf() {
    const Id word = graph_.add(lookup);
    const Id i = graph_.add(sigmoid, {graph_.add(leaf_gate, {word})});
    const Id o = graph_.add(sigmoid, {graph_.add(leaf_gate + 1, {word})});
    const Id u = graph_.add(tanh, {graph_.add(leaf_gate + 2, {word})});
    return with_output(graph_.add(product, {i, u}), o);
  }

  State add_node(State a, State b) {
    const Id i = graph_.add(sigmoid, {graph_.add(gate, {a.h, b.h})});
    const Id fa = graph_.add(sigmoid, {graph_.add(gate + 1, {a.h, b.h})});
    const Id fb = graph_.add(sigmoid, {graph_.add(gate + 2, {a.h, b.h})});
    const Id o = graph_.add(sigmoid, {graph_.add(gate + 3, {a.h, b.h})});
    const Id u = graph_.add(tanh, {graph_.add(gate + 4, {a.h, b.h})});
    const Id iu = graph_.add(product, {i, u});
    const Id ca = graph_.add(product, {fa, a.c});
    const Id cb = graph_.add(product, {fb, b.c});
    return with_output(graph_.add(sum, {iu, ca, cb}), o);
  }

  State with_output(Id c, Id o) { return {graph_.add(product, {o, graph_.add(tanh, {c})}), c}; }

  DagBuilder& graph_;
  std::vector<Id> losses_;
};

/// BiLSTM tagger, one node per operation.
class Tagger {
 public:
  explicit Tagger(DagBuilder& graph) : graph_(graph) {}

  void add_sample(std::uint32_t length) {
    std::vector<Id> words, forward, backward, losses;
    for (std::uint32_t i = 0; i < length; ++i) words.push_back(graph_.add(lookup));
    add_lstm(words, forward_gates, forward);
    std::reverse(words.begin(), words.end());
    add_lstm(words, backward_gates, backward);
    for (std::uint32_t i = 0; i < length; ++i) {
      const Id both = graph_.add(concat, {forward[i], backward[length - 1 - i]});
      const Id hidden = graph_.add(tanh_hidden, {graph_.add(affine, {both})});
      losses.push_back(graph_.add(loss, {graph_.add(score, {hidden})}));
    }
    graph_.add(sum_losses, losses);
  }

 private:
  enum Type : Id {
    lookup,
    start,
    forward_gates,
    backward_gates,
    pick,
    sigmoid = pick + 4,
    tanh,
    product,
    sum,
    concat,
    affine,
    tanh_hidden,
    score,
    loss,
    sum_losses
  };

  void add_lstm(const std::vector<Id>& words, Id gates, std::vector<Id>& outputs) {
    State state{graph_.add(start), graph_.add(start)};
    for (const Id word : words) {
      const Id all = graph_.add(gates, {word, state.h});
      const Id i = graph_.add(sigmoid, {graph_.add(pick, {all})});
      const Id f = graph_.add(sigmoid, {graph_.add(pick + 1, {all})});
      const Id o = graph_.add(sigmoid, {graph_.add(pick + 2, {all})});
      const Id u = graph_.add(tanh, {graph_.add(pick + 3, {all})});
      const Id kept = graph_.add(product, {f, state.c});
      const Id added = graph_.add(product, {i, u});
      state.c = graph_.add(sum, {kept, added});
      state.h = graph_.add(product, {o, graph_.add(tanh, {state.c})});
      outputs.push_back(state.h);
    }
  }

  DagBuilder& graph_;
};

/// BiLSTM tagger with one node per cell.
void add_cell_tagger_sample(std::uint32_t length, DagBuilder& graph) {
  enum Type : Id { lookup, start, forward_cell, backward_cell, hidden, score, loss, sum_losses };
  std::vector<Id> words, forward, backward, losses;
  for (std::uint32_t i = 0; i < length; ++i) words.push_back(graph.add(lookup));
  for (Id i = 0, h = graph.add(start); i < length; ++i) {
    forward.push_back(h = graph.add(forward_cell, {words[i], h}));
  }
  for (Id i = 0, h = graph.add(start); i < length; ++i) {
    backward.push_back(h = graph.add(backward_cell, {words[length - 1 - i], h}));
  }
  for (std::uint32_t i = 0; i < length; ++i) {
    const Id both = graph.add(hidden, {forward[i], backward[length - 1 - i]});
    losses.push_back(graph.add(loss, {graph.add(score, {both})}));
  }
  graph.add(sum_losses, losses);
}

/// Independent samples of random nodes, whose inputs are among the last `reach` nodes of the
/// sample.
void add_random_sample(std::uint32_t size, std::uint32_t types, std::uint32_t reach,
                       DagBuilder& graph, Random& random) {
  std::vector<Id> ids, inputs;
  for (std::uint32_t v = 0; v < size; ++v) {
    inputs.clear();
    const std::uint32_t count = v == 0 ? 0 : between(0, 3, random);
    for (std::uint32_t i = 0; i < count; ++i) {
      inputs.push_back(ids[v - between(1, std::min(v, reach), random)]);
    }
    ids.push_back(graph.add(between(0, types - 1, random), inputs));
  }
}

double ns_per_node(Planner& planner, const dynet_like::batching::Dag& dag, Policy policy) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = 0; i < 6; ++i) {
    const auto start = Clock::now();
    planner.plan(dag, policy);
    const std::chrono::duration<double, std::nano> time = Clock::now() - start;
    if (i > 0) times.push_back(time.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] / static_cast<double>(dag.size());
}

void report(const std::string& title, const DagBuilder& graph) {
  const auto dag = graph.dag();
  const std::uint32_t bound = lower_bound(dag);
  std::printf("%s: %zu nodes, %.2f inputs a node, %u types, bound %u\n", title.c_str(), dag.size(),
              static_cast<double>(dag.inputs.size()) / static_cast<double>(dag.size()),
              dag.type_count, bound);
  Planner planner;
  for (const Policy policy :
       {Policy::none, Policy::depth, Policy::agenda, Policy::descent, Policy::automatic}) {
    const double time = ns_per_node(planner, dag, policy);
    const auto& schedule = planner.plan(dag, policy);
    const std::string fault = first_fault(dag, schedule);
    const std::string_view name = name_of(policy);
    std::printf("  %-8.*s %6zu batches %8.1f ns per node%s%s\n", static_cast<int>(name.size()),
                name.data(), schedule.size(), time,
                fault.empty() ? "" : "  FAULT: ", fault.c_str());
  }
}

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  po::options_description options(
      "Plans minibatches of 64 samples with every policy, and prints how many batches that takes,\n"
      "their lower bound, and nanoseconds per node.\n\nOptions");
  po::variables_map values;
  if (!dynet_like::bench::read_command_line(argc, argv, options, values)) return;
  Random random(1);
  DagBuilder tree, tagger, cells, few, many, extreme;
  for (int i = 0; i < samples; ++i) TreeLstm(tree).add_sample(between(5, 40, random), random);
  for (int i = 0; i < samples; ++i) {
    const std::uint32_t length = between(5, 45, random);
    Tagger(tagger).add_sample(length);
    add_cell_tagger_sample(length, cells);
  }
  for (int i = 0; i < samples; ++i) add_random_sample(500, 20, 50, few, random);
  for (int i = 0; i < samples; ++i) add_random_sample(500, 200, 50, many, random);
  for (int i = 0; i < samples; ++i) add_random_sample(500, 2000, 50, extreme, random);
  report("Tree-LSTM, op level, loss at every node", tree);
  report("BiLSTM tagger, op level", tagger);
  report("BiLSTM tagger, cells", cells);
  report("random, 20 types", few);
  report("random, 200 types", many);
  report("random, 2000 types", extreme);
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("planner", [&] { run(argc, argv); });
}
