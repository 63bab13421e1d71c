// Whether a step costs the same however many steps were before: with one minibatch and a new model
// in every step, and with new shapes in every step.
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

// One model for all steps, with new numbers and shapes in each.
Step new_shapes() {
  auto model = std::make_shared<ParameterCollection>(1);
  const Parameter w = model->add_parameters({8, 8});
  return [model, w](Minibatch& batch, unsigned step) {
    ComputationGraph& graph = batch.new_graph();
    const Dim shape({1 + step % 200, 1 + step / 200});
    const Expression scaled = parameter(graph, w) * (1 + 1e-4f * static_cast<float>(step));
    batch.add_loss(squared_norm(scaled) + sum_elems(tanh(zeros(graph, shape) + 1.0f)) * 1e-6f);
    batch.forward();
    batch.backward();
    batch.clear();
  };
}

void measure(const char* name, const Step& step, unsigned steps) {
  constexpr unsigned kRows = 8;
  Minibatch batch;
  unsigned next = 0;
  for (unsigned row = 1; row <= kRows; ++row) {
    const unsigned first = next, end = steps * row / kRows;
    const auto begin = std::chrono::steady_clock::now();
    for (; next < end; ++next) step(batch, next);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    std::printf("%-11s %8u %10.1f %10.1f\n", name, next, time.count() / (next - first),
                resident_mib());
  }
}

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  unsigned steps = 20000;
  po::options_description options(
      "One minibatch, cleared after every step: with a new model in every step, then with one "
      "model and\n"
      "new numbers and shapes in every step. Prints microseconds per step and MiB of the process, "
      "for\neach eighth of the steps.\n\nOptions");
  options.add_options()("steps", po::value(&steps)->default_value(20000),
                        "number of steps of each kind");
  po::variables_map values;
  if (!bench::read_command_line(argc, argv, options, values)) return;
  bench::check_range("steps", steps, 8, 10000000);
  std::printf("%-11s %8s %10s %10s\n", "", "steps", "us", "MiB");
  measure("new models", new_model, steps);
  measure("new shapes", new_shapes(), steps);
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("long_runs", [&] { run(argc, argv); });
}
