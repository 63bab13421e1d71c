// The layers, gate by gate.
#include "bench/dynet_style/layers.h"

using std::string;
using std::vector;

namespace dynet_style {

vector<Parameter> per_gate(ParameterCollection& model, const string& name,
                           const vector<string>& gates, const Dim& dim) {
  vector<Parameter> parameters;
  for (const string& gate : gates) {
    parameters.push_back(model.add_parameters(dim, name + "_" + gate));
  }
  return parameters;
}

Layer::Layer(ParameterCollection& model, unsigned inputs, unsigned outputs, const string& name) {
  ParameterCollection own = model.add_subcollection(name);
  p_W = own.add_parameters({outputs, inputs}, "W");
  p_b = own.add_parameters({outputs}, ParameterInitConst(0), "b");
}

Expression Layer::apply(const Expression& x, ComputationGraph& cg) const {
  return affine_transform({parameter(cg, p_b), parameter(cg, p_W), x});
}

TwoInputs::TwoInputs(ParameterCollection& model, unsigned hidden, const string& name) {
  ParameterCollection own = model.add_subcollection(name);
  p_W = own.add_parameters({hidden, hidden}, "W");
  p_U = own.add_parameters({hidden, hidden}, "U");
  p_b = own.add_parameters({hidden}, ParameterInitConst(0), "b");
}

Expression TwoInputs::apply(const Expression& p, const Expression& q, ComputationGraph& cg) const {
  return affine_transform({parameter(cg, p_b), parameter(cg, p_W), p, parameter(cg, p_U), q});
}

LSTM::LSTM(ParameterCollection& model, unsigned inputs, unsigned hidden, const string& name)
    : hidden(hidden) {
  const vector<string> gates = {"f", "i", "o", "u"};
  ParameterCollection own = model.add_subcollection(name);
  p_W = per_gate(own, "W", gates, {hidden, inputs});
  p_U = per_gate(own, "U", gates, {hidden, hidden});
  p_b = per_gate(own, "b", gates, {hidden});
}

State LSTM::start(ComputationGraph& cg) const { return {zeros(cg, {hidden}), zeros(cg, {hidden})}; }

State LSTM::step(const State& before, const Expression& x, ComputationGraph& cg) const {
  const auto gate = [&](unsigned i) {
    return affine_transform(
        {parameter(cg, p_b[i]), parameter(cg, p_W[i]), x, parameter(cg, p_U[i]), before.h});
  };
  Expression f = logistic(gate(0)), i = logistic(gate(1)), o = logistic(gate(2));
  Expression c = cmult(i, tanh(gate(3))) + cmult(f, before.c);
  return {cmult(o, tanh(c)), c};
}

GRU::GRU(ParameterCollection& model, unsigned inputs, unsigned hidden, const string& name)
    : hidden(hidden) {
  const vector<string> gates = {"r", "z", "n"};
  ParameterCollection own = model.add_subcollection(name);
  p_W = per_gate(own, "W", gates, {hidden, inputs});
  p_U = per_gate(own, "U", gates, {hidden, hidden});
  p_bx = per_gate(own, "b_x", gates, {hidden});
  p_bh = per_gate(own, "b_h", gates, {hidden});
}

Expression GRU::step(const Expression& h, const Expression& x, ComputationGraph& cg) const {
  const auto gate = [&](unsigned i) {
    return affine_transform({parameter(cg, p_bx[i]) + parameter(cg, p_bh[i]), parameter(cg, p_W[i]),
                             x, parameter(cg, p_U[i]), h});
  };
  Expression r = logistic(gate(0)), z = logistic(gate(1));
  Expression from_x = affine_transform({parameter(cg, p_bx[2]), parameter(cg, p_W[2]), x});
  Expression from_h = affine_transform({parameter(cg, p_bh[2]), parameter(cg, p_U[2]), h});
  Expression n = tanh(from_x + cmult(r, from_h));
  return cmult(1.f - z, n) + cmult(z, h);
}

Expression GRU::step_without_input(const Expression& h, ComputationGraph& cg) const {
  const auto gate = [&](unsigned i) {
    return affine_transform({parameter(cg, p_bh[i]), parameter(cg, p_U[i]), h});
  };
  Expression r = logistic(gate(0)), z = logistic(gate(1)), n = tanh(cmult(r, gate(2)));
  return cmult(1.f - z, n) + cmult(z, h);
}

}  // namespace dynet_style
