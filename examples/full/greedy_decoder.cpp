// A greedy decoder: one LSTM reads a number digit by digit, another writes it backwards.
//
// The next input of the decoder depends on its last output, so each step needs a value. It is
// written for one number: in nn::predict the decoders of a minibatch wait for each other's scores,
// which are computed together.
//
// Expected: at least 95 % of 1,000 new numbers of up to 6 digits are right, after a few seconds.
#include <cstdio>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "examples/full/support/program.h"
#include "nn/nn.h"
#include "nn/train.h"

using namespace dynet_like;

namespace {

using Number = std::vector<unsigned>;

constexpr unsigned kEnd = 10, kSymbols = 11;  // the digits, and a symbol for begin and end
constexpr unsigned kLongest = 6, kHidden = 64, kSamples = 32000;  // numbers in an epoch

struct Translator {
  ParameterCollection parameters;
  LookupParameter digits = parameters.add_lookup_parameters(kSymbols, {16});
  nn::LSTM encoder{parameters, 16, kHidden}, decoder{parameters, 16, kHidden};
  nn::Linear output{parameters, kHidden, kSymbols};

  nn::LSTM::State read(ComputationGraph& graph, const Number& number) const {
    nn::LSTM::State state = encoder.start(graph);
    for (unsigned digit : number) state = encoder.step(state, lookup(graph, digits, digit));
    return state;
  }

  // The scores of the next symbol, after `written`.
  Expression step(ComputationGraph& graph, nn::LSTM::State& state, unsigned written) const {
    state = decoder.step(state, lookup(graph, digits, written));
    return output(state.h);
  }

  Expression loss(ComputationGraph& graph, const Number& number) const {
    nn::LSTM::State state = read(graph, number);
    std::vector<Expression> losses;
    unsigned written = kEnd;
    for (auto digit = number.rbegin(); digit != number.rend(); written = *digit++) {
      losses.push_back(cross_entropy(step(graph, state, written), *digit));
    }
    losses.push_back(cross_entropy(step(graph, state, written), kEnd));
    return sum(losses);
  }
};

Number random_number(Random& random) {
  Number number(1 + random.below(kLongest));
  for (unsigned& digit : number) digit = static_cast<unsigned>(random.below(10));
  return number;
}

// The decoder's output for a number.
Number decode(const Translator& model, ComputationGraph& graph, const Number& number) {
  nn::LSTM::State state = model.read(graph, number);
  Number written;
  unsigned last = kEnd;
  while (written.size() <= kLongest) {
    last = static_cast<unsigned>(argmax(model.step(graph, state, last).value()));
    if (last == kEnd) break;
    written.push_back(last);
  }
  return written;
}

void run() {
  Translator model;
  AdamTrainer trainer(model.parameters, 0.002f);
  const auto loss = [&](ComputationGraph& graph, std::size_t) {  // new numbers in every epoch
    Random random = graph.random();
    return model.loss(graph, random_number(random));
  };
  nn::train(trainer, kSamples, loss, {.epochs = 6});

  Random random(1);
  std::vector<Number> numbers(1000);
  for (Number& number : numbers) number = random_number(random);
  const auto written = nn::predict(numbers, [&](ComputationGraph& graph, const Number& number) {
    return decode(model, graph, number);
  });
  nn::Accuracy accuracy;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    accuracy.add(written[i] == Number(numbers[i].rbegin(), numbers[i].rend()));
  std::printf("%.1f %% of %zu new numbers are right\n", 100 * accuracy.value(), numbers.size());
}

}  // namespace

int main() {
  return examples::run_program("greedy_decoder", [] {
    run();
    return 0;
  });
}
