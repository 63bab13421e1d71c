// What a step of decoders costs that need values after every step: does it grow with their number?
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;

struct Size {
  unsigned sentences = 32, hidden = 128, classes = 32;
};

struct Decoders {
  explicit Decoders(const Size& size)
      : sentences(size.sentences),
        words(model.add_lookup_parameters(1000, {size.hidden})),
        cell(model, size.hidden, size.hidden),
        output(model, size.hidden, size.classes) {}

  Expression step(ComputationGraph& graph, nn::LSTM::State& state, unsigned word) const {
    state = cell.step(state, lookup(graph, words, word));
    return output(state.h);
  }

  unsigned sentences;
  ParameterCollection model;
  LookupParameter words;
  nn::LSTM cell;
  nn::Linear output;
};

// Forms of the same program. Each returns a number that depends on all that was computed.

/// A graph per sentence, and compute() once per step.
float with_compute(const Decoders& decoders, unsigned steps, bool forward) {
  GraphOptions options;
  options.inference = true;
  Minibatch batch(options);
  std::vector<nn::LSTM::State> states;
  for (unsigned i = 0; i < decoders.sentences; ++i) {
    states.push_back(decoders.cell.start(batch.new_graph()));
  }
  std::vector<unsigned> word(decoders.sentences, 1);
  float sum = 0;
  for (unsigned s = 0; s < steps; ++s) {
    std::vector<Expression> scores;
    for (unsigned i = 0; i < decoders.sentences; ++i) {
      scores.push_back(decoders.step(batch.graph(i), states[i], word[i]));
      if (forward) batch.add_output(scores.back());
    }
    forward ? void(batch.forward()) : batch.compute(scores);
    for (unsigned i = 0; i < decoders.sentences; ++i) {
      const Tensor value = scores[i].value();
      word[i] =
          static_cast<unsigned>(std::max_element(value.v, value.v + value.d.size()) - value.v);
      sum += value.v[word[i]];
    }
  }
  return sum;
}

/// One graph for all, whose scores of a step are joined in one expression.
float in_one_graph(const Decoders& decoders, unsigned steps) {
  GraphOptions options;
  options.inference = true;
  ComputationGraph graph(options);
  std::vector<nn::LSTM::State> states(decoders.sentences, decoders.cell.start(graph));
  std::vector<unsigned> word(decoders.sentences, 1);
  float sum = 0;
  for (unsigned s = 0; s < steps; ++s) {
    std::vector<Expression> scores;
    for (unsigned i = 0; i < decoders.sentences; ++i) {
      scores.push_back(decoders.step(graph, states[i], word[i]));
    }
    const Tensor all = concatenate(scores).value();
    const std::size_t classes = all.d.size() / decoders.sentences;
    for (unsigned i = 0; i < decoders.sentences; ++i) {
      const float* value = all.v + i * classes;
      word[i] = static_cast<unsigned>(std::max_element(value, value + classes) - value);
      sum += value[word[i]];
    }
  }
  return sum;
}

template <class Form>
double microseconds_per_step(unsigned steps, double seconds, const Form& form) {
  std::vector<double> times;
  const auto begin = std::chrono::steady_clock::now();
  do {
    const auto start = std::chrono::steady_clock::now();
    form();
    const auto end = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(end - start).count() / steps);
    if (end - begin > std::chrono::duration<double>(seconds)) break;
  } while (true);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  Size size;
  double seconds = 1;
  po::options_description options(
      "Greedy decoders (an LSTM and an output layer, inference, one thread) that need their "
      "scores\n"
      "after every step, in lockstep. Prints microseconds per step of all of them, the median of\n"
      "runs of so many steps: with a graph per sentence and Minibatch::compute or\n"
      "Minibatch::forward (every score an output), and in one graph that joins the scores.\n\n"
      "Options");
  options.add_options()("sentences", po::value(&size.sentences)->default_value(32), "decoders")(
      "hidden", po::value(&size.hidden)->default_value(128), "the LSTM's size")(
      "seconds", po::value(&seconds)->default_value(1, "1"), "of every measurement");
  po::variables_map values;
  if (!bench::read_command_line(argc, argv, options, values)) return;
  bench::check_range("seconds", seconds, 0.001, 3600);
  bench::check_range("sentences", size.sentences, 1, 10000);
  bench::check_range("hidden", size.hidden, 1, 4096);
  const Decoders decoders(size);
  std::printf("%6s %12s %12s %12s\n", "steps", "compute", "forward", "one graph");
  for (unsigned steps : {50u, 200u, 1000u}) {
    const float sum = with_compute(decoders, steps, false);
    if (sum != with_compute(decoders, steps, true) || sum != in_one_graph(decoders, steps)) {
      throw std::logic_error("the forms compute different numbers");
    }
    const auto time = [&](const auto& form) { return microseconds_per_step(steps, seconds, form); };
    const double compute = time([&] { with_compute(decoders, steps, false); });
    const double forward = time([&] { with_compute(decoders, steps, true); });
    const double one = time([&] { in_one_graph(decoders, steps); });
    std::printf("%6u %12.1f %12.1f %12.1f\n", steps, compute, forward, one);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("decoder", [&] { run(argc, argv); });
}
