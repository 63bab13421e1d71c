// Products that read no state run once for many narrow levels or batches, with the same bits.
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kInputs = 5, kLength = 9;
constexpr unsigned kMany = 12;  // samples, so that levels are wide

// CellKinds of some units with parameters of this type.
class CellKinds {
 public:
  CellKinds(unsigned hidden, DType dtype) : model(7, dtype) {
    start_ = model.add_parameters({hidden}, ParameterInitUniform(-1, 1));
    columns = model.add_parameters({kInputs, kLength});
    for (const unsigned gates : {1u, 3u, 4u}) {
      w_.push_back(model.add_parameters({gates * hidden, 2}));
      v_.push_back(model.add_parameters({gates * hidden, kInputs - 2}));
      u_.push_back(model.add_parameters({gates * hidden, hidden}));
      b_.push_back(model.add_parameters({gates * hidden}, ParameterInitUniform(-1, 1)));
    }
  }

  using State = std::array<Expression, 2>;

  // The functions read a part of a column as it is, and another one through tanh.
  static Expression left(const Expression& x) { return pick_range(x, 0, 2); }
  static Expression right(const Expression& x) { return tanh(pick_range(x, 2, kInputs)); }

  // A function of a column and the states of the vertex before.
  State affine(const Expression& x, const std::vector<State>& before) const {
    const Expression h = last(x, before);
    const Expression next =
        tanh(affine_transform({b_[0], w_[0], left(x), v_[0], right(x), u_[0], h}));
    return {next, next * 0.5f};
  }
  State gru(const Expression& x, const std::vector<State>& before) const {
    const Expression h = gru_cell(b_[1], u_[1], last(x, before), b_[1], v_[1], right(x));
    return {h, h * 0.5f};
  }
  State lstm(const Expression& x, const std::vector<State>& before) const {
    const Expression h = last(x, before);
    const Expression c = before.empty() ? start_of(x) : before[0][1];
    const CellState next = lstm_cell(b_[2], {w_[2], left(x), v_[2], right(x), u_[2], h}, {c});
    return {next.h, next.c};
  }

  ParameterCollection model;
  Parameter columns;

 private:
  Expression last(const Expression& x, const std::vector<State>& before) const {
    return before.empty() ? start_of(x) : before[0][0];
  }
  Expression start_of(const Expression& x) const { return parameter(*x.pg, start_); }

  Parameter start_;
  std::vector<Parameter> w_, v_, u_, b_;
};

enum class Form { recursion, nodes };
using Along = Recursion<CellKinds::State>;

// The states of a sentence.
template <class Step>
std::vector<CellKinds::State> states_of(const Step& step, const Along& along, Form form,
                                        const Expression& columns) {
  std::vector<CellKinds::State> states;
  if (form == Form::recursion) {
    const States<CellKinds::State> all = along(Structure::sequence(kLength), columns);
    for (unsigned i = 0; i < kLength; ++i) states.push_back(all[i]);
    return states;
  }
  for (unsigned i = 0; i < kLength; ++i) {
    std::vector<CellKinds::State> before(states.end() - (i == 0 ? 0 : 1), states.end());
    states.push_back(step(pick(columns, i, 1), before));
  }
  return states;
}

// Two units fill half a vector at most; 21 leave a part of one.
class EarlyProducts : public ::testing::TestWithParam<std::tuple<unsigned, DType, Form>> {};
INSTANTIATE_TEST_SUITE_P(Sizes, EarlyProducts,
                         ::testing::Combine(::testing::Values(1u, 2u, 21u, 64u),
                                            ::testing::Values(DType::f32, DType::f64),
                                            ::testing::Values(Form::recursion, Form::nodes)));

TEST_P(EarlyProducts, HaveTheSameBits) {
  const auto [hidden, dtype, form] = GetParam();
  const CellKinds cells(hidden, dtype);
  for (const auto function : {&CellKinds::affine, &CellKinds::gru, &CellKinds::lstm}) {
    const auto step = [&](const Expression& x, const std::vector<CellKinds::State>& before) {
      return (cells.*function)(x, before);
    };
    const Along along = recursion<CellKinds::State>(step, "along");
    const auto record = [&, its_form = form](ComputationGraph& graph, unsigned sample) {
      const float factor = 1 + 0.25f * static_cast<float>(sample);
      const Expression columns = cmult(parameter(graph, cells.columns), input(graph, factor));
      const std::vector<CellKinds::State> states = states_of(step, along, its_form, columns);
      std::vector<Expression> terms;
      for (const CellKinds::State& state : states) terms.push_back(squared_norm(state[1]));
      return Sample{squared_norm(states.back()[0]) + sum(terms), {columns, states.back()[0]}};
    };
    Program program{cells.model, record, kMany};
    expect_same_in_some_modes(program, hidden, 3);
    const Outcome wide = run(program, {options_of(cells.model)});
    const Outcome alone = run(program, {options_of(cells.model), 1});  // and narrow
    EXPECT_TRUE(same_bits(alone.values, wide.values));
    EXPECT_TRUE(same_bits(alone.gradients, wide.gradients));
    // Both run as many levels; only narrow ones have a call for what runs early.
    if (!default_device()->is_cpu()) continue;
    EXPECT_GT(alone.report.kernel_calls, wide.report.kernel_calls);
  }
}

// A matrix may be a table with rows whose updates a trainer has postponed.
TEST(EarlyProductsTest, ReadTablesThatAreUpToDate) {
  ParameterCollection model(7);
  const LookupParameter table = model.add_lookup_parameters(4, {3});
  const Parameter u = model.add_parameters({3, 3}), b = model.add_parameters({3});
  MomentumSGDTrainer trainer(model, 0.1f);
  trainer.sparse_updates = SparseUpdates::exact;
  const auto update = [&](const std::vector<unsigned>& rows) {
    ComputationGraph graph;
    std::vector<Expression> terms;
    for (const unsigned row : rows) terms.push_back(squared_norm(lookup(graph, table, row)));
    trainer.update(graph.backward(sum(terms)));
  };
  update({0, 1, 2, 3});
  for (int i = 0; i < 3; ++i) update({0});  // the momentum of others waits
  const auto last_state = [&] {
    ComputationGraph graph;
    const Expression w = parameter(graph, table);
    Expression h = input(graph, {3}, {0, 0, 0});
    for (unsigned i = 0; i < kLength; ++i) {
      const std::vector<float> x(4, 0.1f * static_cast<float>(i));
      h = tanh(affine_transform({b, w, input(graph, {4}, x), u, h}));
    }
    return as_doubles(h.value());
  };
  const std::vector<double> first = last_state();
  EXPECT_EQ(first, last_state());
}

// More inputs than a mask has bits.
TEST(EarlyProductsTest, OtherOpsMayHaveManyInputs) {
  ParameterCollection model(7);
  const Parameter columns = model.add_parameters({1, kLength}, ParameterInitConst(1));
  const auto along = recursion<Expression>(
      [](const Expression& x, const std::vector<Expression>& before) {
        std::vector<Expression> parts(99, x);
        if (!before.empty()) parts.push_back(before[0]);
        return sum_elems(concatenate(parts));
      },
      "along");
  ComputationGraph graph;
  const Expression x = parameter(graph, columns);
  const Expression last = along(Structure::sequence(kLength), x)[kLength - 1];
  graph.backward(last);
  EXPECT_EQ(as_scalar(last.value()), 99.0f * kLength);
  EXPECT_EQ(as_doubles(x.gradient()), std::vector<double>(kLength, 99));
}

}  // namespace
}  // namespace dynet_like::testing
