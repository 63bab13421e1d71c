// The cost of samples that wait for each other's values, compared with the same program by hand.
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

using Sentence = std::vector<unsigned>;  // words, after the root

/// A parser with random weights: its decisions make no sense, but take as long as a trained
/// parser's.
constexpr nn::TransitionSystem kSystem{nn::TransitionSystem::arc_hybrid};

struct Parser {
  unsigned hidden;
  bool training;
  ParameterCollection model{1};
  nn::Embedding words{model, 1000, hidden, {.name = "words"}};
  nn::BidirectionalLSTM encoder{model, hidden, hidden};
  nn::Linear places{model, 2 * hidden, 4 * hidden, {.name = "places"}};
  nn::Linear transitions{model, hidden, kSystem.size(), {.name = "transitions"}};
};

/// A sentence that is parsed step by step. In training, the loss is that of its own decisions, so
/// that the backward pass goes through all nodes.
class Parse {
 public:
  Parse(const Parser& parser, ComputationGraph& graph, const Sentence& sentence)
      : parser_(&parser), state_(kSystem, sentence.size() - 1) {
    state_.apply_forced();
    std::vector<Expression> xs;
    for (const unsigned word : sentence) xs.push_back(parser.words(graph, word));
    const auto columns = static_cast<unsigned>(4 * xs.size());
    encoded_ =
        reshape(parser.places(concatenate_cols(parser.encoder(xs))), Dim({parser.hidden, columns}));
  }

  bool is_done() const { return state_.is_done(); }
  const Expression& record_scores() {
    std::vector<Expression> parts;
    for (const unsigned word : {state_.buffer(), state_.stack(0), state_.stack(1), state_.stack(2)})
      parts.push_back(pick(encoded_, 4 * word + static_cast<unsigned>(parts.size()), 1));
    return scores_ = parser_->transitions(tanh(sum(parts)));
  }
  void decide(const Tensor& scores) {
    const unsigned transition = argmax(scores, state_.allowed());
    if (parser_->training) losses_.push_back(cross_entropy(scores_, transition));
    decisions_.push_back(transition);
    state_.apply(transition);
    state_.apply_forced();
  }

  const std::vector<unsigned>& decisions() const { return decisions_; }
  Expression loss() const { return sum(losses_); }

 private:
  const Parser* parser_;
  nn::ParserState state_;
  Expression encoded_, scores_;
  std::vector<Expression> losses_;
  std::vector<unsigned> decisions_;
};

// Two forms of the same program.

/// Plain code per sentence.
std::vector<Parse> on_fibers(const Parser& parser, std::span<const Sentence> sentences,
                             Minibatch& batch) {
  return for_each_sample(batch, sentences, [&](ComputationGraph& graph, const Sentence& sentence) {
    Parse parse(parser, graph, sentence);
    while (!parse.is_done()) parse.decide(parse.record_scores().value());
    return parse;
  });
}

/// One step of every sentence, then the next step.
std::vector<Parse> in_lockstep(const Parser& parser, std::span<const Sentence> sentences,
                               Minibatch& batch) {
  std::vector<Parse> parses;
  for (const Sentence& sentence : sentences)
    parses.emplace_back(parser, batch.new_graph(), sentence);
  std::vector<Parse*> open;
  for (Parse& parse : parses) open.push_back(&parse);
  while (!open.empty()) {
    std::vector<Expression> scores;
    for (Parse* parse : open) scores.push_back(parse->record_scores());
    batch.compute(scores);
    for (std::size_t i = 0; i < open.size(); ++i) open[i]->decide(scores[i].value());
    std::erase_if(open, [](const Parse* parse) { return parse->is_done(); });
  }
  return parses;
}

struct Form {
  std::vector<Parse> (*run)(const Parser&, std::span<const Sentence>, Minibatch&);
  std::size_t together;
};

/// Runs a form. Returns all decisions for all sentences.
std::vector<unsigned> run_form(const Form& form, const Parser& parser,
                               std::span<const Sentence> sentences) {
  GraphOptions options;
  options.inference = !parser.training;
  Minibatch batch(options);
  std::vector<unsigned> all;
  for (std::size_t begin = 0; begin < sentences.size(); begin += form.together, batch.clear()) {
    const std::size_t count = std::min(form.together, sentences.size() - begin);
    for (const Parse& parse : form.run(parser, sentences.subspan(begin, count), batch)) {
      all.insert(all.end(), parse.decisions().begin(), parse.decisions().end());
      if (parser.training) batch.add_loss(parse.loss());
    }
    if (!parser.training) continue;
    batch.forward();
    batch.backward();
  }
  return all;
}

/// Prints the median speed of each form.
void compare(const Parser& parser, std::span<const Sentence> sentences, std::size_t together,
             double seconds) {
  const Form forms[] = {{on_fibers, 1}, {in_lockstep, together}, {on_fibers, together}};
  const std::vector<unsigned> expected = run_form(forms[0], parser, sentences);
  std::vector<std::function<void()>> runs;
  for (const Form& form : forms) {
    runs.push_back([&] {
      if (run_form(form, parser, sentences) != expected)
        throw std::logic_error("the forms decide differently");
    });
  }
  fmt::print("{:>10}", parser.training ? "training" : "parsing");
  for (const double time : bench::seconds_by_turns(runs, seconds)) {
    fmt::print(" {:>12.0f}", static_cast<double>(sentences.size()) / time);
  }
  fmt::print("\n");
}

void run(int argc, char** argv) {
  unsigned count = 256, together = 32, hidden = 128;
  double seconds = 2;
  bench::Options options(
      "Transition-based parsers (arc-hybrid, LSTMs from both ends, random weights) that need "
      "their\n"
      "scores after every step. Prints sentences per second of processor time with one thread,\n"
      "the median of runs that take turns: one sentence at a time, together by hand in lockstep\n"
      "(Minibatch::compute per step), and together as plain code per sentence (for_each_sample).");
  options.number("sentences", count, 1, 100000, "number, of 2 to 41 words")
      .number("batch", together, 1, 100000, "sentences per minibatch")
      .number("hidden", hidden, 1, 4096, "size of all layers")
      .seconds(seconds, "seconds of training, and of parsing");
  if (!options.read(argc, argv)) return;

  Random random(1);
  std::vector<Sentence> sentences(count);
  for (Sentence& sentence : sentences) {
    sentence.resize(3 + random.below(40));
    for (unsigned& word : sentence) word = random.below(1000);
  }
  fmt::print("{:>10} {:>12} {:>12} {:>12}\n", "", "alone", "lockstep", "fibers");
  for (const bool training : {false, true})
    compare({hidden, training}, sentences, together, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("waves", [&] { run(argc, argv); });
}
