// A builder of a program's own, derived from DyNet's, with all that programs do with builders.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/gru.h>
#include <dynet/lstm.h>
#include <dynet/rnn.h>
#include <dynet/training.h>
#include <gtest/gtest.h>

using namespace std;
using namespace dynet;

namespace {

// One layer.
struct MyRNNBuilder : public RNNBuilder {
  explicit MyRNNBuilder(unsigned input_dim, unsigned hidden_dim, ParameterCollection& model)
      : local_model(model.add_subcollection("my-rnn-builder")) {
    params.push_back(local_model.add_parameters({hidden_dim, input_dim}));
    params.push_back(local_model.add_parameters({hidden_dim, hidden_dim}));
    params.push_back(local_model.add_parameters({hidden_dim}, ParameterInitConst(0.f)));
    dropout_rate = 0.f;
  }

  Expression back() const override { return final_h().back(); }
  vector<Expression> final_h() const override { return get_h(cur); }
  vector<Expression> final_s() const override { return final_h(); }
  vector<Expression> get_h(RNNPointer i) const override { return i == -1 ? h0 : h[i]; }
  vector<Expression> get_s(RNNPointer i) const override { return get_h(i); }
  unsigned num_h0_components() const override { return 1; }
  void copy(const RNNBuilder& rnn) override { params = ((const MyRNNBuilder&)rnn).params; }
  ParameterCollection& get_parameter_collection() override { return local_model; }

 protected:
  void new_graph_impl(ComputationGraph& cg, bool update) override {
    vars.clear();
    for (auto& p : params) vars.push_back(update ? parameter(cg, p) : const_parameter(cg, p));
    _cg = &cg;
  }
  void start_new_sequence_impl(const vector<Expression>& h_0) override {
    h.clear();
    h0 = h_0;
    if (h0.size() > 1) DYNET_INVALID_ARG("need 1 initial state; got " << h0.size());
  }
  Expression set_h_impl(int, const vector<Expression>& h_new) override {
    h.push_back(h_new);
    return h.back().back();
  }
  Expression set_s_impl(int prev, const vector<Expression>& s_new) override {
    return set_h_impl(prev, s_new);
  }
  Expression add_input_impl(int prev, const Expression& in) override {
    assert(_cg == in.pg);
    Expression y = affine_transform({vars[2], vars[0], in});
    if (prev >= 0 || h0.size() > 0) y = y + vars[1] * (prev >= 0 ? h[prev] : h0).back();
    return set_h_impl(prev, {tanh(y)});
  }

 public:
  ParameterCollection local_model;
  vector<Parameter> params;
  vector<Expression> vars, h0;
  vector<vector<Expression>> h;
  ComputationGraph* _cg = nullptr;
};

TEST(CompatOwnBuilderTest, ComputesWhatDynetsBuilderDoes) {
  ParameterCollection model;
  MyRNNBuilder own(3, 4, model);
  SimpleRNNBuilder theirs(1, 3, 4, model);
  for (unsigned p = 0; p < 3; ++p) {
    theirs.params[0][p].set_value(as_vector(*own.params[p].values()));
  }
  ComputationGraph cg;
  vector<vector<float>> outputs;
  for (RNNBuilder* rnn : initializer_list<RNNBuilder*>{&own, &theirs}) {
    rnn->new_graph(cg);
    rnn->start_new_sequence({input(cg, {4}, {1, 0, 1, 0})});
    const Expression x = input(cg, {3}, {1.f, -2.f, 3.f});
    rnn->add_input(x);
    const RNNPointer fork = rnn->state();
    rnn->add_input(x * 2);
    rnn->add_input(fork, x * 3);
    EXPECT_EQ(rnn->get_head(rnn->state()), fork);
    outputs.push_back(as_vector(rnn->back().value()));
    rnn->rewind_one_step();
    EXPECT_EQ(rnn->state(), fork);
    outputs.push_back(as_vector(rnn->back().value()));
  }
  // The same sums in another order.
  for (unsigned k = 0; k < 2; ++k) {
    ASSERT_EQ(outputs[k].size(), outputs[k + 2].size());
    for (size_t i = 0; i < outputs[k].size(); ++i) {
      EXPECT_NEAR(outputs[k][i], outputs[k + 2][i], 1e-5f);
    }
  }
}

TEST(CompatOwnBuilderTest, ChecksTheOrderOfCalls) {
  ParameterCollection model;
  MyRNNBuilder fresh(3, 4, model);
  ComputationGraph cg;
  EXPECT_THROW(fresh.add_input(input(cg, {3}, {1, 2, 3})), std::invalid_argument);
  fresh.new_graph(cg);
  EXPECT_THROW(fresh.start_new_sequence({input(cg, 1.f), input(cg, 1.f)}), std::invalid_argument);
}

// Programs hold builders and trainers by any kind of pointer, in vectors, and as copies.
TEST(CompatOwnBuilderTest, IsOwnedAsProgramsDo) {
  ParameterCollection model;
  vector<shared_ptr<RNNBuilder>> builders = {
      make_shared<MyRNNBuilder>(3, 4, model), make_shared<LSTMBuilder>(1, 3, 4, model),
      make_shared<GRUBuilder>(1, 3, 4, model), make_shared<SimpleRNNBuilder>(1, 3, 4, model)};
  unique_ptr<Trainer> trainer(new SimpleSGDTrainer(model, 0.1f));
  for (unsigned step = 0; step < 3; ++step) {
    ComputationGraph* const cg = new ComputationGraph;
    vector<Expression> ends;
    for (auto& rnn : builders) {
      rnn->new_graph(*cg);
      rnn->start_new_sequence();
      for (unsigned t = 0; t < 3; ++t) rnn->add_input(input(*cg, {3}, {1.f, 2.f, float(t)}));
      ends.push_back(squared_norm(rnn->back()));
    }
    Expression loss = sum(ends);
    loss.pg->forward(loss);
    cg->backward(loss);
    trainer->update();
    trainer.reset(step == 0 ? static_cast<Trainer*>(new AdamTrainer(model))
                            : new MomentumSGDTrainer(model));
    delete cg;
  }
  LSTMBuilder assigned;
  assigned = LSTMBuilder(1, 2, 3, model);
  vector<LSTMBuilder> all;
  all.push_back(assigned);
  all.emplace_back(2, 3, 3, model);
  builders.clear();
  ComputationGraph cg;
  all[0].new_graph(cg);
  all[0].start_new_sequence();
  all[0].add_input(input(cg, {2}, {1.f, 2.f}));
  assigned.new_graph(cg);
  assigned.start_new_sequence(all[0].final_s());
  EXPECT_EQ(as_vector(assigned.add_input(input(cg, {2}, {3.f, 4.f})).value()),
            as_vector(all[0].add_input(input(cg, {2}, {3.f, 4.f})).value()));
}

}  // namespace
