// <dynet/rnn.h>: what holds for the builders of all recurrent layers.

// Programs may declare them ahead.
namespace dynet {
struct RNNBuilder;
struct SimpleRNNBuilder;
struct CoupledLSTMBuilder;
struct VanillaLSTMBuilder;
struct SparseLSTMBuilder;
struct CompactVanillaLSTMBuilder;
struct GRUBuilder;
struct FastLSTMBuilder;
struct DeepLSTMBuilder;
}  // namespace dynet

#include <set>
#include <vector>

#include <dynet/lstm.h>
#include <dynet/rnn.h>

#include "dynet_like/core/errors.h"
#include "tests/compat/sequence_builders.h"
#include "tests/support/precompiled.h"

namespace dynet {
namespace {

using dynet_like::UsageError;

constexpr unsigned kLayers = 2, kInputs = 3, kHidden = 4;

struct CompatRnnTest : testing::TestWithParam<SequenceBuilder> {
  CompatRnnTest() : made(make(model)), builder(*made) {
    randomise(model, 7);
    if (auto* sparse = dynamic_cast<SparseLSTMBuilder*>(made.get())) sparse->set_sparsity(0);
  }

  static BuilderPointer make(ParameterCollection& model) {
    return GetParam().make(kLayers, kInputs, kHidden, model);
  }
  void start(const std::vector<Expression>& states = {}) {
    builder.new_graph(graph);
    builder.start_new_sequence(states);
  }
  Expression x(unsigned which) { return some_input(graph, which, kInputs); }
  /// The output after these inputs, in a sequence of their own.
  Expression after(const std::vector<unsigned>& inputs) {
    builder.start_new_sequence();
    Expression output;
    for (const unsigned which : inputs) output = builder.add_input(x(which));
    return output;
  }
  /// Reads four vectors, and compares all layers with the formula, behind masks if there are some.
  void expect_formula(const Masks* masks) {
    std::vector<PlainState> states(kLayers, {Doubles(kHidden), Doubles(kHidden)});
    for (unsigned t = 0; t < 4; ++t) {
      const Doubles given = some_vector(t, kInputs);
      const Expression y = builder.add_input(as_input(graph, given));
      Doubles in = given, outputs;
      for (unsigned layer = 0; layer < kLayers; ++layer) {
        PlainState& state = states[layer];
        PlainState before = state;
        Step step{t};
        if (masks != nullptr) {
          const auto mask = [&](unsigned i) { return as_doubles((*masks)[layer][i].value()); };
          in = in * mask(0);
          before.h = before.h * mask(1);
          if ((*masks)[layer].size() > 2) step.cell_mask = mask(2);
        }
        state = GetParam().cell(layered(), layer, in, before, step);
        expect_near(builder.final_h()[layer], state.h);
        if (builder.num_h0_components() > kLayers) expect_near(builder.final_s()[layer], state.c);
        in = GetParam().is_deep ? joined(given, state.h) : state.h;
        outputs = GetParam().is_deep ? joined(outputs, state.h) : state.h;
      }
      expect_near(y, outputs);
      expect_near(builder.back(), outputs);
    }
  }
  const detail::LayeredBuilder& layered() const {
    return static_cast<const detail::LayeredBuilder&>(builder);
  }

  ParameterCollection model;
  BuilderPointer made;
  RNNBuilder& builder;
  ComputationGraph graph;
};

INSTANTIATE_TEST_SUITE_P(All, CompatRnnTest, testing::ValuesIn(sequence_builders()),
                         [](const auto& info) { return info.param.name; });

TEST_P(CompatRnnTest, HasItsParameters) {
  std::string expected;
  unsigned number = 0;
  for (const unsigned inputs : {kInputs, GetParam().is_deep ? kInputs + kHidden : kHidden}) {
    for (std::string shape : GetParam().shapes) {
      const std::size_t place = shape.find('x');
      if (place != shape.npos) shape.replace(place, 1, std::to_string(inputs));
      expected += '/' + GetParam().own_name + "/_" + std::to_string(number++) + ' ' + shape + '\n';
    }
  }
  EXPECT_EQ(layout_of(model), expected);
}

// Also behind masks, for rates of which one, both or none are 0, and which change in between.
TEST_P(CompatRnnTest, FollowsTheFormula) {
  start();
  const std::vector<Expression>& bias = layered().param_vars[1];
  EXPECT_EQ(values_of(bias[1]), as_vector(*layered().params[1][1].values()));
  expect_formula(nullptr);
  if (GetParam().masks == nullptr) return;
  using Rates = std::pair<float, float>;
  for (const auto& [of_inputs, of_outputs] : {Rates{0.3f, 0}, {0, 0.6f}, {0, 0}, {0.3f, 0.6f}}) {
    const Masks& masks = GetParam().masks(builder, of_inputs, of_outputs, 0);
    builder.start_new_sequence();
    expect_formula(of_inputs + of_outputs > 0 ? &masks : nullptr);
  }
}

// Of zeros and one scale, for a sequence and the minibatch that it is told of or begins with.
TEST_P(CompatRnnTest, MasksAreThoseOfTheRates) {
  const auto masks_of = GetParam().masks;
  if (masks_of == nullptr) return;
  EXPECT_THROW(masks_of(builder, 0.5f, 0.5f, 1), UsageError);  // there is no graph yet
  ParameterCollection other;
  const BuilderPointer large = GetParam().make(kLayers, 300, 200, other);
  large->new_graph(graph);
  large->start_new_sequence();
  const Masks masks = masks_of(*large, 0.25f, 0.5f, 2);
  ASSERT_EQ(masks.size(), kLayers);
  for (unsigned layer = 0; layer < kLayers; ++layer) {
    for (unsigned which = 0; which < masks[layer].size(); ++which) {
      const bool is_of_input = which == 0;
      const float kept = is_of_input ? 1 / 0.75f : 2;
      EXPECT_EQ(masks[layer][which].dim(), Dim({is_of_input && layer == 0 ? 300u : 200u}, 2));
      const std::vector<float> values = values_of(masks[layer][which]);
      double zeros = 0;
      for (const float value : values) {
        EXPECT_TRUE(value == 0 || std::abs(value - kept) < 1e-6f) << value;
        zeros += value == 0 ? 1 : 0;
      }
      EXPECT_NEAR(zeros / static_cast<double>(values.size()), is_of_input ? 0.25 : 0.5, 0.1);
    }
  }
  const auto first_mask = [&] { return masks_of(*large, 0.25f, 0.5f, 0)[0][0]; };
  large->add_input(some_input(graph, 0, 300));
  EXPECT_EQ(first_mask().i, masks[0][0].i);
  large->start_new_sequence();
  const Expression x = some_input(graph, 1, 300);
  large->add_input(concatenate_to_batch({x, x, x}));
  EXPECT_NE(first_mask().i, masks[0][0].i);
  EXPECT_EQ(first_mask().dim(), Dim({300}, 3));
}

TEST_P(CompatRnnTest, OtherOrdersOfCallsThrow) {
  EXPECT_THROW(builder.start_new_sequence(), UsageError);
  EXPECT_THROW(builder.add_input(x(0)), UsageError);
  builder.new_graph(graph);
  EXPECT_THROW(builder.add_input(x(0)), UsageError);
  EXPECT_THROW(builder.set_h(-1), UsageError);
  EXPECT_THROW(builder.set_s(-1), UsageError);
  builder.start_new_sequence();
  EXPECT_EQ(builder.state(), -1);
  EXPECT_THROW(builder.rewind_one_step(), UsageError);
  EXPECT_THROW(builder.back(), UsageError);
  EXPECT_TRUE(builder.final_h().empty());
  EXPECT_TRUE(builder.final_s().empty());
  EXPECT_TRUE(builder.get_h(-1).empty());
  EXPECT_TRUE(builder.get_s(-1).empty());
  EXPECT_NO_THROW(builder.add_input(x(0)));
  for (const int no_state : {-2, 1}) {
    EXPECT_THROW(builder.add_input(no_state, x(1)), UsageError);
    EXPECT_THROW(builder.get_h(no_state), UsageError);
    EXPECT_THROW(builder.get_s(no_state), UsageError);
    EXPECT_THROW(builder.get_head(no_state), UsageError);
  }
  builder.new_graph(graph);
  EXPECT_THROW(builder.add_input(x(1)), UsageError);
}

TEST_P(CompatRnnTest, AnEmptyBuilderThrows) {
  if (GetParam().make_empty == nullptr) return;
  EXPECT_THROW(GetParam().make_empty()->new_graph(graph), UsageError);
}

// An input that does not fit leaves the builder as it was.
TEST_P(CompatRnnTest, AfterAFailureSequencesGoOn) {
  start();
  builder.add_input(x(0));
  EXPECT_THROW(builder.add_input(some_input(graph, 1, kInputs + 1)), dynet_like::ShapeError);
  EXPECT_EQ(builder.state(), 0);
  const Expression y = builder.add_input(x(1));
  EXPECT_EQ(builder.state(), 1);
  EXPECT_EQ(values_of(y), values_of(after({0, 1})));
}

TEST_P(CompatRnnTest, StatesAreKept) {
  start();
  std::vector<Expression> outputs;
  std::vector<std::vector<Expression>> hs, states;
  for (unsigned i = 0; i < 3; ++i) {
    outputs.push_back(builder.add_input(x(i)));
    EXPECT_EQ(builder.state(), static_cast<int>(i));
    EXPECT_EQ(builder.get_head(builder.state()), static_cast<int>(i) - 1);
    EXPECT_EQ(values_of(builder.back()), values_of(outputs.back()));
    hs.push_back(builder.final_h());
    states.push_back(builder.final_s());
  }
  for (unsigned i = 0; i < 3; ++i) {
    const auto at = static_cast<RNNPointer>(i);
    EXPECT_EQ(values_of(builder.get_h(at)), values_of(hs[i]));
    EXPECT_EQ(values_of(builder.get_s(at)), values_of(states[i]));
    ASSERT_EQ(hs[i].size(), kLayers);
    ASSERT_EQ(states[i].size(), builder.num_h0_components());
    // Cells come first, then outputs.
    const std::vector<Expression> last(states[i].end() - kLayers, states[i].end());
    EXPECT_EQ(values_of(last), values_of(hs[i]));
  }
  EXPECT_EQ(&builder.get_parameter_collection(), &layered().local_model);
}

TEST_P(CompatRnnTest, StatesBranch) {
  start();
  const auto straight = values_of(after({0, 2}));
  builder.start_new_sequence();
  builder.add_input(x(0));
  const RNNPointer first = builder.state();
  builder.add_input(x(1));
  EXPECT_EQ(values_of(builder.add_input(first, x(2))), straight);
  EXPECT_EQ(builder.state(), 2);
  EXPECT_EQ(builder.get_head(builder.state()), first);
  builder.rewind_one_step();
  EXPECT_EQ(builder.state(), first);
}

TEST_P(CompatRnnTest, RewindingGoesBack) {
  start();
  const auto first = values_of(after({0})), straight = values_of(after({0, 2}));
  const auto another = values_of(after({3}));
  builder.start_new_sequence();
  builder.add_input(x(0));
  builder.add_input(x(1));
  builder.rewind_one_step();
  EXPECT_EQ(values_of(builder.back()), first);
  EXPECT_EQ(values_of(builder.final_h()), values_of(builder.get_h(1)));  // the last that was read
  EXPECT_EQ(values_of(builder.add_input(x(2))), straight);
  builder.rewind_one_step();
  builder.rewind_one_step();
  EXPECT_EQ(builder.state(), -1);
  EXPECT_EQ(values_of(builder.add_input(x(3))), another);
}

TEST_P(CompatRnnTest, InitialStatesContinueASequence) {
  start();
  const auto straight = values_of(after({0, 1, 2}));
  after({0, 1});
  const std::vector<Expression> states = builder.final_s();
  const auto top = values_of(builder.back());
  builder.start_new_sequence(states);
  EXPECT_EQ(values_of(builder.back()), top);
  EXPECT_EQ(values_of(builder.final_s()), values_of(states));
  EXPECT_EQ(values_of(builder.get_s(-1)), values_of(states));
  EXPECT_EQ(values_of(builder.add_input(x(2))), straight);
  EXPECT_THROW(builder.start_new_sequence({states[0]}), UsageError);
}

TEST_P(CompatRnnTest, StatesCanBeSet) {
  start();
  after({3, 4});
  const std::vector<Expression> h = builder.final_h(), s = builder.final_s();
  const auto continued = values_of(after({3, 4, 5}));
  builder.start_new_sequence();
  builder.add_input(x(0));
  const auto before = values_of(builder.get_s(0));
  builder.set_h(0, h);
  EXPECT_EQ(builder.state(), 1);
  EXPECT_EQ(builder.get_head(1), 0);
  EXPECT_EQ(values_of(builder.get_h(1)), values_of(h));
  auto expected = before;  // cells stay
  for (unsigned i = 0; i < kLayers; ++i) expected[expected.size() - kLayers + i] = values_of(h[i]);
  EXPECT_EQ(values_of(builder.get_s(1)), expected);

  builder.set_s(0, s);
  EXPECT_EQ(values_of(builder.get_s(2)), values_of(s));
  EXPECT_EQ(values_of(builder.add_input(x(5))), continued);

  builder.set_h(0);
  EXPECT_EQ(values_of(builder.get_s(4)), before);
  builder.set_s(0);
  EXPECT_EQ(values_of(builder.get_s(5)), before);
  const std::vector<Expression> first(s.begin(), s.begin() + kLayers);  // cells, if there are any
  builder.set_s(0, first);
  EXPECT_EQ(values_of(builder.get_s(6))[0], values_of(s)[0]);
  EXPECT_EQ(values_of(builder.get_s(6)).back(),
            builder.num_h0_components() > kLayers ? before.back() : values_of(s).back());
  EXPECT_THROW(builder.set_h(0, {h[0]}), UsageError);
  EXPECT_THROW(builder.set_s(0, {s[0]}), UsageError);
  EXPECT_EQ(builder.state(), 6);
}

TEST_P(CompatRnnTest, ZerosAreSetBeforeTheFirstInput) {
  start();
  builder.set_s(-1);
  const std::vector<std::vector<float>> zeros(builder.num_h0_components(),
                                              std::vector<float>(kHidden));
  EXPECT_EQ(values_of(builder.get_s(0)), zeros);
}

TEST_P(CompatRnnTest, ValuesAreCopied) {
  start();
  const auto expected = values_of(after({0, 1}));
  ParameterCollection other_model;
  const BuilderPointer other = make(other_model);
  other->copy(builder);
  ComputationGraph other_graph;
  other->new_graph(other_graph);
  other->start_new_sequence();
  other->add_input(some_input(other_graph, 0, kInputs));
  EXPECT_EQ(values_of(other->add_input(some_input(other_graph, 1, kInputs))), expected);

  EXPECT_THROW(GetParam().make(kLayers + 1, kInputs, kHidden, other_model)->copy(builder),
               UsageError);
  EXPECT_THROW(GetParam().make(kLayers, kInputs + 1, kHidden, other_model)->copy(builder),
               UsageError);
  EXPECT_THROW(GetParam().make_derived(kLayers, kInputs, kHidden, other_model)->copy(builder),
               UsageError);
}

TEST_P(CompatRnnTest, GradientsReachEveryParameterThatIsRead) {
  start();
  const Expression loss = squared_norm(after({0, 1, 2}));
  graph.backward(loss);
  for (const std::vector<Parameter>& layer : layered().params) {
    for (const unsigned i : GetParam().unread) {
      EXPECT_FALSE(layer[i].p->has_grad()) << i;
      Parameter(layer[i]).set_updated(false);
    }
  }
  expect_gradients_everywhere(model);
  model.reset_gradient();
}

TEST_P(CompatRnnTest, WithoutUpdateThereAreNoGradients) {
  start();
  const auto expected = values_of(after({0, 1}));
  builder.new_graph(graph, false);
  const Expression y = after({0, 1});
  EXPECT_EQ(values_of(y), expected);
  graph.backward(squared_norm(y));
  for (const auto& storage : model.get_parameter_storages()) {
    EXPECT_FALSE(storage->has_grad()) << storage->name;
  }
}

TEST_P(CompatRnnTest, BatchesHaveTheBitsOfOneByOne) {
  expect_bits_of_one_by_one(model, 12, [&](ComputationGraph& own, unsigned sample) {
    builder.new_graph(own);
    builder.start_new_sequence();
    for (unsigned i = 0; i <= (sample * 5) % 7; ++i) {
      builder.add_input(some_input(own, 10 * sample + i, kInputs));
    }
    return builder.back();
  });
}

// Every element of a minibatch as if it were alone.
TEST_P(CompatRnnTest, ReadsMinibatches) {
  start();
  std::vector<Expression> alone;
  for (unsigned sample = 0; sample < 3; ++sample) {
    alone.push_back(after({2 * sample, 2 * sample + 1}));
  }
  builder.start_new_sequence();
  builder.add_input(concatenate_to_batch({x(0), x(2), x(4)}));
  const Expression y = builder.add_input(concatenate_to_batch({x(1), x(3), x(5)}));
  EXPECT_EQ(values_of(y), values_of(concatenate_to_batch(alone)));
}

TEST_P(CompatRnnTest, DropoutCanBeSwitchedOff) {
  start();
  const auto expected = values_of(after({0, 1, 2}));
  EXPECT_EQ(values_of(after({0, 1, 2})), expected);
  builder.set_dropout(0.5f);
  std::set<std::vector<float>> dropped;  // few elements: some draws are the same
  for (unsigned i = 0; i < 20; ++i) dropped.insert(values_of(after({0, 1, 2})));
  EXPECT_GT(dropped.size(), 2u);
  builder.disable_dropout();
  EXPECT_EQ(values_of(after({0, 1, 2})), expected);
  EXPECT_THROW(builder.set_dropout(1), UsageError);
  EXPECT_THROW(builder.set_dropout(-0.1f), UsageError);
}

TEST(CompatSimpleRnnTest, ReadsAuxiliaryInputs) {
  ParameterCollection model;
  SimpleRNNBuilder rnn(2, 3, 4, model, true);
  randomise(model, 1);
  ComputationGraph graph;
  rnn.new_graph(graph);
  rnn.start_new_sequence();
  std::vector<Doubles> h(2, Doubles(4));
  for (unsigned t = 0; t < 2; ++t) {
    Doubles in = some_vector(t, 3);
    const Doubles aux = some_vector(10 + t, 4);
    const Expression y = rnn.add_auxiliary_input(as_input(graph, in), as_input(graph, aux));
    for (unsigned layer = 0; layer < 2; ++layer) {
      const std::vector<Parameter>& p = rnn.params[layer];
      in = h[layer] = plain_tanh(plain_affine(p[2], {{p[0], in}, {p[1], h[layer]}, {p[3], aux}}));
    }
    expect_near(y, in);
    EXPECT_EQ(rnn.state(), static_cast<int>(t));
  }
  graph.backward(squared_norm(rnn.back()));
  expect_gradients_everywhere(model);
  model.reset_gradient();
}

TEST(CompatSimpleRnnTest, AuxiliaryInputsNeedLags) {
  ParameterCollection model;
  SimpleRNNBuilder rnn(1, 3, 4, model);
  EXPECT_EQ(model.size(), 3u);
  ComputationGraph graph;
  rnn.new_graph(graph);
  rnn.start_new_sequence();
  const Expression x = some_input(graph, 0, 3), aux = some_input(graph, 1, 4);
  EXPECT_THROW(rnn.add_auxiliary_input(x, aux), UsageError);
  SimpleRNNBuilder lagging(1, 3, 4, model, true);
  EXPECT_THROW(lagging.add_auxiliary_input(x, aux), UsageError);
}

TEST(CompatSimpleRnnTest, MasksStayWhereAuxiliaryInputsAreRead) {
  ParameterCollection model;
  SimpleRNNBuilder rnn(1, 3, 4, model, true);
  ComputationGraph graph;
  rnn.new_graph(graph);
  rnn.set_dropout(0.25f, 0.5f);
  const auto read = [&] {
    rnn.add_auxiliary_input(some_input(graph, 1, 3), some_input(graph, 2, 4));
    return rnn.masks[0][0].i;
  };
  rnn.start_new_sequence();
  const VariableIndex first = read();
  EXPECT_EQ(read(), first);
  rnn.start_new_sequence();
  EXPECT_NE(read(), first);
}

TEST(CompatRnnPointerTest, PointersCanBeSwapped) {
  RNNPointer a = 1, b = 2;
  dynet::swap(a, b);
  EXPECT_EQ(a, 2);
  EXPECT_EQ(b, 1);
}

}  // namespace
}  // namespace dynet
