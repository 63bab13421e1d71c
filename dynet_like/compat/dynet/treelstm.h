// DyNet's treelstm.h: builders of LSTMs over trees.
#pragma once

#include <vector>

#include "dynet/lstm.h"

namespace dynet {

/// Reads trees from the leaves to the root: new_graph, start_new_sequence, then every node after
/// its children. Functions for sequences throw UsageError.
struct TreeLSTMBuilder : RNNBuilder {
  Expression back() const override;
  std::vector<Expression> final_h() const override;
  std::vector<Expression> final_s() const override;
  unsigned num_h0_components() const override;
  void copy(const RNNBuilder& params) override;
  std::vector<Expression> get_h(RNNPointer i) const override;
  std::vector<Expression> get_s(RNNPointer i) const override;
  Expression set_s_impl(int prev, const std::vector<Expression>& s_new) override;
  Expression set_h_impl(int prev, const std::vector<Expression>& h_new) override;

  /// Reads node `id`, with input x, after its children, and returns its output. Throws UsageError
  /// unless it is the next node, an earlier one, or one of set_num_elements; and for a child that
  /// has not been read.
  virtual Expression add_input(int id, std::vector<int> children, const Expression& x) = 0;
  /// Then nodes 0 to num - 1 may come in any order. Without it they come in the order of their ids.
  virtual void set_num_elements(int num) = 0;

 protected:
  Expression add_input_impl(int prev, const Expression& x) override;
};

/// The N-ary Tree-LSTM of Tai et al. (2015), equations 9 to 14, except that gates also read the
/// cells of the children. With sums over all children k; children from the N-th on share weights:
///   i = logistic(b_i + X_i x + H_i_k h_k + C_i_k c_k + ...);  o likewise
///   f_j = logistic(1 + b_f + X_f x + H_f_kj h_k + C_f_kj c_k + ...) for every child j
///   c' = i * tanh(b_c + X_c x + H_c_k h_k + ...) + f_1 * c_1 + ...;  h' = o * tanh(c')
/// A leaf takes an initial state as its only child.
struct NaryTreeLSTMBuilder : TreeLSTMBuilder {
  NaryTreeLSTMBuilder() = default;
  explicit NaryTreeLSTMBuilder(unsigned N, unsigned layers, unsigned input_dim, unsigned hidden_dim,
                               ParameterCollection& model);

  Expression add_input(int id, std::vector<int> children, const Expression& x) override;
  void set_num_elements(int length) override;
  void copy(const RNNBuilder& params) override;
  ParameterCollection& get_parameter_collection() override { return local_model; }

  ParameterCollection local_model;
  std::vector<std::vector<Parameter>> params;         ///< X_i, b_i, X_f, b_f, X_o, b_o, X_c, b_c
  std::vector<std::vector<LookupParameter>> lparams;  ///< H_i, H_f, H_o, H_c, C_i, C_f, C_o
  std::vector<std::vector<Expression>> param_vars;
  std::vector<std::vector<std::vector<Expression>>> lparam_vars;  ///< by row
  std::vector<std::vector<Expression>> h, c;                      ///< by node and layer
  bool has_initial_state = false;
  std::vector<Expression> h0, c0;
  unsigned layers = 0, N = 0;

 protected:
  void new_graph_impl(ComputationGraph& cg, bool update) override;
  void start_new_sequence_impl(const std::vector<Expression>& h_0) override;

 private:
  using States = std::vector<detail::CellState>;

  States states_of(const std::vector<int>& children, unsigned layer) const;
  detail::CellState cell(unsigned layer, const Expression& x, const States& children);
  const Expression& row(unsigned layer, unsigned table, unsigned row);

  bool update_ = true;
};

/// An LSTM at every node reads the node's input, then the outputs of its children from left to
/// right. Shapes: x {inputs}. The LSTMs of inner nodes read outputs, so inputs = hidden.
struct UnidirectionalTreeLSTMBuilder : TreeLSTMBuilder {
  UnidirectionalTreeLSTMBuilder() = default;
  explicit UnidirectionalTreeLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                                         ParameterCollection& model);

  Expression add_input(int id, std::vector<int> children, const Expression& x) override;
  void set_num_elements(int length) override;
  ParameterCollection& get_parameter_collection() override { return local_model; }

  ParameterCollection local_model;
  LSTMBuilder node_builder;
  std::vector<Expression> h;  ///< by node

 protected:
  void new_graph_impl(ComputationGraph& cg, bool update) override;
  void start_new_sequence_impl(const std::vector<Expression>& h_0) override;
};

/// The same with a second LSTM that reads the children from right to left. Each gives half of the
/// output. Throws UsageError for an odd hidden_dim.
struct BidirectionalTreeLSTMBuilder : TreeLSTMBuilder {
  BidirectionalTreeLSTMBuilder() = default;
  explicit BidirectionalTreeLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                                        ParameterCollection& model);

  Expression add_input(int id, std::vector<int> children, const Expression& x) override;
  void set_num_elements(int length) override;
  ParameterCollection& get_parameter_collection() override { return local_model; }

  ParameterCollection local_model;
  LSTMBuilder fwd_node_builder, rev_node_builder;
  std::vector<Expression> h;  ///< by node

 protected:
  void new_graph_impl(ComputationGraph& cg, bool update) override;
  void start_new_sequence_impl(const std::vector<Expression>& h_0) override;
};

}  // namespace dynet
