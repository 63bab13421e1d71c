// A minibatch or graph that is used with one model after the other: nothing of a model outlives it,
// and nothing of those before shows in what comes next.
#include "dynet_like/graph/formula_op.h"
#include "dynet_like/tape/tape.h"
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kSize = 4;

/// What a model is made of, in one of the ways in which the library keeps things for later.
struct Model {
  explicit Model(unsigned seed) : collection(seed) {
    w = collection.add_parameters({kSize, kSize}, "W");
    table = collection.add_lookup_parameters(5, {kSize}, "table");
  }
  virtual ~Model() = default;
  virtual Expression output(const Expression& x) = 0;

  Expression loss(ComputationGraph& graph, unsigned sample) {
    const Expression x = lookup(graph, table, sample % 5);
    return sum_elems(output(x)) + squared_norm(parameter(graph, w)) * 0.25f;
  }

  ParameterCollection collection;
  Parameter w;
  LookupParameter table;
};

struct PlainNodes : Model {
  using Model::Model;
  Expression output(const Expression& x) override { return tanh(parameter(*x.pg, w) * x); }
};

// Many nodes of few types.
struct Chain : Model {
  using Model::Model;
  Expression output(const Expression& x) override {
    Expression h = x;
    for (unsigned i = 0; i < 30; ++i) h = tanh(parameter(*x.pg, w) * h + x);
    return h;
  }
};

struct Cell : Model {
  using Model::Model;
  Expression output(const Expression& x) override { return step(step(x, x), x); }
  std::function<Expression(const Expression&, const Expression&)> step =
      cell([w = w](const Expression& h, const Expression& x) {
        return tanh(parameter(*x.pg, w) * h + x);
      });
};

struct Recursive : Model {
  using Model::Model;
  Expression output(const Expression& x) override {
    // Another kind of vertices with every length, so that the op is another one, too.
    const Structure::Vertex vertices[] = {{{}, 0}, {{}, 1}, {{0, 1}, 2}};
    return rnn(Structure::sequence(3), concatenate_cols({x, x, x})).last() +
           rnn(Structure(vertices), concatenate_cols({x, x, x})).last();
  }
  Recursion<Expression> rnn =
      recursion<Expression>([w = w](const Expression& x, const std::vector<Expression>& before) {
        const Expression sum = before.empty() ? x : dynet_like::sum(before) + x;
        return tanh(parameter(*x.pg, w) * sum);
      });
};

struct Layers : Model {
  explicit Layers(unsigned seed)
      : Model(seed), lstm(collection, kSize, kSize), linear(collection, kSize, kSize) {}
  Expression output(const Expression& x) override {
    return lstm(concatenate_cols({linear(x), x})).last().h;
  }
  nn::LSTM lstm;
  nn::Linear linear;
};

struct OwnFormula : Model {
  using Model::Model;
  Expression output(const Expression& x) override { return parameter(*x.pg, w) * mish(x); }
  FormulaOp mish{"mish", [](Term x) { return x * tanh(softplus(x)); }};
};

struct Way {
  const char* name;
  std::unique_ptr<Model> (*make)(unsigned seed);
};
template <class M>
std::unique_ptr<Model> make(unsigned seed) {
  return std::make_unique<M>(seed);
}
const Way kWays[] = {{"nodes", make<PlainNodes>}, {"chain", make<Chain>},
                     {"cell", make<Cell>},        {"recursion", make<Recursive>},
                     {"layers", make<Layers>},    {"formula", make<OwnFormula>}};

GraphOptions options_of(bool inference) { return {.inference = inference}; }

/// The loss of a few samples, and all gradients.
Numbers run(Minibatch& batch, Model& model, bool inference) {
  for (unsigned sample = 0; sample < 5; ++sample) {
    batch.add_loss(model.loss(batch.new_graph(), sample));
  }
  const float loss = batch.forward();
  Numbers numbers = inference ? Numbers() : numbers_of(model.collection, batch.backward());
  numbers.push_back(static_cast<double>(loss));
  return numbers;
}

Numbers run(ComputationGraph& graph, Model& model, bool inference) {
  Expression loss = model.loss(graph, 0);
  for (unsigned sample = 1; sample < 5; ++sample) loss = loss + model.loss(graph, sample);
  Numbers numbers = inference ? Numbers() : numbers_of(model.collection, graph.backward(loss));
  numbers.push_back(loss.value().at(0));
  return numbers;
}

std::vector<std::weak_ptr<ParameterStorage>> weights_of(const Model& model) {
  const auto& all = model.collection.get_storage().all;
  return {all.begin(), all.end()};
}

template <class Graphs>
void expect_nothing_stays(const Way& way, bool inference) {
  Graphs graphs(options_of(inference));
  for (unsigned round = 0; round < 4; ++round) {
    const unsigned seed = 1 + round % 2;
    std::vector<std::weak_ptr<ParameterStorage>> weights;
    {
      const std::unique_ptr<Model> model = way.make(seed);
      weights = weights_of(*model);
      for (unsigned step = 0; step < 3; ++step) {
        const Numbers numbers = run(graphs, *model, inference);
        graphs.clear();
        Graphs fresh(options_of(inference));
        EXPECT_EQ(numbers, run(fresh, *model, inference)) << round << ' ' << step;
      }
    }
    for (const auto& weight : weights) EXPECT_TRUE(weight.expired()) << round;
  }
}

TEST(GoneModelsTest, LeaveNothingInAMinibatch) {
  for (const Way& way : kWays) {
    for (const bool inference : {false, true}) {
      SCOPED_TRACE(std::string(way.name) + (inference ? ", inference" : ", training"));
      expect_nothing_stays<Minibatch>(way, inference);
    }
  }
}

TEST(GoneModelsTest, LeaveNothingInAGraph) {
  for (const Way& way : kWays) {
    for (const bool inference : {false, true}) {
      SCOPED_TRACE(std::string(way.name) + (inference ? ", inference" : ", training"));
      expect_nothing_stays<ComputationGraph>(way, inference);
    }
  }
}

// A model may end before the graphs that have read it are cleared.
TEST(GoneModelsTest, StayUntilTheirGraphsAreCleared) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    Minibatch batch(options_of(false));
    std::unique_ptr<Model> model = way.make(1);
    const auto weights = weights_of(*model);
    batch.add_loss(model->loss(batch.new_graph(), 0));
    model.reset();
    const float first = batch.forward();
    batch.backward();
    EXPECT_EQ(batch.forward(), first);
    EXPECT_GT(batch.explain().nodes, 0u);
    for (const auto& weight : weights) EXPECT_FALSE(weight.expired());
    batch.clear();
    for (const auto& weight : weights) EXPECT_TRUE(weight.expired());
  }
}

// Nor does what is recorded meanwhile take what is gone for something that is there, wherever that
// lies.
TEST(GoneModelsTest, AreNotTakenForTheNext) {
  for (const bool runs_another : {false, true}) {
    Minibatch batch(options_of(false));
    for (unsigned round = 0; round < 20; ++round) {
      PlainNodes another(5);
      if (runs_another) batch.add_loss(another.loss(batch.new_graph(), 1));
      for (const Way& way : kWays) {
        const std::unique_ptr<Model> model = way.make(1 + round % 3);
        batch.add_loss(model->loss(batch.new_graph(), round));
        const float loss = batch.forward();
        Minibatch fresh(options_of(false));
        if (runs_another) fresh.add_loss(another.loss(fresh.new_graph(), 1));
        fresh.add_loss(model->loss(fresh.new_graph(), round));
        EXPECT_EQ(loss, fresh.forward()) << way.name << ' ' << round;
        batch.clear();
        if (runs_another) batch.add_loss(another.loss(batch.new_graph(), 1));
      }
      batch.clear();
    }
  }
}

// A formula inside a recursion's function, of parameters alone, is recorded on graphs that have not
// met it by itself. Each model has another formula, where that of the last one lay.
struct FormulaOfParameters : Model {
  explicit FormulaOfParameters(unsigned seed)
      : Model(seed), scaled("scaled", [seed](Term x) { return tanh(x * double(seed)); }) {}
  Expression output(const Expression& x) override {
    return rnn(Structure::sequence(2), concatenate_cols({x, x})).last();
  }
  FormulaOp scaled;
  Recursion<Expression> rnn =
      recursion<Expression>([this](const Expression& x, const std::vector<Expression>&) {
        return scaled(parameter(*x.pg, w)) * x;
      });
};

TEST(GoneModelsTest, LeaveNoFormulasOfTheirParameters) {
  Minibatch batch(options_of(false));
  for (unsigned round = 0; round < 20; ++round) {
    FormulaOfParameters model(1 + round % 3);
    const Numbers numbers = run(batch, model, false);
    Minibatch fresh(options_of(false));
    EXPECT_EQ(numbers, run(fresh, model, false)) << round;
    const detail::TypeTable& types = batch.new_graph().record().tape().types();
    EXPECT_EQ(types.owner_of(&model.scaled.op()).get(), &model.scaled.op()) << round;
    batch.clear();
  }
}

std::size_t entries_of(Minibatch& batch) {
  return batch.new_graph().record().tape().types().size();
}

TEST(GoneModelsTest, LeaveTablesAsLargeAsTheyWere) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    Minibatch batch(options_of(false));
    std::size_t after_few = 0, most = 0;
    for (unsigned i = 0; i < 300; ++i) {
      run(batch, *way.make(i), false);
      batch.clear();
      const std::size_t entries = entries_of(batch);
      if (i < 30) after_few = std::max(after_few, entries);
      most = std::max(most, entries);
      batch.clear();
    }
    EXPECT_EQ(most, after_few);
  }
}

// What is known of a model that stays is known in the next minibatch, too.
TEST(GoneModelsTest, AreForgottenNotBeforeTheyAreGone) {
  Minibatch batch(options_of(false));
  Chain model(1);
  for (unsigned i = 0; i < 3; ++i) {
    run(batch, model, false);
    batch.clear();
  }
  const std::size_t entries = entries_of(batch);
  EXPECT_GT(entries, 10u);
  batch.clear();
  EXPECT_EQ(entries_of(batch), entries);
}

// Formulas have no parameters: a program may have as many as it likes beside its recursions.
TEST(GoneModelsTest, MayBeBesideManyFormulas) {
  ComputationGraph graph;
  const Expression x = input(graph, {1}, {0.5f});
  std::vector<std::unique_ptr<FormulaOp>> formulas;
  for (unsigned i = 0; i < 4100; ++i) {
    formulas.push_back(std::make_unique<FormulaOp>("f", [](Term y) { return tanh(y); }));
    (*formulas.back())(x);
  }
  const auto step = cell([](const Expression& y) { return tanh(y); });
  EXPECT_EQ(as_scalar(step(x).value()), as_scalar(tanh(x).value()));
}

}  // namespace
}  // namespace dynet_like::testing
