// Why nodes are in no cell, or cells run backward node by node: explain() names each reason.
#include "dynet_like/device/kernel.h"
#include "tests/cells/cell_programs.h"
#include "dynet_like/exec/cell_reasons.h"

namespace dynet_like::testing {
namespace {

void expect_by_node(const Report& report, CellReason reason, const std::string& ops,
                    std::uint64_t count) {
  const Report::Cell* cell = find_cell(report, ops);
  ASSERT_NE(cell, nullptr) << report;
  EXPECT_EQ(cell->by_node, count) << report;
  EXPECT_EQ(cell->whole, cell->cells - count) << report;
  EXPECT_EQ(times(report, reason, ops), count) << report;
}

// x + m, where all nodes of a batch share m.
void add_shared(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    for (std::size_t e = 0; e < size; ++e) {
      call.out.at<float>(i)[e] = call.in[0].at<float>(i)[e] + call.in[1].at<float>(i)[e];
    }
  }
}

void add_shared_backward(const BackwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (const Destination& to : {call.dx[0], call.dx[1]}) {
    for (std::size_t i = 0; i < call.n; ++i) {
      float* dx = to.wanted() ? to.at<float>(i) : nullptr;
      for (std::size_t e = 0; dx != nullptr && e < size; ++e) {
        dx[e] = (to.add[i] != 0 ? dx[e] : 0) + call.dy.at<float>(i)[e];
      }
    }
  }
}

const Op& add_shared_op() {
  static const Kernels kernels{{add_shared, nullptr}, {add_shared_backward, nullptr}};
  static const Op op = [] {
    Op result;
    result.name = "add_shared";
    result.min_inputs = result.max_inputs = 2;
    result.batching.join = [](unsigned input, std::span<const std::uint32_t>) {
      return input == 0 ? Join::shared : Join::stacked;
    };
    result.gradient.needs = Needs::nothing;
    result.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[1]; };
    result.kernels = &kernels;
    return result;
  }();
  return op;
}

class CellReasons : public ExplainCells {
 protected:
  /// What belongs to a sample, and how add_shared uses it: no cell can have that.
  static Expression own(ComputationGraph& graph) {
    return input(graph, Dim({kSize}), std::vector<float>(kSize, 0.5f));
  }
  static Expression add(const Expression& shift, const Expression& x) {
    return apply_op(add_shared_op(), std::vector{shift, x});
  }
};

// --------------------------------------------------------------- why nodes are not made cell types

TEST_F(CellReasons, MinibatchDimensions) {
  GraphOptions options;
  options.cells_after = 50;
  Minibatch batch(options);
  const Report report = run(batch, [&](ComputationGraph& graph, unsigned) {
    const std::vector<unsigned> words = {1, 2, 3};
    const Expression x = lookup(graph, table, words);
    return sum_batches(squared_norm(step(graph, x, x)));
  });
  EXPECT_EQ(times(report, CellReason::minibatch, "tanh"), 2 * kSamples) << report;
  EXPECT_EQ(times(report, CellReason::minibatch, "affine_transform"), 2 * kSamples) << report;
  EXPECT_TRUE(contains(text_of(report),
                       "not folded: 32 times tanh: some of these values have a "
                       "minibatch dimension\n"))
      << report;
}

TEST_F(CellReasons, ArgumentsOfOneSample) {
  const Program shifted = [&](ComputationGraph& graph, unsigned sample) {
    const Expression shift = own(graph);
    Expression state = word(graph, sample);
    for (unsigned i = 0; i < length(sample); ++i) {
      const Expression x = add(shift, state);
      state = step(graph, x, x);
    }
    return squared_norm(state);
  };
  GraphOptions options;
  options.cells_after = 50;
  Minibatch batch(options);
  const Report report = run(batch, shifted);
  EXPECT_EQ(times(report, CellReason::argument_of_sample, "add_shared"), all_steps()) << report;
  ASSERT_NE(find_cell(report), nullptr) << report;
  EXPECT_EQ(find_cell(report)->cells, all_steps());
}

TEST_F(CellReasons, TooFewAlike) {
  Random random(7);
  const Program links = [&](ComputationGraph& graph, unsigned sample) {
    std::vector<Expression> all = {word(graph, sample), word(graph, sample + 1)};
    const auto any = [&] { return all[random.below(static_cast<unsigned>(all.size()))]; };
    for (unsigned i = 0; i < 4; ++i) {
      all.push_back(affine(graph, u, any()));
      all.push_back(cmult(any(), any()));
      all.push_back(tanh(any()));
    }
    return squared_norm(sum(all));
  };
  GraphOptions options;
  options.cells_after = 50;
  Minibatch batch(options);
  const Report report = run(batch, links);
  // Of what repeats, the types are the same, but hardly ever the links.
  EXPECT_GT(times(report, CellReason::few_alike, "affine_transform cmult tanh"), kSamples * 2)
      << report;
}

TEST_F(CellReasons, TooFewNodes) {
  // With a cell of lookup and tanh, tanh would run once more for the samples that have no lookup.
  const Program program = [&](ComputationGraph& graph, unsigned sample) {
    const Expression x = sample < 5 ? own(graph) : word(graph, sample);
    return squared_norm(logistic(affine(graph, u, tanh(x))));
  };
  GraphOptions options;
  options.cells_after = 50;
  Minibatch batch(options);
  const Report report = run(batch, program);
  EXPECT_EQ(times(report, CellReason::calls, "lookup tanh"), kSamples - 5) << report;
  EXPECT_EQ(find_cell(report, "lookup tanh"), nullptr) << report;
}

// ----------------------------------------------------------- why nodes that begin like a cell do
// not

TEST_F(CellReasons, Checkpoints) {
  const Report report =
      after(chain(), chain([](ComputationGraph& graph, const Expression&) { graph.checkpoint(); }));
  EXPECT_EQ(times(report, CellReason::checkpoint), all_steps()) << report;
  EXPECT_EQ(find_cell(report), nullptr);
  EXPECT_TRUE(contains(text_of(report), "not folded: 72 times " + std::string(kStep) +
                                            ": a checkpoint lies in between\n"))
      << report;
}

TEST_F(CellReasons, ValuesInTheMiddle) {
  unsigned asked = 0;
  const Report report = after(chain(), chain([&](ComputationGraph&, const Expression& product) {
                                if (++asked <= 5) product.value();
                              }));
  EXPECT_EQ(times(report, CellReason::ended), 5u) << report;
  EXPECT_EQ(find_cell(report)->cells, all_steps() - 5);
}

TEST_F(CellReasons, OtherLinks) {
  const Report report = after(chain(), pair());
  EXPECT_EQ(times(report, CellReason::links), kSamples) << report;
}

TEST_F(CellReasons, OtherOps) {
  const Report report = after(chain(), [&](ComputationGraph& graph, unsigned sample) {
    const Expression x = word(graph, sample);
    const Expression gate = logistic(affine(graph, u, x)), other = tanh(affine(graph, v, x));
    return squared_norm(logistic(cmult(gate, other)));
  });
  EXPECT_EQ(times(report, CellReason::ops), kSamples) << report;
}

TEST_F(CellReasons, LaterMinibatchDimensions) {
  const Report report = after(chain(), [&](ComputationGraph& graph, unsigned) {
    const std::vector<unsigned> words = {1, 2, 3};
    const Expression x = lookup(graph, table, words);
    return sum_batches(squared_norm(step(graph, x, x)));
  });
  EXPECT_EQ(times(report, CellReason::minibatch), kSamples) << report;
}

// A node of a type that no cell can have lies between and reads the gate, and something reads it.
TEST_F(CellReasons, NodesBetween) {
  const auto around = [&](bool is_read) {
    return Program([=, this](ComputationGraph& graph, unsigned sample) {
      const Expression shift = own(graph);
      Expression state = word(graph, sample), others = state;
      for (unsigned i = 0; i < length(sample); ++i) {
        const Expression gate = logistic(affine(graph, u, state));
        const Expression other = add(shift, gate);
        state = tanh(cmult(affine(graph, v, state), is_read ? other : gate));
        others = others + other;
      }
      return squared_norm(state) + squared_norm(others);
    });
  };
  const auto refused = [&](const Report& report) {
    std::uint64_t sum = 0;
    for (const Report::NotFolded& other : report.not_folded) {
      if (other.reason == words_of(CellReason::between)) sum += other.times;
    }
    return sum;
  };
  // Cells are known, and the matcher refuses those that are read in between.
  GraphOptions options;
  options.cells_after = 50;
  Minibatch batch(options);
  run(batch, around(false));
  EXPECT_GT(run(batch, around(false)).nodes_in_cells, 0u);
  EXPECT_GE(refused(run(batch, around(true))), all_steps());
  // Nothing else was recorded: learning refuses them, and nobody looks for them in vain later.
  Minibatch other(options);
  EXPECT_EQ(refused(run(other, around(true))), all_steps());
  EXPECT_EQ(refused(run(other, around(true), 2)), all_steps());
}

// ------------------------------------------------------------- why cells run backward node by node

TEST_F(CellReasons, UnreadResults) {
  const Program outputs = [&](ComputationGraph& graph, unsigned sample) {
    Expression h = word(graph, sample), c = word(graph, sample + 1);
    for (unsigned i = 0; i < length(sample); ++i) {
      const Expression a = affine_transform(
          {parameter(graph, bias), parameter(graph, u), h, parameter(graph, v), c});
      h = tanh(a);
      c = logistic(a);
    }
    return squared_norm(h) + squared_norm(sample < 5 ? nobackprop(c) : c);
  };
  const Report report = after(outputs, outputs);
  expect_by_node(report, CellReason::unread, "affine_transform tanh logistic", 5);
}

TEST_F(CellReasons, Constants) {
  const Program one_gate = [&](ComputationGraph& graph, unsigned sample) {
    Expression x =
        sample < 5 ? input(graph, Dim({kSize}), std::vector<float>(kSize, 1)) : word(graph, sample);
    for (unsigned i = 0; i < length(sample); ++i) {
      x = logistic(affine(graph, u, tanh(x)));
    }
    return squared_norm(x);
  };
  const Report report = after(one_gate, one_gate);
  expect_by_node(report, CellReason::constant, "tanh affine_transform logistic", 5);
}

TEST_F(CellReasons, ParametersWhoseGradientsKernelsWrite) {
  const Program program = [&](ComputationGraph& graph, unsigned sample) {
    const Expression x = word(graph, sample);
    return squared_norm(tanh(add(parameter(graph, bias), tanh(affine(graph, u, x)))));
  };
  const Report report = after(program, program);
  expect_by_node(report, CellReason::parameter,
                 "lookup affine_transform tanh add_shared tanh square sum_dim", kSamples);
}

// Not a reason: what takes the places of values may be a parameter in some cells and none in
// others.
TEST_F(CellReasons, ParametersAsOrdinaryInputs) {
  const Program program = [&](ComputationGraph& graph, unsigned sample) {
    const Expression x = word(graph, sample);
    const Expression y = sample < 5 ? parameter(graph, bias) : word(graph, sample + 1);
    return squared_norm(tanh(cmult(y, tanh(affine(graph, u, x)) + y)));
  };
  const Report report = after(program, program);
  expect_by_node(report, CellReason::none, "affine_transform tanh add cmult tanh square sum_dim",
                 0);
}

TEST_F(CellReasons, LossesInTheMiddle) {
  const Parameter w = model.add_parameters({1, kSize}), r = model.add_parameters({1, 1});
  GraphOptions options;
  options.cells_after = 50;
  Minibatch batch(options);
  const Program program = [&](ComputationGraph& graph, unsigned sample) {
    const Expression middle = tanh(parameter(graph, w) * word(graph, sample));
    if (sample < 5) batch.add_loss(middle);
    return logistic(parameter(graph, r) * middle);
  };
  run(batch, program);
  const Report report = run(batch, program);
  expect_by_node(report, CellReason::loss, "lookup matrix_product tanh matrix_product logistic", 5);
}

TEST_F(CellReasons, GradientsOutOfOrder) {
  const auto program = [&](unsigned from) {
    return Program([=, this](ComputationGraph& graph, unsigned sample) {
      const Expression begin = word(graph, sample);
      Expression x = concatenate({begin, begin});
      for (unsigned i = 0; i < length(sample); ++i) {
        const Expression y =
            step(graph, pick_range(x, 0, kSize), pick_range(x, from, from + kSize));
        x = concatenate({y, y});
      }
      return squared_norm(x);
    });
  };
  const Report report = after(program(kSize), program(3));
  expect_by_node(report, CellReason::order, kStep + std::string(" concatenate"), all_steps());
}

}  // namespace
}  // namespace dynet_like::testing
