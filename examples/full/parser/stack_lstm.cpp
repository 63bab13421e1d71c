// A transition-based parser whose next step depends on everything that it has read and done: the
// stack LSTM parser of Dyer et al. (2015).
//
// LSTMs read the stack, the buffer from its end, and the actions so far. When a word leaves the
// stack, the LSTM of the stack returns to its earlier state (`nn::StackState`). When a word gets a
// dependant, it is replaced by a composition of both and the label of the arc. Transitions are
// those of arc-standard, with labels. Training follows the static oracle, so nothing waits; in
// parsing, `nn::predict` runs the steps of many sentences together.
#include "examples/full/parser/model.h"

namespace dynet_like::examples {

namespace {

using Stack = nn::StackState<nn::LSTM>;

struct StackModel final : ParserModel {
  const Inputs& in;
  nn::TransitionSystem system{nn::TransitionSystem::arc_standard, in.v.labels.size()};
  unsigned hidden = in.hidden, small = hidden / 4;
  nn::Embedding actions{in.parameters, system.size(), small, {.name = "actions"}};
  nn::Embedding relations{in.parameters, system.size(), small, {.name = "relations"}};
  nn::Linear tokens{in.parameters, in.outputs(), hidden, {.name = "tokens"}};
  nn::Linear composition{in.parameters, 2 * hidden + small, hidden, {.name = "composition"}};
  nn::LSTM stack_reader{in.parameters, hidden, hidden, {.name = "stack"}};
  nn::LSTM buffer_reader{in.parameters, hidden, hidden, {.name = "buffer"}};
  nn::LSTM action_reader{in.parameters, small, hidden, {.name = "history"}};
  nn::Linear summary{in.parameters, 3 * hidden, hidden, {.name = "summary"}};
  nn::Linear transitions{in.parameters, hidden, system.size(), {.name = "transitions"}};

  explicit StackModel(const Inputs& inputs) : in(inputs) {}

  /// A partial parse of a sentence, with the states of the LSTMs.
  struct Parse {
    nn::ParserState state;
    Stack stack, buffer;
    nn::LSTM::State history;
  };
  Parse start(ComputationGraph& graph, const Sentence& sentence,
              const std::vector<unsigned>& word_ids) const {
    const Expression tag = in.tags.columns(graph, in.v.tag_ids(sentence));
    const Expression x = in(in.words.columns(graph, word_ids), tag, sentence);
    const Expression all = dropout(relu(tokens(x)), in.rate);
    Parse parse{{system, sentence.words.size()},
                {stack_reader, stack_reader.start(graph)},
                {buffer_reader, buffer_reader.start(graph)},
                action_reader.start(graph)};
    parse.buffer.push(pick(all, 0, 1));  // the root is behind the words
    for (unsigned i = word_ids.size() - 1; i > 0; --i) parse.buffer.push(pick(all, i, 1));
    return parse;
  }
  Expression scores(const Parse& parse) const {
    const Expression x =
        summary(concatenate({parse.stack.top(), parse.buffer.top(), parse.history.h}));
    return transitions(dropout(relu(x), in.rate));
  }
  void apply(Parse& parse, unsigned transition) const {
    const nn::TransitionStep step = parse.state.apply(transition);
    if (step.pushed) {
      parse.stack.push(parse.buffer.pop());
    } else {
      Expression head = parse.stack.pop(), dependant = parse.stack.pop();
      if (step.kind == nn::TransitionKind::right) std::swap(head, dependant);
      parse.stack.push(tanh(composition(concatenate({head, dependant, relations[transition]}))));
    }
    parse.history = action_reader.step(parse.history, actions[transition]);
  }

  /// The losses of the oracle's transitions, among those that are allowed.
  Expression loss(ComputationGraph& graph, const Sentence& sentence) const override {
    const std::vector<unsigned> heads = sentence.heads(), labels = in.v.label_ids(sentence);
    Random random = graph.random();
    std::vector<Expression> losses;
    Parse parse = start(graph, sentence, in.v.word_ids(sentence, random));
    while (!parse.state.is_done()) {
      const unsigned right = parse.state.oracle(heads, labels);
      const std::vector<unsigned> allowed = parse.state.allowed();
      if (allowed.size() > 1) losses.push_back(-pick(log_softmax(scores(parse), allowed), right));
      apply(parse, right);
    }
    return sum(losses);
  }

  HeadsAndLabels tree(ComputationGraph& graph, const Sentence& sentence) const override {
    Parse parse = start(graph, sentence, in.v.word_ids(sentence));
    while (!parse.state.is_done()) {
      const std::vector<unsigned> allowed = parse.state.allowed();
      apply(parse, allowed.size() == 1 ? allowed[0] : argmax(scores(parse).value(), allowed));
    }
    return {parse.state.heads(), parse.state.labels()};
  }
};

}  // namespace

std::unique_ptr<ParserModel> new_stack_lstm_model(const Inputs& inputs) {
  return std::make_unique<StackModel>(inputs);
}

}  // namespace dynet_like::examples
