// Softmax builders compute what DyNet computes with the same models.
#include <dynet/cfsm-builder.h>
#include <dynet/dict.h>

#include <memory>

#include "tests/compat/golden.h"

namespace dynet::golden {
namespace {

std::unique_ptr<SoftmaxBuilder> make_builder(const std::string& name, ParameterCollection& model) {
  if (name == "softmax") return std::make_unique<StandardSoftmaxBuilder>(4, 7, model);
  Dict words;
  for (const char* word : {"a", "b", "c", "d", "e", "f", "g"}) words.convert(word);
  return std::make_unique<ClassFactoredSoftmaxBuilder>(4, path_of("clusters.txt"), words, model);
}

struct GoldenSoftmaxTest : GoldenTest {};

TEST_P(GoldenSoftmaxTest, ComputesWhatDyNetComputes) {
  const std::string name = GetParam();
  const auto make = [&](ParameterCollection& model) { return make_builder(name, model); };
  const auto compute = [&](const std::string& file) {
    ParameterCollection model;
    const auto builder = loaded(make, model, file);
    ComputationGraph graph;
    builder->new_graph(graph);
    const Expression x = input_at(graph, 1);
    Rows rows;
    for (unsigned word = 0; word < 7; ++word) {
      rows.emplace_back(name + " nll" + std::to_string(word),
                        numbers(builder->neg_log_softmax(x, word)));
    }
    // The class-factored builder of DyNet gives another distribution than its losses have.
    if (name == "softmax") {
      rows.emplace_back(name + " full", numbers(builder->full_log_distribution(x)));
    }
    return rows;
  };
  expect_agreement_loaded_and_saved(name, compute, saver_of(make));
}

INSTANTIATE_TEST_SUITE_P(All, GoldenSoftmaxTest, testing::ValuesIn(kSoftmaxes),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace dynet::golden
