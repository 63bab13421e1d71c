// DyNet's lstm.h: builders of LSTMs.
#pragma once

#include <vector>

#include "dynet/cell-builder.h"

namespace dynet {

/// The LSTM of detail::CoupledCells with full matrices C. Dropout applies to inputs, outputs and
/// cells.
struct CoupledLSTMBuilder : detail::VariationalDropout<detail::CoupledCells> {
  CoupledLSTMBuilder() = default;
  explicit CoupledLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                              ParameterCollection& model)
      : VariationalDropout(layers, input_dim, hidden_dim, model, "lstm-builder",
                           Peepholes::always) {}

  void set_dropout(float d) override { set_dropout(d, d, d); }
  /// The rates for inputs, outputs, and cells where gates read them.
  void set_dropout(float d, float d_h, float d_c);
  /// Draws the masks of each layer: for the input, the output and the cell.
  void set_dropout_masks(unsigned batch_size = 1) override;

  float dropout_rate_c = 0;

 protected:
  bool drops() const override { return VariationalDropout::drops() || dropout_rate_c > 0; }
  Expression seen_input(unsigned layer, const Expression& x) const override;
  Expression seen_output(unsigned layer, const Expression& output) const override;
  Expression seen_cell(unsigned layer, const Expression& cell) const override;
};

/// Hochreiter and Schmidhuber (1997) with forget gates (Gers et al. 2000):
///   i, f, o = logistic and g = tanh of the blocks of b + W x + U h, f with forget_bias added
///   c' = f * c + i * g;  h' = o * tanh(c')
/// With ln_lstm, W x, U h and, inside the last tanh, c' are normalised (Ba et al. 2016); then the
/// first step of a sequence without an initial state has no U h. Parameters of a layer: W {4
/// hidden, inputs}, U {4 hidden, hidden}, b {4 hidden}; and with ln_lstm gain and bias of U h, of W
/// x and of c'.
struct VanillaLSTMBuilder : detail::VariationalDropout<detail::CellBuilder> {
  VanillaLSTMBuilder() = default;
  explicit VanillaLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                              ParameterCollection& model, bool ln_lstm = false,
                              float forget_bias = 1.0f);

  void copy(const RNNBuilder& params) override;

  std::vector<std::vector<Parameter>> ln_params;
  std::vector<std::vector<Expression>> ln_param_vars;
  bool ln_lstm = false;
  float forget_bias = 1;  ///< read by new_graph

 protected:
  VanillaLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                     const ParameterCollection& own, bool ln_lstm, float forget_bias);

  void new_graph_impl(ComputationGraph& cg, bool update) override;
  detail::CellState cell(unsigned layer, const Expression& x, int prev) override;

 private:
  detail::CellState normalised_cell(unsigned layer, const Expression& x, const Expression& h_seen,
                                    int prev) const;

  std::vector<Expression> biases_;  ///< b with forget_bias added
};

using LSTMBuilder = VanillaLSTMBuilder;

/// VanillaLSTMBuilder whose W and U are multiplied by masks: parameters that trainers do not
/// change, initially ones. Each layer adds them before b, and its collection has
/// VanillaLSTMBuilder's name.
struct SparseLSTMBuilder : VanillaLSTMBuilder {
  SparseLSTMBuilder() = default;
  explicit SparseLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                             ParameterCollection& model, bool ln_lstm = false,
                             float forget_bias = 1.0f);

  /// From the next graph on, masks out a share of the weights, which keep their values: the
  /// smallest by magnitude of all W and U together (See et al. 2016). The share is from 0 to 1, in
  /// spite of the name `percent`. Throws UsageError for another share.
  void set_sparsity(float percent);

 protected:
  void new_graph_impl(ComputationGraph& cg, bool update) override;
};

/// VanillaLSTMBuilder with forget_bias 1 and without ln_lstm. With weight noise, normal noise is
/// added to W, U and b in every step (Graves 2013).
struct CompactVanillaLSTMBuilder : detail::VariationalDropout<detail::CellBuilder> {
  CompactVanillaLSTMBuilder() = default;
  explicit CompactVanillaLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                                     ParameterCollection& model);

  /// Sets the standard deviation. Throws UsageError if it is below 0.
  void set_weightnoise(float std);

  float weightnoise_std = 0;

 protected:
  void new_graph_impl(ComputationGraph& cg, bool update) override;
  detail::CellState cell(unsigned layer, const Expression& x, int prev) override;

 private:
  std::vector<Expression> biases_;  ///< b with 1 added for the forget gate
};

}  // namespace dynet
