// What it costs that samples wait for each other's values, against the same program by hand.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;

enum Transition : unsigned { kShift, kLeft, kRight, kTransitions };
constexpr unsigned kPlaces = 4;

/// Word 0 of each is the root.
using Sentences = std::vector<std::vector<unsigned>>;
using Decisions = std::vector<std::vector<unsigned>>;

/// The stack and the buffer of a parser.
struct State {
  explicit State(const std::vector<unsigned>& sentence)
      : words(static_cast<unsigned>(sentence.size()) - 1) {}

  bool is_done() const { return stack.empty() && next > words; }
  bool can(unsigned transition) const {
    if (transition == kShift) return next <= words;
    return stack.size() > (transition == kRight);
  }
  void apply(unsigned transition) {
    transition == kShift ? stack.push_back(next++) : stack.pop_back();
  }
  /// 0 where there is none.
  unsigned word(unsigned place) const {
    if (place == 0) return next <= words ? next : 0;
    return place <= stack.size() ? stack[stack.size() - place] : 0;
  }

  unsigned words, next = 1;
  std::vector<unsigned> stack;
};

/// A parser with random weights: what it decides makes no sense, and takes as long.
struct Parser {
  explicit Parser(unsigned hidden)
      : hidden(hidden),
        words(model, 1000, hidden, "words"),
        encoder(model, hidden, hidden),
        places(model, 2 * hidden, kPlaces * hidden, true, "places"),
        transitions(model, hidden, kTransitions, true, "transitions") {}

  /// What each word says in each place. Shapes: {hidden, kPlaces * (n + 1)}.
  Expression encode(ComputationGraph& graph, const std::vector<unsigned>& sentence) const {
    std::vector<Expression> xs;
    for (const unsigned word : sentence) xs.push_back(words(graph, word));
    const auto columns = static_cast<unsigned>(xs.size());
    return reshape(places(concatenate_cols(encoder(xs))), Dim({hidden, kPlaces * columns}));
  }
  Expression scores(const Expression& encoded, const State& state) const {
    std::vector<Expression> parts;
    for (unsigned place = 0; place < kPlaces; ++place)
      parts.push_back(pick(encoded, kPlaces * state.word(place) + place, 1));
    return transitions(tanh(sum(parts)));
  }

  unsigned hidden;
  ParameterCollection model{1};
  nn::Embedding words;
  nn::BidirectionalLSTM encoder;
  nn::Linear places, transitions;
};

unsigned best(const Tensor& scores, const State& state) {
  unsigned best = kTransitions;
  for (unsigned t = 0; t < kTransitions; ++t) {
    if (state.can(t) && (best == kTransitions || scores.v[t] > scores.v[best])) best = t;
  }
  return best;
}

// Two forms of the same program. Both return what they have decided. In training that is the
// target, so that the backward pass goes through everything, and there are losses.

/// Plain code per sentence.
Decisions on_fibers(const Parser& parser, const Sentences& sentences, Minibatch& batch,
                    std::vector<Expression>* losses) {
  Decisions decisions(sentences.size());
  if (losses != nullptr) losses->resize(sentences.size());
  for_each_sample(batch, sentences.size(), [&](ComputationGraph& graph, std::size_t i) {
    const Expression encoded = parser.encode(graph, sentences[i]);
    std::vector<Expression> own;
    for (State state(sentences[i]); !state.is_done();) {
      const Expression scores = parser.scores(encoded, state);
      const unsigned transition = best(scores.value(), state);
      if (losses != nullptr) own.push_back(pickneglogsoftmax(scores, transition));
      decisions[i].push_back(transition);
      state.apply(transition);
    }
    if (losses != nullptr) (*losses)[i] = sum(own);
  });
  return decisions;
}

/// A step of all sentences after the other.
Decisions in_lockstep(const Parser& parser, const Sentences& sentences, Minibatch& batch,
                      std::vector<Expression>* losses) {
  Decisions decisions(sentences.size());
  std::vector<Expression> encoded;
  std::vector<State> states;
  std::vector<std::vector<Expression>> own(sentences.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    encoded.push_back(parser.encode(batch.new_graph(), sentences[i]));
    states.emplace_back(sentences[i]);
    open.push_back(i);
  }
  while (!open.empty()) {
    std::vector<Expression> scores;
    for (const std::size_t i : open) scores.push_back(parser.scores(encoded[i], states[i]));
    batch.compute(scores);
    for (std::size_t k = 0; k < open.size(); ++k) {
      const std::size_t i = open[k];
      const unsigned transition = best(scores[k].value(), states[i]);
      if (losses != nullptr) own[i].push_back(pickneglogsoftmax(scores[k], transition));
      decisions[i].push_back(transition);
      states[i].apply(transition);
    }
    std::erase_if(open, [&](std::size_t i) { return states[i].is_done(); });
  }
  if (losses == nullptr) return decisions;
  for (const std::vector<Expression>& of_sample : own) losses->push_back(sum(of_sample));
  return decisions;
}

using Form = std::function<Decisions(const Parser&, const Sentences&, Minibatch&,
                                     std::vector<Expression>* losses)>;

/// Sentences, so many at a time, with one minibatch.
Decisions run_form(const Form& form, const Parser& parser, const Sentences& sentences,
                   std::size_t together, bool training) {
  GraphOptions options;
  options.inference = !training;
  Minibatch batch(options);
  Decisions all;
  for (std::size_t begin = 0; begin < sentences.size(); begin += together) {
    batch.clear();
    const auto end = std::min(begin + together, sentences.size());
    const Sentences part(sentences.begin() + static_cast<std::ptrdiff_t>(begin),
                         sentences.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<Expression> losses;
    const Decisions decisions = form(parser, part, batch, training ? &losses : nullptr);
    all.insert(all.end(), decisions.begin(), decisions.end());
    if (!training) continue;
    batch.add_losses(losses);
    batch.forward();
    batch.backward();
  }
  return all;
}

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  unsigned count = 256, together = 32, hidden = 128;
  double seconds = 2;
  po::options_description options(
      "Greedy transition-based parsers (LSTMs from both ends, random weights) that need their\n"
      "scores after every step. Prints sentences per second of processor time with one thread, "
      "the\n"
      "median of runs that take turns: one sentence at a time, together by hand in lockstep\n"
      "(Minibatch::compute per step), and together as plain code per sentence "
      "(for_each_sample).\n\n"
      "Options");
  options.add_options()("sentences", po::value(&count)->default_value(count), "of 1 to 40 words")(
      "batch", po::value(&together)->default_value(together), "sentences together")(
      "hidden", po::value(&hidden)->default_value(hidden), "the sizes of all layers")(
      "seconds", po::value(&seconds)->default_value(seconds), "of training, and of parsing");
  po::variables_map values;
  if (!bench::read_command_line(argc, argv, options, values)) return;
  bench::check_range("seconds", seconds, 0.001, 3600);
  bench::check_range("sentences", count, 1, 100000);
  bench::check_range("batch", together, 1, 100000);
  bench::check_range("hidden", hidden, 1, 4096);

  const Parser parser(hidden);
  Random random(1);
  Sentences sentences(count);
  for (auto& sentence : sentences) {
    sentence.resize(2 + random.below(40));
    for (unsigned& word : sentence) word = random.below(1000);
  }
  std::printf("%10s %12s %12s %12s\n", "", "alone", "lockstep", "fibers");
  for (const bool training : {false, true}) {
    struct Column {
      Form form;
      std::size_t together;
      std::vector<double> speeds;
    } columns[] = {{on_fibers, 1, {}}, {in_lockstep, together, {}}, {on_fibers, together, {}}};
    const auto begin = std::chrono::steady_clock::now();
    const Decisions expected = run_form(on_fibers, parser, sentences, 1, training);
    do {
      for (Column& column : columns) {
        const std::clock_t start = std::clock();
        if (run_form(column.form, parser, sentences, column.together, training) != expected)
          throw std::logic_error("the forms decide differently");
        column.speeds.push_back(count * double{CLOCKS_PER_SEC} /
                                static_cast<double>(std::clock() - start));
      }
    } while (std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(seconds));
    std::printf("%10s", training ? "training" : "parsing");
    for (Column& column : columns) {
      std::sort(column.speeds.begin(), column.speeds.end());
      std::printf(" %12.0f", column.speeds[column.speeds.size() / 2]);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("waves", [&] { run(argc, argv); });
}
