// Cells with gates: products of the same right sides have the bits of each alone.
#include "tests/support/with_cells.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kHidden = 6;

/// A step of a recurrent network with gates of different sizes, all of which read x and h.
struct Network {
  explicit Network(DType dtype, unsigned scale = 1)
      : model(3, dtype), words(model.add_lookup_parameters(9, {scale * kHidden}, "words")) {
    const unsigned n = scale * kHidden, rows[] = {scale * 5, n, scale * 19};
    for (const unsigned r : rows) {
      of_x.push_back(model.add_parameters({r, n}, "of_x"));
      of_h.push_back(model.add_parameters({r, n}, "of_h"));
      bias.push_back(model.add_parameters({r}, ParameterInitUniform(-1, 1), "bias"));
      back.push_back(model.add_parameters({n, r}, "back"));
    }
  }

  Expression at(ComputationGraph& graph, const Parameter& p) const {
    return trained ? parameter(graph, p) : const_parameter(graph, p);
  }
  Expression gate(const Expression& x, const Expression& h, std::size_t k) const {
    ComputationGraph& graph = *x.pg;
    const Expression weights = k == constant ? const_parameter(graph, of_x[k]) : at(graph, of_x[k]);
    return affine_transform({at(graph, bias[k]), weights, x, at(graph, of_h[k]), h});
  }
  Expression step(const Expression& x, const Expression& h) const {
    ComputationGraph& graph = *x.pg;
    const Expression a = logistic(gate(x, h, 0)), b = tanh(gate(x, h, 1)), c = tanh(gate(x, h, 2));
    const Expression sum = at(graph, back[0]) * a + at(graph, back[2]) * c;
    return tanh(cmult(sum, b) + at(graph, back[1]) * b);
  }

  ParameterCollection model;
  LookupParameter words;
  std::vector<Parameter> of_x, of_h, bias, back;
  bool trained = true;
  std::size_t constant = 99;  ///< the gate of which one weight is no parameter to train
};

using Step = std::function<Expression(const Expression& x, const Expression& h)>;
using Between = std::function<void(unsigned round)>;

struct Training {
  unsigned rounds = 6, samples = 7, scale = 1;
  Between between = {};  ///< what is done after an update
};

void train(Network& network, const Step& step, const Training& training, GraphOptions options,
           Notes& notes) {
  SimpleSGDTrainer trainer(network.model, 0.1f);
  Minibatch batch(options);
  for (unsigned round = 0; round < training.rounds; ++round) {
    batch.clear();
    std::vector<Expression> states;
    for (unsigned sample = 0; sample < training.samples; ++sample) {
      ComputationGraph& graph = batch.new_graph();
      Expression h = lookup(graph, network.words, sample % 9);
      for (unsigned i = 0; i < 4 + (sample + round) % 5; ++i) {
        h = step(lookup(graph, network.words, (sample + i) % 9), h);
        states.push_back(h);
      }
      const Expression loss = squared_norm(h);
      if (options.inference) batch.add_output(loss);
      if (!options.inference) batch.add_loss(loss);
    }
    if (options.inference) {
      batch.forward();
    } else {
      notes.add("loss", std::vector<float>{batch.forward()});
      const Gradients& gradients = batch.backward();
      for (const Expression& h : states) notes.add("gradient of a state", h.gradient());
      trainer.update(gradients);
    }
    for (const Expression& h : states) notes.add("state", h.value());
    for (const auto& storage : network.model.storages())
      notes.add(storage->name, storage->tensor());
    notes.nodes_in_cells += batch.explain().nodes_in_cells;
    if (training.between) training.between(round);
  }
}

using MakeStep = std::function<Step(Network&)>;

void expect_same_bits(const MakeStep& make_step, const GraphOptions& options = {},
                      const Training& training = {}) {
  expect_same_with_cells(
      [&](const GraphOptions& its_options, Notes& notes) {
        Network network(options.dtype, training.scale);
        train(network, make_step(network), training, its_options, notes);
      },
      options);
}

Step plain_step(Network& network) {
  return [&](const Expression& x, const Expression& h) { return network.step(x, h); };
}

TEST(CellsWithGates, TrainsTheSameBits) { expect_same_bits(plain_step); }

TEST(CellsWithGates, TrainsTheSameBitsInDoublePrecision) {
  GraphOptions options;
  options.dtype = DType::f64;
  expect_same_bits(plain_step, options);
}

TEST(CellsWithGates, OfManyRows) {
  Training training;
  training.rounds = 3;
  for (unsigned scale : {3u, 8u}) {
    training.scale = scale;
    expect_same_bits(plain_step, {}, training);
  }
}

TEST(CellsWithGates, WithThreads) {
  for (unsigned threads : {2u, 3u}) {
    GraphOptions options;
    options.threads = threads;
    Training training;
    training.samples = 20;
    training.scale = 4;
    expect_same_bits(plain_step, options, training);
  }
}

TEST(CellsWithGates, WithChecks) {
  GraphOptions options;
  options.verify_batching = true;
  expect_same_bits(plain_step, options);
  options.detect_anomaly = true;
  expect_same_bits(plain_step, options);
}

TEST(CellsWithGates, InInference) {
  GraphOptions options;
  options.inference = true;
  expect_same_bits(plain_step, options);
}

// What is packed is packed anew when the weight has changed.
class GatesPacking : public ::testing::Test {
 public:
  /// Values of one weight change between two rounds of inference, in which no others do.
  static void expect_new(const std::function<void(Network&, unsigned round)>& change) {
    for (bool inference : {true, false}) {
      GraphOptions options;
      options.inference = inference;
      expect_same_with_cells(
          [&](const GraphOptions& its_options, Notes& notes) {
            Network network(options.dtype);
            Training training;
            training.samples = 20;  // so many that it is worth packing
            training.between = [&](unsigned round) { change(network, round); };
            train(network, plain_step(network), training, its_options, notes);
          },
          options);
    }
  }
};

TEST_F(GatesPacking, AfterAValueWasSet) {
  for (std::size_t part : {0, 1, 2}) {
    expect_new([part](Network& network, unsigned round) {
      const Parameter& weights = part == 1 ? network.of_x[part] : network.of_h[part];
      std::vector<float> values(weights.dim().size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = 0.01f * static_cast<float>(i % 17) - 0.03f * static_cast<float>(round);
      }
      weights.set_value(values);
    });
  }
}

TEST_F(GatesPacking, AfterABiasWasSet) {
  expect_new([](Network& network, unsigned) { network.bias[2].scale(0.5f); });
}

// Whose memory was handed out may be written to at any time.
TEST_F(GatesPacking, AfterAWriteInPlace) {
  expect_new([](Network& network, unsigned round) {
    Tensor values = network.of_h[1].values();
    values.set(round, 0.25 * round);
    network.of_h[1].get_storage().values_written();
  });
  std::vector<Tensor> held;
  expect_new([&](Network& network, unsigned round) {
    if (round == 0) held.assign(1, network.of_x[2].values());
    held[0].set(round, 0.25 * round);
    if (!network.model.device()->is_cpu()) network.of_x[2].get_storage().values_written();
  });
}

TEST(CellsWithGates, WithAveragedWeights) {
  expect_same_with_cells([](const GraphOptions& options, Notes& notes) {
    Network network(DType::f32);
    SimpleSGDTrainer averaging(network.model, 0.1f);
    averaging.exponential_moving_average(0.5f);
    Minibatch batch(options);
    const auto run = [&] {
      batch.clear();
      for (unsigned sample = 0; sample < 20; ++sample) {
        ComputationGraph& graph = batch.new_graph();
        Expression h = lookup(graph, network.words, sample % 9);
        for (unsigned i = 0; i < 5; ++i) h = network.step(lookup(graph, network.words, i), h);
        batch.add_loss(squared_norm(h));
      }
      notes.add("loss", std::vector<float>{batch.forward()});
      notes.nodes_in_cells += batch.explain().nodes_in_cells;
    };
    for (unsigned round = 0; round < 4; ++round) {
      run();
      averaging.update(batch.backward());
      run();
      averaging.swap_params_to_moving_average();
      run();
      averaging.swap_params_to_weights();
      run();
    }
  });
}

// A product of parameters alone is a weight, too, and is another one after an update.
TEST(CellsWithGates, OfWeightsThatFollowFromOthers) {
  expect_same_bits(
      [](Network& network) -> Step {
        return [&](const Expression& x, const Expression& h) {
          ComputationGraph& graph = *x.pg;
          const Expression left = parameter(graph, network.of_x[1]) * 0.5f;
          const Expression right = tanh(parameter(graph, network.of_h[1]));
          const Expression a = left * h, b = right * h;
          return tanh(cmult(a, x) + b);
        };
      },
      {}, {.samples = 20});
}

TEST(CellsWithGates, AWeightThatTwoOfThemHave) {
  expect_same_bits([](Network& network) -> Step {
    return [&](const Expression& x, const Expression& h) {
      ComputationGraph& graph = *x.pg;
      const auto gate = [&](unsigned of_bias, const Parameter& weights) {
        return affine_transform(
            {parameter(graph, network.bias[of_bias]), parameter(graph, weights), h});
      };
      const Expression a = gate(1, network.of_x[1]), b = gate(1, network.of_h[1]);
      const Expression c = affine_transform({x, parameter(graph, network.of_x[1]), h});
      return tanh(a + cmult(b, logistic(c)));
    };
  });
}

// One weight beside another, and alone at other places of the cell and between cells.
TEST(CellsWithGates, AWeightThatIsAlsoUsedAlone) {
  expect_same_bits([](Network& network) -> Step {
    return [&](const Expression& x, const Expression& h) {
      ComputationGraph& graph = *x.pg;
      const Expression w = parameter(graph, network.of_h[1]), v = parameter(graph, network.back[1]);
      const Expression a = w * h, b = v * h;
      return tanh(w * logistic(a) + cmult(b, x));
    };
  });
  unsigned steps = 0;
  expect_same_bits([&](Network& network) -> Step {
    steps = 0;
    return [&](const Expression& x, const Expression& h) {
      ComputationGraph& graph = *x.pg;
      const Expression next = network.step(x, h);
      if (++steps % 3 != 0 || steps < 100) return next;
      return logistic(parameter(graph, network.of_h[1]) * next);
    };
  });
}

TEST(CellsWithGates, SomeWeightsNeedNoGradient) {
  expect_same_bits([](Network& network) {
    network.constant = 1;
    return plain_step(network);
  });
  expect_same_bits([](Network& network) {
    network.of_x[0].set_updated(false);
    return plain_step(network);
  });
  expect_same_bits([](Network& network) {
    network.trained = false;
    return plain_step(network);
  });
}

// The same steps with several members, and right sides that are parts of a value.
TEST(CellsWithGates, SeveralTimesInACell) {
  expect_same_bits([](Network& network) -> Step {
    return [&](const Expression& x, const Expression& h) {
      ComputationGraph& graph = *x.pg;
      const Expression w = parameter(graph, network.of_h[1]), v = parameter(graph, network.of_x[1]);
      const Expression a = w * h, b = v * h, c = w * x, d = v * x;
      const Expression u = parameter(graph, network.back[1]);
      const Expression half = pick_range(u * tanh(a + d), 0, 6);
      return tanh(cmult(b, c) + half);
    };
  });
}

// What else reads the right side before, between and behind the products decides the order of sums.
TEST(CellsWithGates, OthersReadTheRightSide) {
  expect_same_bits([](Network& network) -> Step {
    return [&](const Expression& x, const Expression& h) {
      ComputationGraph& graph = *x.pg;
      const Expression before = cmult(h, x);
      const Expression a = parameter(graph, network.of_h[1]) * h, between = square(h);
      const Expression b = parameter(graph, network.of_x[1]) * h;
      return tanh(a + b) + 0.1f * tanh(before + between + h);
    };
  });
}

// A seed in the middle of a cell: it runs backward node by node, others beside it as a whole.
TEST(CellsWithGates, SomeCellsRunBackwardByNode) {
  std::uint64_t by_node = 0, whole = 0;
  expect_same_with_cells([&](const GraphOptions& options, Notes& notes) {
    Network network(DType::f32);
    Minibatch batch(options);
    for (unsigned round = 0; round < 4; ++round) {
      batch.clear();
      std::vector<Expression> gates;
      for (unsigned sample = 0; sample < 12; ++sample) {
        ComputationGraph& graph = batch.new_graph();
        Expression h = lookup(graph, network.words, sample % 9);
        for (unsigned i = 0; i < 6; ++i) {
          const Expression x = lookup(graph, network.words, i);
          const Expression a = network.gate(x, h, 1);
          const Expression b = parameter(graph, network.back[1]) * h;
          const Expression c = parameter(graph, network.of_x[1]) * h;
          const Expression d = dot_product(a, b);
          if (round > 1 && (sample + i) % 4 == 0) batch.add_loss(d);
          h = tanh(cmult(c, a) + x * d);
          gates.insert(gates.end(), {b, c});
        }
        batch.add_loss(squared_norm(h));
      }
      notes.add("loss", std::vector<float>{batch.forward()});
      const Gradients& gradients = batch.backward();
      for (const Parameter& p : {network.back[1], network.of_x[1], network.of_h[1]}) {
        notes.add(p.get_fullname(), gradients.values(p));
      }
      for (const Expression& e : gates) notes.add("gradient", e.gradient());
      for (const Report::Cell& cell : batch.explain().cells) {
        by_node += cell.by_node;
        whole += cell.whole;
        notes.nodes_in_cells += cell.cells;
      }
    }
  });
  EXPECT_GT(by_node, 0u);
  EXPECT_GT(whole, 0u);
}

// A graph that goes on from a checkpoint again and again, as a search does.
TEST(CellsWithGates, Reverted) {
  expect_same_with_cells([](const GraphOptions& options, Notes& notes) {
    Network network(DType::f32);
    ComputationGraph graph(options);
    for (unsigned round = 0; round < 6; ++round) {
      graph.clear();
      Expression h = lookup(graph, network.words, round);
      for (unsigned i = 0; i < 30; ++i) h = network.step(lookup(graph, network.words, i % 9), h);
      notes.add("first", h.value());
      graph.checkpoint();
      Expression other = h;
      for (unsigned i = 0; i < 9; ++i) other = network.step(lookup(graph, network.words, i), other);
      notes.add("other", other.value());
      graph.revert();
      for (unsigned i = 0; i < 9; ++i) h = network.step(lookup(graph, network.words, 8 - i), h);
      const Expression loss = squared_norm(h);
      const Gradients& gradients = graph.backward(loss);
      for (const Parameter& p : network.of_x) notes.add(p.get_fullname(), gradients.values(p));
      notes.nodes_in_cells += graph.explain().nodes_in_cells;
    }
  });
}

// In inference values are given back when nothing reads them any more, and not before.
TEST(CellsWithGates, MemoryIsGivenBack) {
  const Network network(DType::f32);
  const auto run = [&](std::size_t cells_after, bool reads_gates, Notes& notes) {
    GraphOptions options;
    options.inference = true;
    options.cells_after = cells_after;
    Minibatch batch(options);
    for (unsigned round = 0; round < 4; ++round) {
      batch.clear();
      std::vector<Expression> outputs;
      for (unsigned sample = 0; sample < 20; ++sample) {
        ComputationGraph& graph = batch.new_graph();
        Expression h = lookup(graph, network.words, sample % 9);
        for (unsigned i = 0; i < 40; ++i) {
          const Expression a = network.at(graph, network.of_x[1]) * h;
          const Expression b = network.at(graph, network.of_h[1]) * h;
          if (reads_gates) outputs.push_back(i % 2 == 0 ? a : b);
          h = tanh(cmult(tanh(a), logistic(b)) + h);
        }
        outputs.push_back(h);
      }
      for (const Expression& e : outputs) batch.add_output(e);
      batch.forward();
      for (const Expression& e : outputs) notes.add("output", e.value());
      EXPECT_EQ(batch.explain().recomputed, 0u);
      notes.nodes_in_cells += batch.explain().nodes_in_cells;
    }
    return batch.explain().peak_bytes;
  };
  for (bool reads_gates : {false, true}) {
    Notes with, without;
    const std::uint64_t peak = run(32, reads_gates, with);
    EXPECT_LT(peak, 2 * run(0, reads_gates, without));
    EXPECT_TRUE(same(with, without));
    EXPECT_GT(with.nodes_in_cells, 0u);
  }
}

}  // namespace
}  // namespace dynet_like::testing
