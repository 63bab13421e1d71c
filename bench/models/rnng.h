// A recurrent neural network grammar (Dyer et al. 2016) with random weights, which parses known
// words by beam search. Its states consist of several LSTMs, and its scores have two sizes.
#pragma once

#include <algorithm>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace dynet_like::bench {

class Rnng {
 public:
  using Words = std::vector<unsigned>;

  Rnng(unsigned hidden, unsigned words, unsigned labels)
      : hidden_(hidden), labels_(labels), word_count_(words) {}

  unsigned words() const { return word_count_; }

  /// The best action sequences for a sentence, the best first. Actions below `labels` open a
  /// constituent; action `labels` moves on to the next word, which is an action of its own; the
  /// next action closes a constituent.
  std::vector<std::vector<unsigned>> parse(ComputationGraph& graph, const Words& sentence,
                                           nn::SearchOptions options) const {
    options.normalise = false;  // they are log probabilities already
    const State start = {{stack_, stack_.start(graph)},
                         terminals_.start(graph),
                         history_.step(history_.start(graph), of_actions_(graph, labels_ + 1))};
    const nn::Steps<State> steps = {
        .scores = [&](const State& state) { return scores(state, sentence); },
        .advance = [&](const State& state, unsigned action) { return after(state, action); },
        .is_done =
            [&](const State& state) { return state.open.empty() && state.read == sentence.size(); },
        .is_word = [](const State& state, unsigned) { return state.at_word; }};
    std::vector<std::vector<unsigned>> found;
    for (auto& hypothesis : nn::beam_search(start, steps, options)) {
      found.push_back(std::move(hypothesis.actions));
    }
    return found;
  }

 private:
  struct State {
    nn::StackState<nn::LSTM> stack;
    nn::LSTM::State terminals, history;
    std::vector<std::size_t> open = {};  ///< positions on the stack where open constituents begin
    std::vector<unsigned> opened = {};   ///< their labels
    std::size_t read = 0;                ///< number of words
    bool at_word = false;                ///< whether the next action is a word
    unsigned opened_last = 0;            ///< how many were opened in a row
  };

  Expression scores(const State& state, const Words& sentence) const {
    const Expression x =
        tanh(summary_(concatenate({state.stack.top(), state.terminals.h, state.history.h})));
    if (state.at_word) return nn::masked(log_softmax(output_(x)), {sentence[state.read]});
    std::vector<unsigned> allowed;
    if (state.read < sentence.size()) {
      if (state.opened_last < 3)
        for (unsigned label = 0; label < labels_; ++label) allowed.push_back(label);
      if (!state.open.empty()) allowed.push_back(labels_);
    }
    const bool is_empty = !state.open.empty() && state.stack.size() == state.open.back() + 1;
    const bool is_root = state.open.size() == 1;
    if (!state.open.empty() && !is_empty && (!is_root || state.read == sentence.size()))
      allowed.push_back(labels_ + 1);
    return log_softmax(nn::masked(actions_(x), allowed));
  }

  State after(State state, unsigned action) const {
    ComputationGraph& graph = state.history.h.graph("Rnng");
    if (state.at_word) {
      const Expression word = of_words_(graph, action);
      state.stack.push(word);
      state.terminals = terminals_.step(state.terminals, word);
      state.at_word = false;
      ++state.read;
      return state;
    }
    state.history = history_.step(state.history, of_actions_(graph, action));
    if (action < labels_) {
      state.open.push_back(state.stack.size());
      state.opened.push_back(action);
      state.stack.push(of_labels_(graph, action));
      ++state.opened_last;
      return state;
    }
    state.opened_last = 0;
    state.at_word = action == labels_;
    if (!state.at_word) close(graph, state);
    return state;
  }

  // Two LSTMs read the label and the parts, from both ends.
  void close(ComputationGraph& graph, State& state) const {
    std::vector<Expression> parts;
    while (state.stack.size() > state.open.back() + 1) parts.push_back(state.stack.pop());
    state.stack.pop();
    const Expression label = of_labels_(graph, state.opened.back());
    state.open.pop_back();
    state.opened.pop_back();
    nn::LSTM::State right = right_.step(right_.start(graph), label);
    for (const Expression& part : parts) right = right_.step(right, part);
    std::ranges::reverse(parts);
    nn::LSTM::State left = left_.step(left_.start(graph), label);
    for (const Expression& part : parts) left = left_.step(left, part);
    state.stack.push(tanh(composition_(concatenate({left.h, right.h}))));
  }

  unsigned hidden_, labels_, word_count_;
  ParameterCollection model_{1};
  nn::Embedding of_words_{model_, word_count_, hidden_, {.name = "words"}};
  nn::Embedding of_labels_{model_, labels_, hidden_, {.name = "labels"}};
  nn::Embedding of_actions_{model_, labels_ + 2, hidden_, {.name = "actions"}};
  nn::LSTM stack_{model_, hidden_, hidden_, {.name = "stack"}};
  nn::LSTM terminals_{model_, hidden_, hidden_, {.name = "terminals"}};
  nn::LSTM history_{model_, hidden_, hidden_, {.name = "history"}};
  nn::LSTM left_{model_, hidden_, hidden_, {.name = "left"}},
      right_{model_, hidden_, hidden_, {.name = "right"}};
  nn::Linear composition_{model_, 2 * hidden_, hidden_, {.name = "composition"}};
  nn::Linear summary_{model_, 3 * hidden_, hidden_, {.name = "summary"}};
  nn::Linear actions_{model_, hidden_, labels_ + 2, {.name = "next_action"}};
  nn::Linear output_{model_, hidden_, word_count_, {.name = "next_word"}};
};

}  // namespace dynet_like::bench
