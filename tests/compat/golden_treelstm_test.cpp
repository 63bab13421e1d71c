// Builders of trees compute what DyNet computes with the same models.
#include <dynet/treelstm.h>

#include <map>
#include <memory>

#include "tests/compat/golden.h"

namespace dynet::golden {
namespace {

using BuilderPointer = std::unique_ptr<TreeLSTMBuilder>;
using Make = BuilderPointer (*)(ParameterCollection&);

Make maker_of(const std::string& name) {
  static const std::map<std::string, Make> makers = {
      {"nary1",
       [](ParameterCollection& model) -> BuilderPointer {
         return std::make_unique<NaryTreeLSTMBuilder>(2, 1, 4, 6, model);
       }},
      {"unitree1",
       [](ParameterCollection& model) -> BuilderPointer {
         return std::make_unique<UnidirectionalTreeLSTMBuilder>(1, 4, 4, model);
       }},
      {"bitree1",
       [](ParameterCollection& model) -> BuilderPointer {
         return std::make_unique<BidirectionalTreeLSTMBuilder>(1, 4, 4, model);
       }},
  };
  return makers.at(name);
}

const std::vector<std::vector<int>> kTree = {{}, {}, {0, 1}, {}, {}, {3, 4}, {2, 5}};

struct GoldenTreeTest : GoldenTest {};

TEST_P(GoldenTreeTest, ComputesWhatDyNetComputes) {
  const std::string name = GetParam();
  const Make maker = maker_of(name);
  const auto compute = [&](const std::string& file) {
    ParameterCollection model;
    const BuilderPointer builder = loaded(maker, model, file);
    ComputationGraph graph;
    builder->new_graph(graph);
    builder->start_new_sequence();
    // DyNet's other builders crash after this call.
    if (name == "bitree1") builder->set_num_elements(static_cast<int>(kTree.size()));
    Rows rows;
    Expression output;
    for (unsigned node = 0; node < kTree.size(); ++node) {
      output = builder->add_input(static_cast<int>(node), kTree[node], input_at(graph, node));
      rows.emplace_back(name + " node" + std::to_string(node), numbers(output));
    }
    rows.emplace_back(name + " gradient_norms", gradient_norms(model, graph, sum_elems(output)));
    return rows;
  };
  expect_agreement_loaded_and_saved(name, compute, saver_of(maker));
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTreeTest, testing::ValuesIn(kTrees),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace dynet::golden
