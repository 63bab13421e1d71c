// The cost of a step of decoders that need values after every step: whether it grows with their
// number, and how much beams of many sentences gain together.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;

struct Decoders {
  unsigned sentences, hidden, classes = 32;
  ParameterCollection model{1};
  LookupParameter words = model.add_lookup_parameters(1000, {hidden});
  nn::LSTM cell{model, hidden, hidden};
  nn::Linear output{model, hidden, classes};
};

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

using Found = std::vector<std::vector<unsigned>>;

/// Decodes sentences, `together` at once. find(graph, start) must return the words that it found.
template <class Find>
Found decode(const Decoders& decoders, Minibatch& batch, unsigned together, const Find& find) {
  Found found;
  for (unsigned first = 0; first < decoders.sentences; first += together) {
    batch.clear();
    const unsigned count = std::min(together, decoders.sentences - first);
    const auto words = for_each_sample(batch, count, [&](ComputationGraph& graph, std::size_t i) {
      // The first word makes every sentence different.
      return find(graph,
                  decoders.cell.step(decoders.cell.start(graph),
                                     words_of(decoders, graph, first + static_cast<unsigned>(i))));
    });
    found.insert(found.end(), words.begin(), words.end());
  }
  return found;
}

/// A loop that asks for the scores of each step.
Found by_a_loop(const Decoders& decoders, Minibatch& batch, unsigned steps) {
  return decode(decoders, batch, decoders.sentences,
                [&](ComputationGraph& graph, nn::LSTM::State state) {
                  std::vector<unsigned> words;
                  for (unsigned s = 0; s < steps; ++s) {
                    words.push_back(argmax(decoders.output(state.h).value()));
                    state = decoders.cell.step(state, words_of(decoders, graph, words.back()));
                  }
                  return words;
                });
}

Found greedy(const Decoders& decoders, Minibatch& batch, unsigned steps) {
  return decode(
      decoders, batch, decoders.sentences, [&](ComputationGraph& graph, const auto& start) {
        return nn::greedy(start, steps_of<Steps>(decoders, graph), {.max_length = steps}).actions;
      });
}

template <class AnySteps>
Found search(const Decoders& decoders, Minibatch& batch, unsigned steps, unsigned beam,
             unsigned together) {
  return decode(decoders, batch, together, [&](ComputationGraph& graph, const auto& start) {
    const nn::SearchOptions options = {.max_length = steps, .beam = beam};
    return nn::beam_search(start, steps_of<AnySteps>(decoders, graph), options)[0].actions;
  });
}

/// Prints microseconds per step of forms that must find the same.
void compare(unsigned steps, double seconds, const std::vector<std::function<Found()>>& forms) {
  const Found expected = forms[0]();
  std::vector<std::function<void()>> runs;
  for (const auto& form : forms) {
    runs.push_back([&] {
      if (form() != expected) throw std::logic_error("the forms find different sentences");
    });
  }
  for (const double time : bench::seconds_by_turns(runs, seconds)) {
    fmt::print(" {:>12.1f}", 1e6 * time / steps);
  }
  fmt::print("\n");
}

void run(int argc, char** argv) {
  unsigned sentences = 32, hidden = 128, beam = 8;
  double seconds = 1;
  bench::Options options(
      "Decoders (an LSTM and an output layer, inference, one thread) that need their scores after\n"
      "every step. Prints microseconds of processor time per step of all decoders: for so many\n"
      "steps of a loop in for_each_sample, and of nn::greedy; then for a beam search of all\n"
      "sentences together, and one by one.");
  options.number("sentences", sentences, 1, 1000, "number of decoders")
      .number("hidden", hidden, 1, 4096, "the LSTM's size")
      .number("beam", beam, 1, 1000, "size of the beam")
      .seconds(seconds, "seconds per row");
  if (!options.read(argc, argv)) return;
  const Decoders decoders{sentences, hidden};
  Minibatch batch({.inference = true});
  fmt::print("{:<16} {:>12} {:>12}\n", "steps", "loop", "greedy");
  for (const unsigned steps : {50u, 200u, 1000u}) {
    fmt::print("{:<16}", steps);
    compare(steps, seconds,
            {[&] { return by_a_loop(decoders, batch, steps); },
             [&] { return greedy(decoders, batch, steps); }});
  }
  constexpr unsigned kSteps = 50;
  fmt::print("{:<16} {:>12} {:>12}\n", fmt::format("beam of {}", beam), "together", "one by one");
  const auto row = [&](const char* name, auto of) {
    using AnySteps = decltype(of);
    fmt::print("{:<16}", name);
    compare(kSteps, seconds,
            {[&] { return search<AnySteps>(decoders, batch, kSteps, beam, sentences); },
             [&] { return search<AnySteps>(decoders, batch, kSteps, beam, 1); }});
  };
  row("BatchedSteps", BatchedSteps());
  row("Steps", Steps());
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("decoder", [&] { run(argc, argv); });
}
