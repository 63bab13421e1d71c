// A transition-based parser in DyNet's style. It is a program for DyNet, which works on one
// sentence at a time. With --batched its sentences wait for each other when they ask for scores:
// see "Programs that ask for values" in docs/migration.md.
//
//   dynet_parser [--batched] [--dynet-seed N]
//
// Its language is artificial: the preposition alone tells whether its phrase belongs to the noun
// before it or to the verb. Expected: at least 99 % of the heads of 256 new sentences are right,
// after a few seconds. It prints losses and predicted heads.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/init.h>
#include <dynet/lstm.h>
#include <dynet/minibatch.h>
#include <dynet/training.h>

#include <ctime>
#include <exception>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std;
using namespace dynet;

const unsigned WORD_DIM = 32, LSTM_DIM = 32, HIDDEN_DIM = 64, BATCH_SIZE = 32, EPOCHS = 3;
const unsigned NOUNS = 0, VERBS = 60, PREPOSITIONS = 80, ARTICLES = 100, ROOT = 102, WORDS = 103;

// Word i has the head heads[i]. The root comes after the last word.
struct Sentence {
  vector<unsigned> words, heads;
};

Sentence make_sentence(mt19937& random) {
  Sentence s;
  const auto add = [&](unsigned word, unsigned head) {
    s.words.push_back(word);
    s.heads.push_back(head);
    return unsigned(s.words.size()) - 1;
  };
  const auto add_noun = [&](unsigned head) {
    if (random() % 2) add(ARTICLES + random() % 2, s.words.size() + 1);
    return add(NOUNS + random() % 60, head);
  };
  unsigned noun = add_noun(0);
  const unsigned verb = add(VERBS + random() % 20, 0);
  s.heads[noun] = verb;
  noun = add_noun(verb);
  for (unsigned phrases = random() % 4; phrases > 0; --phrases) {
    const unsigned kind = random() % 20;
    noun = add_noun(add(PREPOSITIONS + kind, kind % 2 ? noun : verb));
  }
  s.heads[verb] = s.words.size();
  return s;
}

// SHIFT moves the next word to the stack. LEFT makes the next word the head of the word at the top
// of the stack, RIGHT the word below it. Both pop the stack (arc-hybrid: Kuhlmann et al. 2011).
enum Action { SHIFT, LEFT, RIGHT, ACTIONS };

struct Parser {
  LookupParameter p_words;
  Parameter p_none, p_hidden, p_bias, p_output;
  LSTMBuilder l2r, r2l;

  explicit Parser(ParameterCollection& model)
      : p_words(model.add_lookup_parameters(WORDS, {WORD_DIM})),
        p_none(model.add_parameters({2 * LSTM_DIM})),
        p_hidden(model.add_parameters({HIDDEN_DIM, 6 * LSTM_DIM})),
        p_bias(model.add_parameters({HIDDEN_DIM})),
        p_output(model.add_parameters({ACTIONS, HIDDEN_DIM})),
        l2r(1, WORD_DIM, LSTM_DIM, model, false, 0),
        r2l(1, WORD_DIM, LSTM_DIM, model, false, 0) {}

  // The vectors of the words and the root.
  vector<Expression> read(ComputationGraph& cg, vector<unsigned> words) {
    l2r.new_graph(cg);
    r2l.new_graph(cg);
    l2r.start_new_sequence();
    r2l.start_new_sequence();
    words.push_back(ROOT);
    vector<Expression> x(words.size()), left(x), right(x);
    for (size_t i = 0; i < x.size(); ++i) x[i] = lookup(cg, p_words, words[i]);
    for (size_t i = 0; i < x.size(); ++i) left[i] = l2r.add_input(x[i]);
    for (size_t i = x.size(); i-- > 0;) right[i] = r2l.add_input(x[i]);
    for (size_t i = 0; i < x.size(); ++i) x[i] = concatenate({left[i], right[i]});
    return x;
  }

  // How many of the gold heads can no longer be found after an action, or -1 if the action is not
  // possible (Goldberg and Nivre 2013).
  static int cost(int action, const vector<unsigned>& stack, unsigned next,
                  const vector<unsigned>& heads) {
    const size_t depth = stack.size();
    if (action == SHIFT ? next == heads.size() : depth < (action == LEFT ? 1 : 2)) return -1;
    int lost = 0;
    if (action == SHIFT) {
      for (size_t i = 0; i < depth; ++i) {
        lost += heads[stack[i]] == next || (heads[next] == stack[i] && i + 1 < depth);
      }
      return lost;
    }
    const unsigned top = stack.back();
    for (unsigned i = next; i < heads.size(); ++i) lost += heads[i] == top;
    if (action == RIGHT) return lost + (heads[top] >= next);
    return lost + (heads[top] > next || (depth > 1 && heads[top] == stack[depth - 2]));
  }

  // The predicted heads. In each state that its own decisions lead to, a loss compares the best
  // correct action with the best wrong one.
  vector<unsigned> parse(ComputationGraph& cg, const Sentence& s, vector<Expression>& losses) {
    const vector<Expression> words = read(cg, s.words);
    const Expression none = parameter(cg, p_none), hidden = parameter(cg, p_hidden),
                     bias = parameter(cg, p_bias), output = parameter(cg, p_output);
    vector<unsigned> stack, heads(s.words.size());
    unsigned next = 0;
    while (next < heads.size() || !stack.empty()) {
      const size_t depth = stack.size();
      const Expression around = concatenate({depth > 1 ? words[stack[depth - 2]] : none,
                                             depth > 0 ? words[stack.back()] : none, words[next]});
      const Expression scores = output * tanh(affine_transform({bias, hidden, around}));
      const vector<float> values = as_vector(cg.incremental_forward(scores));
      int right = -1, wrong = -1;
      for (int action = SHIFT; action < ACTIONS; ++action) {
        const int lost = cost(action, stack, next, s.heads);
        if (lost < 0) continue;
        int& best = lost == 0 ? right : wrong;
        if (best < 0 || values[action] > values[best]) best = action;
      }
      if (wrong >= 0 && values[wrong] + 1 > values[right]) {
        losses.push_back(pick(scores, wrong) - pick(scores, right) + 1);
      }
      const int action = wrong >= 0 && values[wrong] > values[right] ? wrong : right;
      if (action == SHIFT) {
        stack.push_back(next++);
      } else {
        heads[stack.back()] = action == LEFT ? next : stack[depth - 2];
        stack.pop_back();
      }
    }
    return heads;
  }

  vector<unsigned> parse(ComputationGraph& cg, const Sentence& s) {
    vector<Expression> losses;
    return parse(cg, s, losses);
  }

  Expression loss(ComputationGraph& cg, const Sentence& s) {
    vector<Expression> losses = {input(cg, 0.0f)};
    parse(cg, s, losses);
    return sum(losses);
  }
};

// Sentence by sentence, as for DyNet.
struct OneByOne {
  Parser& parser;

  double train(const Sentence* sentences) {
    double total = 0;
    for (size_t i = 0; i < BATCH_SIZE; ++i) {
      ComputationGraph cg;
      const Expression loss = parser.loss(cg, sentences[i]);
      total += as_scalar(loss.value());
      cg.backward(loss);
    }
    return total;
  }
  vector<vector<unsigned>> parse(const vector<Sentence>& sentences) {
    vector<vector<unsigned>> trees;
    for (const Sentence& sentence : sentences) {
      ComputationGraph cg;
      trees.push_back(parser.parse(cg, sentence));
    }
    return trees;
  }
};

// Sentences that wait for each other.
struct Batched {
  Parser& parser;
  Minibatch batch{};

  double train(const Sentence* sentences) {
    batch.clear();
    const auto losses = for_each_sample(batch, BATCH_SIZE, [&](ComputationGraph& cg, size_t i) {
      return Parser(parser).loss(cg, sentences[i]);
    });
    batch.add_losses(losses);
    batch.forward();
    batch.backward();
    double total = 0;
    for (const Expression& loss : losses) total += as_scalar(loss.value());
    return total;
  }
  vector<vector<unsigned>> parse(const vector<Sentence>& sentences) {
    batch.clear();
    return for_each_sample(batch, sentences, [&](ComputationGraph& cg, const Sentence& sentence) {
      return Parser(parser).parse(cg, sentence);
    });
  }
};

template <class Loop>
void run(Loop loop, AdamTrainer& trainer) {
  mt19937 random(1);
  vector<Sentence> train, test;
  for (unsigned i = 0; i < 64 * BATCH_SIZE; ++i) train.push_back(make_sentence(random));
  for (unsigned i = 0; i < 8 * BATCH_SIZE; ++i) test.push_back(make_sentence(random));
  cout.precision(17);
  const clock_t start = clock();
  for (unsigned epoch = 1; epoch <= EPOCHS; ++epoch) {
    double total = 0;
    for (size_t first = 0; first < train.size(); first += BATCH_SIZE) {
      total += loop.train(&train[first]);
      trainer.update();
    }
    cout << "epoch " << epoch << ": loss " << total << '\n';
  }
  const auto trees = loop.parse(test);
  const double seconds = double(clock() - start) / CLOCKS_PER_SEC;
  cerr << (EPOCHS * train.size() + test.size()) / seconds
       << " sentences a second of processor time\n";
  double right = 0, all = 0;
  for (size_t i = 0; i < test.size(); ++i) {
    for (size_t word = 0; word < trees[i].size(); ++word) {
      right += trees[i][word] == test[i].heads[word];
      ++all;
      cout << trees[i][word] << (word + 1 < trees[i].size() ? ' ' : '\n');
    }
  }
  cout << 100 * right / all << " % of " << test.size() << " sentences' heads are right\n";
}

int main(int argc, char** argv) {
  try {
    initialize(argc, argv);
    ParameterCollection model;
    AdamTrainer trainer(model, 0.003f);
    Parser parser(model);
    if (argc > 1 && argv[1] == string("--batched")) {
      run(Batched{parser}, trainer);
    } else {
      run(OneByOne{parser}, trainer);
    }
    if (!cout.flush()) throw runtime_error("cannot write the output");
    return 0;
  } catch (const exception& error) {
    cerr << argv[0] << ": " << error.what() << '\n';
    return 1;
  }
}
