// The cost of a step of decoders that need values after every step. Does it grow with their number,
// what do samples on fibers cost, and how much do beams of many sentences gain together?
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
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

GraphOptions inference(batching::Policy policy = batching::Policy::automatic) {
  GraphOptions options;
  options.inference = true;
  options.policy = policy;
  return options;
}

// Forms of the same program. Each returns a number that depends on everything computed, and reuses
// the memory that it is given.

/// One graph per sentence, and one compute() per step.
float with_compute(const Decoders& decoders, Minibatch& batch, unsigned steps, bool forward) {
  batch.clear();
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

/// One graph for all sentences; each step joins their scores in one expression.
float in_one_graph(const Decoders& decoders, ComputationGraph& graph, unsigned steps) {
  graph.clear();
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

/// Plain code for every sentence; for_each_sample lets it wait for the others.
float on_fibers(const Decoders& decoders, Minibatch& batch, unsigned steps) {
  batch.clear();
  // The same order of additions as in the other forms.
  std::vector<float> best(std::size_t{steps} * decoders.sentences);
  for_each_sample(batch, decoders.sentences, [&](ComputationGraph& graph, std::size_t i) {
    nn::LSTM::State state = decoders.cell.start(graph);
    unsigned word = 1;
    for (unsigned s = 0; s < steps; ++s) {
      const Tensor value = decoders.step(graph, state, word).value();
      word = static_cast<unsigned>(std::max_element(value.v, value.v + value.d.size()) - value.v);
      best[s * decoders.sentences + i] = value.v[word];
    }
  });
  return std::accumulate(best.begin(), best.end(), 0.0f);
}

using Found = std::vector<std::vector<unsigned>>;

/// Decodes sentences, `together` at once. find(graph, start) must return the result of a search.
template <class Find>
Found decode(const Decoders& decoders, Minibatch& batch, unsigned together, const Find& find) {
  Found found;
  for (unsigned first = 0; first < decoders.sentences; first += together) {
    batch.clear();
    const unsigned count = std::min(together, decoders.sentences - first);
    const auto actions = for_each_sample(batch, count, [&](ComputationGraph& graph, std::size_t i) {
      nn::LSTM::State start = decoders.cell.start(graph);
      // Makes every sentence different.
      decoders.step(graph, start, first + static_cast<unsigned>(i));
      return find(graph, start).actions;
    });
    found.insert(found.end(), actions.begin(), actions.end());
  }
  return found;
}

Expression words_of(const Decoders& decoders, ComputationGraph& graph, unsigned word) {
  return lookup(graph, decoders.words, word);
}
Expression words_of(const Decoders& decoders, ComputationGraph& graph,
                    const std::vector<unsigned>& words) {
  return lookup(graph, decoders.words, words);
}

/// Steps of one hypothesis, or of several at once.
template <class Steps>
Steps steps_of(const Decoders& decoders, ComputationGraph& graph) {
  return {.scores = [&](const auto& state) { return decoders.output(state.h); },
          .advance =
              [&](const auto& state, const auto& words) {
                return decoders.cell.step(state, words_of(decoders, graph, words));
              }};
}
using Steps = nn::Steps<nn::LSTM::State>;
using BatchedSteps = nn::BatchedSteps<nn::LSTM::State>;

Found greedy(const Decoders& decoders, Minibatch& batch, unsigned steps) {
  return decode(decoders, batch, decoders.sentences,
                [&](ComputationGraph& graph, const auto& start) {
                  return nn::greedy(start, steps_of<Steps>(decoders, graph), {.max_length = steps});
                });
}

template <class AnySteps>
Found search(const Decoders& decoders, Minibatch& batch, unsigned steps, unsigned beam,
             unsigned together) {
  return decode(decoders, batch, together, [&](ComputationGraph& graph, const auto& start) {
    const nn::SearchOptions options = {.max_length = steps, .beam = beam};
    return nn::beam_search(start, steps_of<AnySteps>(decoders, graph), options)[0];
  });
}

template <class Form>
double microseconds_per_step(unsigned steps, double seconds, const Form& form) {
  using Clock = std::chrono::steady_clock;
  double fastest = 1e9;  // disturbances only make a run slower
  const Clock::time_point begin = Clock::now();
  do {
    const Clock::time_point start = Clock::now();
    form();
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    fastest = std::min(fastest, time.count() / steps);
  } while (Clock::now() - begin < std::chrono::duration<double>(seconds));
  return fastest;
}

void compare_forms(const Decoders& decoders, double seconds) {
  Minibatch batch(inference());
  ComputationGraph graph(inference());
  std::printf("%6s %12s %12s %12s %12s %12s\n", "steps", "compute", "forward", "one graph",
              "fibers", "greedy");
  for (unsigned steps : {50u, 200u, 1000u}) {
    const std::function<float()> forms[] = {
        [&] { return with_compute(decoders, batch, steps, false); },
        [&] { return with_compute(decoders, batch, steps, true); },
        [&] { return in_one_graph(decoders, graph, steps); },
        [&] { return on_fibers(decoders, batch, steps); }};
    std::printf("%6u", steps);
    for (const auto& form : forms) {
      if (form() != forms[0]()) throw std::logic_error("the forms compute different numbers");
      std::printf(" %12.1f", microseconds_per_step(steps, seconds, form));
    }
    const auto search = [&] { greedy(decoders, batch, steps); };
    std::printf(" %12.1f\n", microseconds_per_step(steps, seconds, search));
  }
}

void compare_beams(const Decoders& decoders, unsigned beam, double seconds) {
  constexpr unsigned kSteps = 50;
  Minibatch batched(inference()), unbatched(inference(batching::Policy::none));
  const std::function<Found()> forms[] = {
      [&] { return search<BatchedSteps>(decoders, batched, kSteps, beam, decoders.sentences); },
      [&] { return search<BatchedSteps>(decoders, batched, kSteps, beam, 1); },
      [&] { return search<Steps>(decoders, batched, kSteps, beam, decoders.sentences); },
      [&] { return search<Steps>(decoders, batched, kSteps, beam, 1); },
      [&] { return search<Steps>(decoders, unbatched, kSteps, beam, 1); }};
  double times[5];
  for (int i = 0; i < 5; ++i) {
    if (forms[i]() != forms[0]()) throw std::logic_error("the forms find different sentences");
    times[i] = microseconds_per_step(kSteps, seconds, forms[i]);
  }
  std::printf("beam %u, %u steps: together, one by one, node by node\n", beam, kSteps);
  std::printf("  batched steps: %12.1f %12.1f\n", times[0], times[1]);
  std::printf("  steps of one:  %12.1f %12.1f %12.1f\n", times[2], times[3], times[4]);
}

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  Size size;
  double seconds = 1;
  unsigned beam = 8;
  po::options_description options(
      "Greedy decoders (an LSTM and an output layer, inference, one thread) that need their "
      "scores\n"
      "after every step, in lockstep. Prints microseconds per step of all decoders, in the "
      "fastest\n"
      "run of so many steps: with a graph per sentence and Minibatch::compute or\n"
      "Minibatch::forward (every score an output), in one graph that joins the scores, on fibers\n"
      "in for_each_sample, and the same by nn::greedy. At the end, a beam search of all sentences\n"
      "together and one by one, with nn::BatchedSteps and with nn::Steps.\n\n"
      "Options");
  options.add_options()("sentences", po::value(&size.sentences)->default_value(32),
                        "number of decoders")("hidden", po::value(&size.hidden)->default_value(128),
                                              "the LSTM's size")(
      "beam", po::value(&beam)->default_value(8), "size of the beam in the search at the end")(
      "seconds", po::value(&seconds)->default_value(1, "1"), "seconds per measurement");
  po::variables_map values;
  if (!bench::read_command_line(argc, argv, options, values)) return;
  bench::check_range("seconds", seconds, 0.001, 3600);
  bench::check_range("sentences", size.sentences, 1, 10000);
  bench::check_range("hidden", size.hidden, 1, 4096);
  bench::check_range("beam", beam, 1, 1000);
  const Decoders decoders(size);
  compare_forms(decoders, seconds);
  compare_beams(decoders, beam, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("decoder", [&] { run(argc, argv); });
}
