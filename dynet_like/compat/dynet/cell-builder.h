// Common parts of builders whose layers have cells (all LSTMs).
#pragma once

#include <string>
#include <vector>

#include "dynet/rnn.h"

namespace dynet::detail {

using dynet_like::CellState;

/// A builder whose layers have a cell and an output. In lists of states, the cells of all layers
/// come before the outputs.
struct CellBuilder : LayeredBuilder {
  std::vector<Expression> final_s() const override;
  std::vector<Expression> get_s(RNNPointer i) const override;
  unsigned num_h0_components() const override { return 2 * layers; }

  std::vector<std::vector<Expression>> c;  ///< cells by state and layer
  std::vector<Expression> c0;
  bool has_initial_state = false;

 protected:
  using LayeredBuilder::LayeredBuilder;

  void start_new_sequence_impl(const std::vector<Expression>& h_0) override;
  Expression add_input_impl(int prev, const Expression& x) override;
  Expression set_h_impl(int prev, const std::vector<Expression>& h_new) override;
  Expression set_s_impl(int prev, const std::vector<Expression>& s_new) override;
  /// The state of a layer that reads x after state `prev`.
  virtual CellState cell(unsigned layer, const Expression& x, int prev) = 0;
  /// The input of a layer: x in the first, otherwise the output of the layer below.
  virtual Expression input_of(unsigned layer, const Expression& x, const Expression& below);

  Expression c_before(int prev, unsigned layer) const;
};

/// LSTMs whose gates see cells, and whose forget gate is 1 - i (Gers et al. 2002, Greff et al.
/// 2017):
///   i = logistic(b_i + X_i x + H_i h + C_i c);  c' = (1 - i) * c + i * tanh(b_c + X_c x + H_c h)
///   o = logistic(b_o + X_o x + H_o h + C_o c');  h' = o * tanh(c')
/// Parameters of a layer: X_i, H_i, C_i, b_i, X_o, H_o, C_o, b_o, X_c, H_c, b_c. C is {hidden,
/// hidden}, or {hidden, 1} if it is not used.
struct CoupledCells : CellBuilder {
 protected:
  /// How DyNet's builders differ: `unread` has neither C_i c nor C_o c'; `after_first` has no C_o
  /// c' in the first step of a sequence without an initial state.
  enum class Peepholes { unread, after_first, always };

  CoupledCells() = default;
  /// All layers except the first read `skipped` more numbers.
  CoupledCells(unsigned layers, unsigned input_dim, unsigned hidden_dim, ParameterCollection& model,
               const std::string& name, Peepholes peepholes, unsigned skipped = 0);

  CellState cell(unsigned layer, const Expression& x, int prev) override;
  /// The input, output and cell as gates and candidates read them.
  virtual Expression seen_input(unsigned, const Expression& x) const;
  virtual Expression seen_output(unsigned, const Expression& output) const { return output; }
  virtual Expression seen_cell(unsigned, const Expression& cell) const { return cell; }

 private:
  Peepholes peepholes_ = Peepholes::always;
};

}  // namespace dynet::detail
