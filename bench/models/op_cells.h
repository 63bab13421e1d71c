// Cells written op by op: one affine map and one nonlinearity per gate, as in programs for DyNet.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/models/workload.h"
#include "nn/linear.h"

namespace dynet_like::bench {

/// nn::TreeLSTM, op by op: instead of "W" it has "W_i", "W_o" and "W_u", and so on.
class OpTreeLSTM {
 public:
  using State = CellState;
  OpTreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
             const nn::LayerOptions& options);
  State leaf(const Expression& x) const;
  State inner(const State& left, const State& right) const;

 private:
  std::vector<Parameter> leaf_weights_, left_weights_, right_weights_, bias_;
};

/// The cell of make_tree_lstm_own_forget, op by op.
class OpOwnForgetTreeLSTM {
 public:
  using State = CellState;
  OpOwnForgetTreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                      const nn::LayerOptions& options);
  State leaf(const Expression& x) const;
  State inner(const State& left, const State& right) const;

 private:
  ParameterCollection own_;
  std::vector<Parameter> leaf_weights_, left_weights_, right_weights_, bias_;
  nn::Linear forget_;
};

/// nn::LSTM, op by op.
class OpLSTM {
 public:
  struct State {
    Expression h, c;
  };
  OpLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
         const nn::LayerOptions& options);
  State start(ComputationGraph& graph) const;
  State step(const State& before, const Expression& x) const;

 private:
  unsigned hidden_;
  std::vector<Parameter> input_weights_, hidden_weights_, bias_;
};

/// nn::GRU, op by op.
class OpGRU {
 public:
  OpGRU(ParameterCollection& model, unsigned inputs, unsigned hidden,
        const nn::LayerOptions& options);
  Expression start(ComputationGraph& graph) const;
  Expression step(const Expression& h, const Expression& x) const;
  Expression step_without_input(const Expression& h) const;

 private:
  unsigned hidden_;
  std::vector<Parameter> input_weights_, hidden_weights_, input_bias_, hidden_bias_;
};

/// Copies values from a model with layers to the same model op by op: the rows of "/lstm/W" go, in
/// order, to the parameters whose names begin with "/lstm/W_". Throws std::logic_error if they do
/// not fit.
void take_values(const ParameterCollection& ops, const ParameterCollection& fused);

/// A workload in one of its forms, all of which begin with the same values. Throws
/// std::invalid_argument if there is no such form.
template <class Fused, class Ops, class Steps = void>
std::unique_ptr<Workload> make_form(unsigned hidden, Form form) {
  auto fused = std::make_unique<Fused>(hidden);
  if (form == Form::fused) return fused;
  const auto with_values = [&](auto workload) -> std::unique_ptr<Workload> {
    take_values(workload->parameters(), fused->parameters());
    return workload;
  };
  if (form == Form::ops) return with_values(std::make_unique<Ops>(hidden));
  if constexpr (std::is_void_v<Steps>) {
    throw std::invalid_argument("need a model whose steps are cells; got another");
  } else {
    return with_values(std::make_unique<Steps>(hidden));
  }
}

}  // namespace dynet_like::bench
