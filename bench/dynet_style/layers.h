// Layers as programs for DyNet define them: one parameter and one affine map per gate.
#pragma once

#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/model.h>

#include <string>
#include <vector>

/// Outside dynet_like, like programs for DyNet. The formulas are those of bench/models.
namespace dynet_style {

using namespace dynet;

/// W x + b.
struct Layer {
  Parameter p_W, p_b;

  Layer(ParameterCollection& model, unsigned inputs, unsigned outputs, const std::string& name);
  Expression apply(const Expression& x, ComputationGraph& cg) const;
};

/// W p + U q + b.
struct TwoInputs {
  Parameter p_W, p_U, p_b;

  TwoInputs(ParameterCollection& model, unsigned hidden, const std::string& name);
  Expression apply(const Expression& p, const Expression& q, ComputationGraph& cg) const;
};

/// The state of an LSTM, or of a node of a Tree-LSTM.
struct State {
  Expression h, c;
};

/// See OpLSTM.
struct LSTM {
  unsigned hidden;
  std::vector<Parameter> p_W, p_U, p_b;

  LSTM(ParameterCollection& model, unsigned inputs, unsigned hidden, const std::string& name);
  State start(ComputationGraph& cg) const;
  State step(const State& before, const Expression& x, ComputationGraph& cg) const;
};

/// See OpGRU.
struct GRU {
  unsigned hidden;
  std::vector<Parameter> p_W, p_U, p_bx, p_bh;

  GRU(ParameterCollection& model, unsigned inputs, unsigned hidden, const std::string& name);
  Expression start(ComputationGraph& cg) const { return zeros(cg, {hidden}); }
  Expression step(const Expression& h, const Expression& x, ComputationGraph& cg) const;
  Expression step_without_input(const Expression& h, ComputationGraph& cg) const;
};

/// One parameter of this size per gate, named after the gate.
std::vector<Parameter> per_gate(ParameterCollection& model, const std::string& name,
                                const std::vector<std::string>& gates, const Dim& dim);

}  // namespace dynet_style
