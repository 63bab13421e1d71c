// A classifier whose functions are given expressions alone: graph and shapes come from `x.pg`.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/lstm.h>
#include <dynet/nodes.h>
#include <dynet/training.h>
#include <gtest/gtest.h>

using namespace std;
using namespace dynet;

namespace {

unsigned rows_of(const Expression& x) { return x.pg->nodes[x.i]->dim.rows(); }

template <class Function>
Expression apply(const Expression& x) {
  return Expression(x.pg, x.pg->add_function<Function>({x.i}));
}

Expression loss_of(const Expression& log_probs, unsigned label) {
  if (label >= rows_of(log_probs)) throw runtime_error("a label that is not there");
  const VariableIndex picked = log_probs.pg->add_function<PickElement>({log_probs.i}, label);
  return apply<Negate>(Expression(log_probs.pg, picked));
}

unsigned best_of(const Expression& x) {
  const vector<float> values = as_vector(x.pg->incremental_forward(x));
  return static_cast<unsigned>(max_element(values.begin(), values.end()) - values.begin());
}

struct Classifier {
  Classifier(ParameterCollection& model, unsigned words, unsigned labels)
      : encoder(1, 8, 8, model),
        p_words(model.add_lookup_parameters(words, {8})),
        p_w(model.add_parameters({labels, 8})),
        p_b(model.add_parameters({labels})) {}

  Expression operator()(ComputationGraph& cg, const vector<unsigned>& sentence) {
    encoder.new_graph(cg);
    encoder.start_new_sequence();
    for (unsigned word : sentence) encoder.add_input(lookup(cg, p_words, word));
    return affine_transform({parameter(cg, p_b), parameter(cg, p_w), encoder.back()});
  }

  LSTMBuilder encoder;
  LookupParameter p_words;
  Parameter p_w, p_b;
};

TEST(CompatClassifierProgramTest, LearnsWithTheGraphOfItsExpressions) {
  DynetParams params;
  params.random_seed = 1;
  initialize(params);
  ParameterCollection model;
  AdamTrainer trainer(model, 0.02f);
  Classifier classifier(model, 6, 3);
  // The label is the first word modulo 3.
  const vector<vector<unsigned>> sentences = {{0, 4}, {1, 3, 5}, {2}, {3, 1}, {4}, {5, 0, 2}};
  for (int epoch = 0; epoch < 60; ++epoch) {
    for (const auto& sentence : sentences) {
      ComputationGraph cg;
      const Expression loss = loss_of(apply<LogSoftmax>(classifier(cg, sentence)), sentence[0] % 3);
      loss.pg->forward(loss);
      loss.pg->backward(loss);
      trainer.update();
    }
  }
  for (const auto& sentence : sentences) {
    ComputationGraph cg;
    const Expression scores = classifier(cg, sentence);
    EXPECT_EQ(best_of(apply<Softmax>(scores)), sentence[0] % 3);
    EXPECT_EQ(best_of(apply<Identity>(scores)), sentence[0] % 3);
    EXPECT_THROW(loss_of(apply<LogSoftmax>(scores), 3), runtime_error);
  }
}

}  // namespace
