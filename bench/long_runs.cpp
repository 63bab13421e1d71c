// Whether a step costs the same however many steps were before: with a new model, new factors,
// shapes, columns or lengths in each. tests/long_runs_test.py counts the instructions.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;

/// Resident memory of this process in MiB; 0 if the system does not tell.
double resident_mib() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096 / (1 << 20);
}

/// One step of a long run, in an empty minibatch.
using Step = std::function<void(Minibatch& batch, unsigned step)>;

// A new model in every step, with layers, a recursion and a cell.
void new_model(Minibatch& batch, unsigned step) {
  ParameterCollection model(step + 1);
  const nn::Embedding words(model, 20, 16);
  const nn::LSTM lstm(model, 16, 16);
  const nn::Linear linear(model, 16, 16);
  const auto twice =
      cell([&](const Expression& x) { return tanh(linear(tanh(linear(x)))); }, "twice");
  for (unsigned sample = 0; sample < 4; ++sample) {
    ComputationGraph& graph = batch.new_graph();
    const std::vector<unsigned> sentence{sample, step % 20, 3, 4, 5};
    batch.add_loss(squared_norm(twice(lstm(words.columns(graph, sentence)).last().h)));
  }
  batch.forward();
  batch.backward();
  batch.clear();
}

// Runs a sample with this loss.
void run_sample(Minibatch& batch, const Expression& loss) {
  batch.add_loss(loss);
  batch.forward();
  batch.backward();
  batch.clear();
}

// A matrix, times another number in each step.
Step new_factors() {
  auto model = std::make_shared<ParameterCollection>(1);
  const Parameter w = model->add_parameters({8, 8});
  return [model, w](Minibatch& batch, unsigned step) {
    const float factor = 1 + 1e-4f * static_cast<float>(step);
    run_sample(batch, squared_norm(parameter(batch.new_graph(), w) * factor));
  };
}

// All numbers below 2,197 in an order that mixes small and large ones, again and again.
unsigned mixed(unsigned step) { return step * 1021 % 2197; }

// Zeros and ones of another shape in each step.
void new_shapes(Minibatch& batch, unsigned step) {
  ComputationGraph& graph = batch.new_graph();
  const unsigned number = mixed(step);
  const Dim shape({1 + number % 13, 1 + number / 13 % 13, 1 + number / 169});
  run_sample(batch, sum_elems(tanh(zeros(graph, shape) + ones(graph, shape))));
}

// Another column of a matrix in each step.
Step new_columns() {
  auto model = std::make_shared<ParameterCollection>(1);
  const Parameter w = model->add_parameters({2, 2197});
  return [model, w](Minibatch& batch, unsigned step) {
    const unsigned column = mixed(step);
    const Expression matrix = parameter(batch.new_graph(), w);
    run_sample(batch, squared_norm(pick_range(matrix, column, column + 1, 1)));
  };
}

// Data of another length in each step.
Step new_lengths() {
  auto model = std::make_shared<ParameterCollection>(1);
  const nn::Linear linear(*model, 2, 2);
  return [model, linear](Minibatch& batch, unsigned step) {
    const unsigned length = 1 + mixed(step);
    const std::vector<float> data(2 * length, 0.5f);
    run_sample(batch, squared_norm(linear(input(batch.new_graph(), {2, length}, data))));
  };
}

// A sentence at a time, without a minibatch: in a graph that is kept and cleared, or in a new one.
Step sentences(bool keeps, unsigned hidden) {
  struct Tagger {
    explicit Tagger(unsigned size)
        : words(model, 100, size), lstm(model, size, size), output(model, 2 * size, 10) {}
    ParameterCollection model{1};
    nn::Embedding words;
    nn::BidirectionalLSTM lstm;
    nn::Linear output;
    ComputationGraph kept;
  };
  auto tagger = std::make_shared<Tagger>(hidden);
  return [tagger, keeps](Minibatch&, unsigned step) {
    const auto train = [&](ComputationGraph& graph) {
      std::vector<unsigned> ids(5 + step % 30), tags;
      for (unsigned i = 0; i < ids.size(); ++i) ids[i] = (step + i * i) % 100;
      for (const unsigned id : ids) tags.push_back(id % 10);
      const Expression scores = tagger->output(tagger->lstm(tagger->words.columns(graph, ids)));
      graph.backward(sum_batches(cross_entropy(scores, tags)));
      graph.clear();
    };
    if (keeps) return train(tagger->kept);
    ComputationGraph graph;
    train(graph);
  };
}

// What tests/long_runs_test.py counts the instructions of, by this name.
extern "C" [[gnu::noinline]] void counted_steps(Minibatch& batch, const Step& step, unsigned begin,
                                                unsigned end) {
  for (; begin < end; ++begin) step(batch, begin);
}

void measure(const char* name, const Step& step, unsigned steps) {
  constexpr unsigned kRows = 8;
  Minibatch batch;
  for (unsigned row = 0; row < kRows; ++row) {
    const unsigned first = steps * row / kRows, end = steps * (row + 1) / kRows;
    const auto begin = std::chrono::steady_clock::now();
    counted_steps(batch, step, first, end);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    std::printf("%-11s %8u %10.1f %10.1f\n", name, end, time.count() / (end - first),
                resident_mib());
  }
}

void run(int argc, char** argv) {
  unsigned steps = 20000, hidden = 50;
  bench::Options options(
      "One minibatch, cleared after every step. A step has a new model; or another factor, shape,\n"
      "column of a matrix or length of data than those before; shapes, columns and lengths begin\n"
      "again after 2,197 steps. Then sentences without a minibatch, in new graphs and in one.\n"
      "Prints microseconds per step and MiB of the process, for each eighth of the steps.");
  options.number("steps", steps, 8, 10000000, "number of steps of each kind")
      .number("hidden", hidden, 1, 4096, "size of the layers that read sentences");
  if (!options.read(argc, argv)) return;
  std::printf("%-11s %8s %10s %10s\n", "", "steps", "us", "MiB");
  measure("new models", new_model, steps);
  measure("new factors", new_factors(), steps);
  measure("new shapes", new_shapes, steps);
  measure("new columns", new_columns(), steps);
  measure("new lengths", new_lengths(), steps);
  measure("new graphs", sentences(false, hidden), steps);
  measure("one graph", sentences(true, hidden), steps);
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("long_runs", [&] { run(argc, argv); });
}
