// Cells under all options, and with ops that are special: the bits and the errors of no cells.
#include "dynet_like/device/kernel.h"
#include "tests/support/cell_chains.h"
#include "tests/support/message_of.h"

namespace dynet_like::testing {
namespace {

Expression step_of_gates(Step& step) {
  const Expression w = parameter(step.graph, step.model.w44);
  const Expression a = tanh(w * step.state + step.fixed);
  const Expression gate =
      logistic(affine_transform({parameter(step.graph, step.model.bias4), w, a, w, step.before}));
  step.graph.label(gate, "gate");
  return dropout(cmult(gate, a) + cmult(1 - gate, step.state), 0.2f);
}

TEST(CellsModes, InDoublePrecision) {
  GraphOptions options;
  options.dtype = DType::f64;
  expect_same_chains(step_of_gates, options);
}

TEST(CellsModes, WithChecks) {
  GraphOptions options;
  options.verify_batching = true;
  expect_same_chains(step_of_gates, options);
  options.detect_anomaly = true;
  expect_same_chains(step_of_gates, options);
  options.verify_batching = false;
  expect_same_chains(step_of_gates, options);
}

TEST(CellsModes, WithThreads) {
  ChainOptions chains;
  chains.steps = 30;
  for (unsigned threads = 2; threads <= 4; ++threads) {
    GraphOptions options;
    options.threads = threads;
    expect_same_chains(step_of_gates, options, chains);
  }
}

TEST(CellsModes, RecordedBesideEachOther) {
  expect_same_with_cells([](GraphOptions options, Notes& notes) {
    const RandomModel model;
    options.threads = 3;
    Random dropout(3);
    options.random = &dropout;
    Minibatch batch(options);
    for (unsigned round = 0; round < 4; ++round) {
      batch.clear();
      batch.add_losses(20, [&](ComputationGraph& graph, std::size_t sample) {
        Random random(100 * round + sample);
        std::vector<Expression> losses;
        Notes none;
        Step step{graph, model, {}, {}, {}, 0, random, losses, none};
        step.fixed = step.input(Dim({4}));
        step.before = step.state = tanh(lookup(graph, model.table4, random.below(9)));
        for (unsigned i = 0; i < 3 + sample % 7; ++i) step.state = step_of_gates(step);
        return sum_elems(step.state);
      });
      notes.add("loss", std::vector<float>{batch.forward()});
      notes.add("parameters", model.all(batch.backward()));
      notes.add("again", model.all(batch.backward()));
      notes.nodes_in_cells += batch.explain().nodes_in_cells;
    }
  });
}

TEST(CellsModes, InInference) {
  GraphOptions options;
  options.inference = true;
  expect_same_chains(step_of_gates, options);
}

// What is freed is what nobody asked for.
TEST(CellsModes, InferenceKeepsOutputs) {
  const RandomModel model;
  GraphOptions options;
  options.inference = true;
  options.cells_after = 32;
  Minibatch batch(options);
  std::uint64_t in_cells = 0;
  for (unsigned round = 0; round < 4; ++round) {
    batch.clear();
    std::vector<Expression> outputs;
    for (unsigned sample = 0; sample < 6; ++sample) {
      ComputationGraph& graph = batch.new_graph();
      Expression state = tanh(lookup(graph, model.table4, sample));
      for (unsigned i = 0; i < 6; ++i) {
        const Expression a = parameter(graph, model.w44) * state, b = tanh(a);
        state = cmult(logistic(b), b);
        outputs.insert(outputs.end(), {i % 2 == 0 ? a : b, state});
      }
    }
    for (const Expression& e : outputs) batch.add_output(e);
    batch.forward();
    for (const Expression& e : outputs) e.value();
    EXPECT_EQ(batch.explain().recomputed, 0u);
    in_cells += batch.explain().nodes_in_cells;
  }
  EXPECT_GT(in_cells, 0u);
}

// The gradient of a square root is infinite at 0, where its value is not.
TEST(CellsModes, AnomaliesOfGradientsAreFound) {
  std::vector<std::string> messages;
  for (std::size_t cells_after : {0, 32}) {
    const RandomModel model;
    GraphOptions options;
    options.cells_after = cells_after;
    options.detect_anomaly = true;
    Minibatch batch(options);
    const auto run = [&](float number) {
      batch.clear();
      for (unsigned sample = 0; sample < 8; ++sample) {
        ComputationGraph& graph = batch.new_graph();
        Expression state = tanh(lookup(graph, model.table4, sample));
        for (unsigned i = 0; i < 6; ++i) {
          const Expression zero = square(parameter(graph, model.w44) * state) * number;
          state = logistic(tanh(sqrt(zero)));
        }
        batch.add_loss(sum_elems(state));
      }
      batch.forward();
      batch.backward();
    };
    for (unsigned round = 0; round < 3; ++round) run(1.0f);
    EXPECT_EQ(batch.explain().nodes_in_cells > 0, cells_after > 0);
    const std::string message = message_of<NumericError>([&] { run(0.0f); });
    EXPECT_NE(message.find("gradient"), std::string::npos) << message;
    messages.push_back(message.substr(0, message.find(" in sample")));
    run(1.0f);
  }
  EXPECT_EQ(messages[0], messages[1]);
}

TEST(CellsModes, IntegersThatComeLater) {
  expect_same_with_cells([](const GraphOptions& options, Notes& notes) {
    const RandomModel model;
    ComputationGraph graph(options);
    std::vector<unsigned> rows(10), picks(10);
    for (unsigned round = 0; round < 4; ++round) {
      graph.clear();
      Expression state = tanh(lookup(graph, model.table4, round));
      for (unsigned i = 0; i < 10; ++i) {
        const Expression x = lookup(graph, model.table4, &rows[i]);
        const Expression a = tanh(parameter(graph, model.w44) * (state + x));
        state = cmult(a, concatenate({pick(a, &picks[i]), pick_range(a, 0, 3)}));
      }
      for (unsigned i = 0; i < 10; ++i) rows[i] = (round * 3 + i) % 9, picks[i] = (round + i) % 4;
      notes.add("state", state.value());
      notes.add("parameters", model.all(graph.backward(sum_elems(state))));
      notes.nodes_in_cells += graph.explain().nodes_in_cells;
    }
  });
}

TEST(CellsModes, TablesThatAreUpdatedLazily) {
  expect_same_with_cells([](const GraphOptions& options, Notes& notes) {
    RandomModel model;
    MomentumSGDTrainer trainer(model.collection, 0.1f);
    trainer.sparse_updates = SparseUpdates::exact;
    Minibatch batch(options);
    for (unsigned round = 0; round < 6; ++round) {
      batch.clear();
      for (unsigned sample = 0; sample < 6; ++sample) {
        ComputationGraph& graph = batch.new_graph();
        Expression state = tanh(lookup(graph, model.table4, (round + sample) % 9));
        for (unsigned i = 0; i < 6; ++i) {
          const Expression x = lookup(graph, model.table4, (round * sample + i) % 9);
          state = cmult(tanh(parameter(graph, model.w44) * state + x), logistic(x));
        }
        batch.add_loss(sum_elems(state));
      }
      notes.add("loss", std::vector<float>{batch.forward()});
      trainer.update(batch.backward());
      for (unsigned row = 0; row < 9; ++row) notes.add("row", model.table4.values(row));
      notes.nodes_in_cells += batch.explain().nodes_in_cells;
    }
  });
}

// x * x with two inputs, which keeps something for backward.
void multiply(const ForwardCall& call) {
  const std::size_t n = call.type->output_size;
  for (std::size_t i = 0; i < call.n * n; ++i) {
    call.out.at<float>(i / n)[i % n] =
        call.in[0].at<float>(i / n)[i % n] * call.in[1].at<float>(i / n)[i % n];
  }
}
void multiply_back(const BackwardCall& call) {
  const std::size_t n = call.type->output_size;
  for (unsigned j = 0; j < 2; ++j) {
    if (!call.dx[j].wanted()) continue;
    for (std::size_t i = 0; i < call.n; ++i) {
      auto* dx = static_cast<float*>(call.dx[j].items[i]);
      const auto* dy = static_cast<const float*>(call.dy.items[i]);
      if (dx == nullptr) continue;
      for (std::size_t k = 0; k < n; ++k) {
        const float d = dy[k] * call.in[1 - j].at<float>(i)[k];
        dx[k] = call.dx[j].add[i] != 0 ? dx[k] + d : d;
      }
    }
  }
}

const Op& multiply_op() {
  static const Kernels kernels{{multiply, nullptr}, {multiply_back, nullptr}};
  static const Op op = [] {
    Op result;
    result.name = "multiply";
    result.min_inputs = result.max_inputs = 2;
    result.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
    result.kernels = &kernels;
    return result;
  }();
  return op;
}

TEST(CellsModes, OpsOfTheUser) {
  expect_same_chains([](Step& step) {
    const Expression a = tanh(parameter(step.graph, step.model.w44) * step.state);
    const Expression in[] = {a, step.variant % 2 == 0 ? step.before : a};
    const Expression b[] = {apply_op(multiply_op(), in), a};
    return apply_op(multiply_op(), b) + step.state;
  });
}

// An op whose kernel does something else from some call on, as one with a fault might in a cell.
std::size_t calls_so_far = 0, good_calls = 0;

void copy_in(const ForwardCall& call) {
  const std::size_t n = call.type->output_size;
  for (std::size_t i = 0; i < call.n * n; ++i) {
    call.out.at<float>(i / n)[i % n] = call.in[0].at<float>(i / n)[i % n];
  }
}
void copy_back(const BackwardCall& call) {
  const float factor = ++calls_so_far <= good_calls ? 1.0f : 2.0f;
  for (std::size_t i = 0; i < call.n; ++i) {
    auto* const dx = static_cast<float*>(call.dx[0].items[i]);
    const auto* const dy = static_cast<const float*>(call.dy.items[i]);
    for (std::size_t k = 0; dx != nullptr && k < call.type->output_size; ++k) {
      dx[k] = (call.dx[0].add[i] != 0 ? dx[k] : 0) + dy[k] * factor;
    }
  }
}

TEST(CellsModes, WhatCellsDoBackwardIsVerified) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "calls of kernels are counted on the CPU";
  static const Kernels kernels{{copy_in, nullptr}, {copy_back, nullptr}};
  Op op;
  op.name = "drifting_copy";
  op.min_inputs = op.max_inputs = 1;
  op.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
  op.kernels = &kernels;
  const RandomModel model;
  // Returns how many calls there were in the last pass.
  const auto run = [&](std::size_t cells_after, std::size_t good) {
    GraphOptions options;
    options.cells_after = cells_after;
    options.verify_batching = true;
    Minibatch batch(options);
    for (unsigned round = 0; round < 4; ++round) {
      batch.clear();
      for (unsigned sample = 0; sample < 8; ++sample) {
        Expression state = tanh(lookup(batch.new_graph(), model.table4, sample));
        for (unsigned i = 0; i < 6; ++i) {
          const Expression in = tanh(parameter(*state.pg, model.w44) * state);
          state = logistic(apply_op(op, std::span(&in, 1))) + state;
        }
        batch.add_loss(sum_elems(state));
      }
      batch.forward();
      calls_so_far = 0;
      good_calls = round == 3 ? good : ~std::size_t{0};
      batch.backward();
    }
    EXPECT_EQ(batch.explain().nodes_in_cells > 0, cells_after > 0);
    return calls_so_far;
  };
  const std::size_t all_good = ~std::size_t{0};
  const std::size_t by_node = run(0, all_good), with_cells = run(32, all_good);
  EXPECT_GT(with_cells, by_node);
  const std::string message = message_of<NumericError>([&] { run(32, by_node); });
  EXPECT_NE(message.find("[verify_batching] need the same bits from cells"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace dynet_like::testing
