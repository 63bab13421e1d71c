// A transition-based parser with stack LSTMs, in the style of programs for DyNet.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/lstm.h>
#include <dynet/nodes.h>
#include <dynet/training.h>
#include <gtest/gtest.h>

using namespace std;
using namespace dynet;

namespace {

const unsigned LAYERS = 2, WORD_DIM = 8, HIDDEN_DIM = 16, ACTION_DIM = 4, STACK_DIM = 12;
enum Action : unsigned { SHIFT, LEFT, RIGHT, ACTIONS };

struct Parser {
  LSTMBuilder stack_lstm;
  LSTMBuilder* buffer_lstm;
  LSTMBuilder action_lstm;
  LookupParameter p_w, p_a;
  Parameter p_pbias, p_A, p_B, p_S, p_H, p_D, p_cbias, p_w2l, p_ib, p_p2a, p_abias;
  Parameter p_action_start, p_buffer_guard, p_stack_guard;

  Parser(ParameterCollection* model, unsigned vocab)
      : stack_lstm(LAYERS, STACK_DIM, HIDDEN_DIM, *model),
        buffer_lstm(new LSTMBuilder(LAYERS, STACK_DIM, HIDDEN_DIM, *model)),
        action_lstm(LAYERS, ACTION_DIM, HIDDEN_DIM, *model),
        p_w(model->add_lookup_parameters(vocab, {WORD_DIM})),
        p_a(model->add_lookup_parameters(ACTIONS, {ACTION_DIM})),
        p_pbias(model->add_parameters({HIDDEN_DIM})),
        p_A(model->add_parameters({HIDDEN_DIM, HIDDEN_DIM})),
        p_B(model->add_parameters({HIDDEN_DIM, HIDDEN_DIM})),
        p_S(model->add_parameters({HIDDEN_DIM, HIDDEN_DIM})),
        p_H(model->add_parameters({STACK_DIM, STACK_DIM})),
        p_D(model->add_parameters({STACK_DIM, STACK_DIM})),
        p_cbias(model->add_parameters({STACK_DIM})),
        p_w2l(model->add_parameters({STACK_DIM, WORD_DIM})),
        p_ib(model->add_parameters({STACK_DIM})),
        p_p2a(model->add_parameters({ACTIONS, HIDDEN_DIM})),
        p_abias(model->add_parameters({ACTIONS})),
        p_action_start(model->add_parameters({ACTION_DIM})),
        p_buffer_guard(model->add_parameters({STACK_DIM})),
        p_stack_guard(model->add_parameters({STACK_DIM})) {}
  ~Parser() { delete buffer_lstm; }

  static bool forbidden(unsigned action, size_t buffer, size_t stack) {
    return action == SHIFT ? buffer < 2 : stack < 3;
  }

  // The loss is the last node of the graph, as such programs have it.
  vector<unsigned> parse(ComputationGraph* hg, const vector<unsigned>& sentence,
                         const vector<unsigned>& gold, double* right = nullptr) {
    stack_lstm.new_graph(*hg);
    buffer_lstm->new_graph(*hg);
    action_lstm.new_graph(*hg);
    stack_lstm.start_new_sequence();
    buffer_lstm->start_new_sequence();
    action_lstm.start_new_sequence();
    Expression pbias = parameter(*hg, p_pbias), S = parameter(*hg, p_S), B = parameter(*hg, p_B);
    Expression A = parameter(*hg, p_A), p2a = parameter(*hg, p_p2a),
               abias = parameter(*hg, p_abias);
    Expression H = parameter(*hg, p_H), D = parameter(*hg, p_D), cbias = parameter(*hg, p_cbias);
    Expression ib = parameter(*hg, p_ib), w2l = parameter(*hg, p_w2l);
    action_lstm.add_input(parameter(*hg, p_action_start));
    vector<Expression> buffer(sentence.size() + 1), stack;
    for (unsigned i = 0; i < sentence.size(); ++i) {
      Expression w = lookup(*hg, p_w, sentence[i]);
      buffer[sentence.size() - i] = rectify(affine_transform({ib, w2l, w}));
    }
    buffer[0] = parameter(*hg, p_buffer_guard);
    for (auto& b : buffer) buffer_lstm->add_input(b);
    stack.push_back(parameter(*hg, p_stack_guard));
    stack_lstm.add_input(stack.back());
    vector<Expression> log_probs;
    vector<unsigned> results;
    while (stack.size() > 2 || buffer.size() > 1) {
      vector<unsigned> valid;
      for (unsigned a = 0; a < ACTIONS; ++a) {
        if (!forbidden(a, buffer.size(), stack.size())) valid.push_back(a);
      }
      Expression p_t = affine_transform(
          {pbias, S, stack_lstm.back(), B, buffer_lstm->back(), A, action_lstm.back()});
      Expression r_t = affine_transform({abias, p2a, rectify(p_t)});
      Expression adiste = log_softmax(r_t, valid);
      vector<float> adist = as_vector(hg->incremental_forward(adiste));
      unsigned best = valid[0];
      for (unsigned a : valid) {
        if (adist[a] > adist[best]) best = a;
      }
      unsigned action = gold.empty() ? best : gold[results.size()];
      if (right != nullptr && best == action) ++*right;
      log_probs.push_back(pick(adiste, action));
      results.push_back(action);
      action_lstm.add_input(lookup(*hg, p_a, action));
      if (action == SHIFT) {
        stack.push_back(buffer.back());
        stack_lstm.add_input(buffer.back());
        buffer.pop_back();
        buffer_lstm->rewind_one_step();
      } else {
        Expression dep = stack.back(), head = stack[stack.size() - 2];
        stack.resize(stack.size() - 2);
        if (action == RIGHT) swap(dep, head);
        stack_lstm.rewind_one_step();
        stack_lstm.rewind_one_step();
        stack.push_back(tanh(affine_transform({cbias, H, head, D, dep})));
        stack_lstm.add_input(stack.back());
      }
    }
    -sum(log_probs);
    return results;
  }
};

struct Example {
  vector<unsigned> words, actions;
};
const vector<Example> kTreebank = {{{1, 2, 3}, {SHIFT, SHIFT, LEFT, SHIFT, RIGHT}},
                                   {{4, 2, 3, 5}, {SHIFT, SHIFT, SHIFT, RIGHT, SHIFT, LEFT, LEFT}},
                                   {{3, 1}, {SHIFT, SHIFT, RIGHT}}};

VariableIndex last_of(const ComputationGraph& hg) { return hg.nodes.size() - 1; }

TEST(CompatParserTest, LearnsItsTreebank) {
  reset_rng(1);
  ParameterCollection model;
  Parser parser(&model, 6);
  AdamTrainer trainer(model, 0.01f);
  for (unsigned epoch = 0; epoch < 60; ++epoch) {
    for (const Example& example : kTreebank) {
      ComputationGraph hg;
      parser.parse(&hg, example.words, example.actions);
      ASSERT_GE(as_scalar(hg.incremental_forward(last_of(hg))), 0);
      hg.backward(last_of(hg));
      trainer.update();
    }
  }
  for (const Example& example : kTreebank) {
    ComputationGraph hg;
    double right = 0;
    parser.parse(&hg, example.words, example.actions, &right);
    EXPECT_EQ(right, example.actions.size());
    ComputationGraph free;
    EXPECT_EQ(parser.parse(&free, example.words, {}), example.actions);
  }
}

// Actions that are asked for one by one, with batching or without: the same bits, and the same
// gradients.
TEST(CompatParserTest, BatchingChangesNothing) {
  vector<float> losses, gradients;
  for (const int batching : {0, 1}) {
    autobatch_flag = batching;
    reset_rng(2);
    ParameterCollection model;
    Parser parser(&model, 6);
    ComputationGraph hg;
    parser.parse(&hg, kTreebank[1].words, kTreebank[1].actions);
    losses.push_back(as_scalar(hg.forward(last_of(hg))));
    hg.backward(last_of(hg));
    gradients.push_back(model.gradient_l2_norm());
    model.reset_gradient();
  }
  autobatch_flag = 1;
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(gradients[0], gradients[1]);
}

}  // namespace
