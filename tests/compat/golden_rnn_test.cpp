// Builders of sequences compute what DyNet computes with the same models.
#include <dynet/fast-lstm.h>
#include <dynet/gru.h>
#include <dynet/lstm.h>
#include <dynet/rnn.h>

#include <map>
#include <memory>

#include "tests/compat/golden.h"

namespace dynet::golden {
namespace {

using BuilderPointer = std::unique_ptr<RNNBuilder>;
using Make = BuilderPointer (*)(ParameterCollection&);

template <class Builder, auto... more>
BuilderPointer make(ParameterCollection& model) {
  return std::make_unique<Builder>(1, 4, 6, model, more...);
}

Make maker_of(const std::string& name) {
  static const std::map<std::string, Make> makers = {
      {"simple_rnn1", make<SimpleRNNBuilder>},
      {"gru1", make<GRUBuilder>},
      {"vanilla1", make<VanillaLSTMBuilder>},
      {"vanilla_ln1", make<VanillaLSTMBuilder, true>},
      {"vanilla_forget0_1", make<VanillaLSTMBuilder, false, 0>},
      {"compact1", make<CompactVanillaLSTMBuilder>},
      {"coupled1", make<CoupledLSTMBuilder>},
      {"fast1", make<FastLSTMBuilder>},
      {"sparse1", make<SparseLSTMBuilder>},
  };
  return makers.at(name);
}

void add_outputs(Rows& rows, const std::string& name, RNNBuilder& builder,
                 ParameterCollection& model) {
  ComputationGraph graph;
  builder.new_graph(graph);
  builder.start_new_sequence();
  std::vector<Expression> outputs;
  for (unsigned t = 0; t < 5; ++t) {
    outputs.push_back(builder.add_input(input_at(graph, t)));
    rows.emplace_back(name + " h" + std::to_string(t), numbers(outputs.back()));
  }
  rows.emplace_back(name + " final_s", numbers(builder.final_s()));
  rows.emplace_back(name + " gradient_norms",
                    gradient_norms(model, graph, sum_elems(sum(outputs))));
}

void add_branches(Rows& rows, const std::string& name, RNNBuilder& builder) {
  ComputationGraph graph;
  builder.new_graph(graph);
  builder.start_new_sequence();
  builder.add_input(input_at(graph, 0));
  const RNNPointer kept = builder.state();
  builder.add_input(input_at(graph, 1));
  rows.emplace_back(name + " from_state", numbers(builder.add_input(kept, input_at(graph, 2))));
  builder.rewind_one_step();
  rows.emplace_back(name + " after_rewind", numbers(builder.add_input(input_at(graph, 3))));
}

void add_initial_state(Rows& rows, const std::string& name, RNNBuilder& builder) {
  ComputationGraph graph;
  builder.new_graph(graph);
  std::vector<Expression> h_0;
  for (unsigned i = 0; i < builder.num_h0_components(); ++i) {
    h_0.push_back(input_at(graph, 10 + i, 6));
  }
  builder.start_new_sequence(h_0);
  for (unsigned t = 0; t < 3; ++t) builder.add_input(input_at(graph, t));
  rows.emplace_back(name + " with_initial_state", numbers(builder.back()));
}

struct GoldenRnnTest : GoldenTest {};

TEST_P(GoldenRnnTest, ComputesWhatDyNetComputes) {
  const std::string name = GetParam();
  const Make maker = maker_of(name);
  const auto compute = [&](const std::string& file) {
    ParameterCollection model;
    const BuilderPointer builder = loaded(maker, model, file);
    Rows rows;
    add_outputs(rows, name, *builder, model);
    add_branches(rows, name, *builder);
    add_initial_state(rows, name, *builder);
    return rows;
  };
  expect_agreement_loaded_and_saved(name, compute, saver_of(maker));
}

INSTANTIATE_TEST_SUITE_P(All, GoldenRnnTest, testing::ValuesIn(kSequences),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace dynet::golden
