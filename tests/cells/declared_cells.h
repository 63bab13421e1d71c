// A fixture for tests of declared cells: a tree written gate by gate, and what reports say by name.
#pragma once

#include "tests/cells/cell_programs.h"
#include "tests/support/with_cells.h"
#include "dynet_like/exec/cell_reasons.h"

namespace dynet_like::testing {

inline constexpr std::size_t kNoSearch =
    1000000;  ///< nodes: nothing is found, what is declared is there

class CellsDeclared : public ExplainCells {
 public:
  using ExplainCells::word;

 protected:
  struct State {
    Expression h, c;
  };

  /// A node of a tree: children, integers and a number go in, two expressions come out.
  State node(ComputationGraph& graph, std::span<const State> children, unsigned word,
             unsigned relation, float scale) const {
    const Expression x = lookup(graph, table, word) * scale;
    std::vector<Expression> hs{x}, cs;
    for (const State& child : children) hs.push_back(child.h);
    const Expression h = sum(hs), gate = logistic(affine(graph, u, h));
    cs.push_back(cmult(gate, tanh(affine(graph, v, h))));
    for (const State& child : children) {
      const Expression forget =
          logistic(affine(graph, u, child.h) + lookup(graph, relations, relation));
      cs.push_back(cmult(forget, child.c));
    }
    const Expression c = sum(cs);
    return {cmult(gate, tanh(c)), c};
  }

  auto declared_node() const {
    return cell([this](ComputationGraph& graph, std::span<const State> children, unsigned word,
                       unsigned relation,
                       float scale) { return node(graph, children, word, relation, scale); },
                "tree node");
  }

  template <class Node>
  State tree(const Node& make, ComputationGraph& graph, unsigned depth, unsigned number) const {
    std::vector<State> children;
    for (unsigned i = 0; depth > 0 && i < 1 + number % 2; ++i) {
      children.push_back(tree(make, graph, depth - 1, number / 2 + i));
    }
    return make(graph, children, number % 10, number % 3, 0.5f + static_cast<float>(number % 4));
  }

  /// Two minibatches, with an update between.
  template <class Node>
  static void train(const CellsDeclared& test, const Node& make, const GraphOptions& options,
                    Notes& notes) {
    Minibatch batch(options);
    for (unsigned round = 0; round < 2; ++round, batch.clear()) {
      std::vector<Expression> roots;
      batch.add_losses(kSamples, [&](ComputationGraph& graph, std::size_t sample) {
        return squared_norm(
            test.tree(make, graph, 3, static_cast<unsigned>(11 * sample + round)).h);
      });
      notes.add("loss", std::vector<float>{batch.forward()});
      if (!options.inference) {
        const Gradients& gradients = batch.backward();
        for (const Parameter& p : {test.u, test.v, test.bias}) {
          notes.add("gradient", gradients.values(p));
        }
        for (unsigned row = 0; row < 10; ++row) {
          notes.add("row", gradients.values(test.table, row));
          if (row < 3) notes.add("relation", gradients.values(test.relations, row));
        }
      }
      notes.nodes_in_cells += batch.explain().nodes_in_cells;
    }
  }

  /// A graph alone, which records something at the first forward.
  static Report report_of(ComputationGraph& graph, const Expression& e) {
    e.value();
    return graph.explain();
  }

  GraphOptions no_search() const {
    GraphOptions options;
    options.cells_after = kNoSearch;
    return options;
  }

  LookupParameter relations = model.add_lookup_parameters(3, {kSize});
};

inline const Report::Cell* named(const Report& report, const std::string& name) {
  for (const Report::Cell& cell : report.cells) {
    if (cell.name == name) return &cell;
  }
  return nullptr;
}

inline std::uint64_t times_named(const Report& report, CellReason reason, const std::string& name) {
  for (const Report::NotFolded& other : report.not_folded) {
    if (other.reason == words_of(reason) && other.name == name) return other.times;
  }
  return 0;
}

}  // namespace dynet_like::testing
