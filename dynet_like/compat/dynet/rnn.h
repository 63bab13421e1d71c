// DyNet's rnn.h: the base of all builders of recurrent layers, and the simplest builder.
#pragma once

#include <utility>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/model.h"

namespace dynet {

/// The number of a state of the current sequence; -1 is the state before the first input.
using RNNPointer = int;

inline void swap(RNNPointer& i1, RNNPointer& i2) { std::swap(i1, i2); }

/// Reads sequences, one element at a time: new_graph, then start_new_sequence, then inputs. Each
/// input follows the last state or any earlier one, so states form a tree. Throws UsageError for
/// another order of calls, for a state that does not exist, and for a wrong number of given states.
struct RNNBuilder {
  virtual ~RNNBuilder() = default;

  /// The state that the next input follows.
  RNNPointer state() const { return cur; }

  /// Uses the parameters in this graph; without `update` they get no gradient.
  void new_graph(ComputationGraph& cg, bool update = true);
  /// Begins a sequence with the initial states h_0, num_h0_components() of them (for layers with
  /// cells: all cells, then all outputs), or with zeros.
  void start_new_sequence(const std::vector<Expression>& h_0 = {});
  /// Adds a state after `prev` that has new outputs, one per layer, and `prev`'s cells.
  Expression set_h(const RNNPointer& prev, const std::vector<Expression>& h_new = {});
  /// The same with new cells, or new cells and outputs. For layers without cells it is set_h.
  Expression set_s(const RNNPointer& prev, const std::vector<Expression>& s_new = {});
  /// Reads x and returns the output of the last layer.
  Expression add_input(const Expression& x) { return add_input(cur, x); }
  Expression add_input(const RNNPointer& prev, const Expression& x);
  /// Returns to the state before the current one. The latter stays available.
  void rewind_one_step();
  /// The state that p follows.
  RNNPointer get_head(const RNNPointer& p) const;

  /// Sets the dropout rate, from the next sequence on. Throws UsageError unless 0 <= d < 1.
  virtual void set_dropout(float d);
  virtual void disable_dropout() { dropout_rate = 0; }

  /// The output of the last layer in state(). Throws UsageError before the first input, if there is
  /// no initial state.
  virtual Expression back() const = 0;
  /// The outputs of all layers after the last input that was read, and in state i. Empty before the
  /// first input, if there is no initial state.
  virtual std::vector<Expression> final_h() const = 0;
  virtual std::vector<Expression> get_h(RNNPointer i) const = 0;
  /// The same for whole states, in the order of h_0.
  virtual std::vector<Expression> final_s() const = 0;
  virtual std::vector<Expression> get_s(RNNPointer i) const = 0;
  virtual unsigned num_h0_components() const = 0;
  /// Copies the values of another builder's parameters. Throws UsageError unless it has the same
  /// type, layers and sizes.
  virtual void copy(const RNNBuilder& params) = 0;
  virtual ParameterCollection& get_parameter_collection() = 0;

 protected:
  RNNBuilder() = default;
  RNNBuilder(const RNNBuilder&) = default;
  RNNBuilder& operator=(const RNNBuilder&) = default;
  // A builder that was moved from has no layers, and refuses a graph.
  RNNBuilder(RNNBuilder&& other) noexcept { *this = std::move(other); }
  RNNBuilder& operator=(RNNBuilder&& other) noexcept;

  virtual void new_graph_impl(ComputationGraph& cg, bool update) = 0;
  virtual void start_new_sequence_impl(const std::vector<Expression>& h_0) = 0;
  virtual Expression add_input_impl(int prev, const Expression& x) = 0;
  virtual Expression set_h_impl(int prev, const std::vector<Expression>& h_new) = 0;
  virtual Expression set_s_impl(int prev, const std::vector<Expression>& s_new) = 0;

  /// Throws UsageError unless a sequence has begun and `prev` is one of its states, or -1.
  void check_can_follow(RNNPointer prev) const;
  /// Makes the state that was just added, after `prev`, the current one.
  void follow(RNNPointer prev);

  RNNPointer cur = -1;
  float dropout_rate = 0;

 private:
  enum class Phase { created, has_graph, reads, moved_from };

  Phase phase_ = Phase::created;
  std::vector<RNNPointer> heads_;  ///< by state, the state that it follows
};

namespace detail {

/// Throws UsageError unless 0 <= rate < 1. The message begins with `user`.
float checked_dropout_rate(const char* user, float rate);

/// Parameters by layer, as expressions; without `update`, as constants.
std::vector<std::vector<Expression>> in_graph(ComputationGraph& cg,
                                              const std::vector<std::vector<Parameter>>& params,
                                              bool update);
/// Copies values only. Throws UsageError unless there are as many parameters, with the same shapes.
void copy_values(const std::vector<std::vector<Parameter>>& from,
                 const std::vector<std::vector<Parameter>>& to);

/// A builder whose layers each have parameters and an output.
struct LayeredBuilder : RNNBuilder {
  Expression back() const override;
  std::vector<Expression> final_h() const override { return h.empty() ? h0 : h.back(); }
  std::vector<Expression> get_h(RNNPointer i) const override;
  void copy(const RNNBuilder& params) override;
  ParameterCollection& get_parameter_collection() override { return local_model; }

  ParameterCollection local_model;
  std::vector<std::vector<Parameter>> params;       ///< by layer
  std::vector<std::vector<Expression>> param_vars;  ///< params in the current graph
  std::vector<std::vector<Expression>> h;           ///< outputs by state and layer
  std::vector<Expression> h0;                       ///< by layer, or none
  unsigned layers = 0, input_dim = 0, hid = 0;

 protected:
  LayeredBuilder() = default;
  LayeredBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                 const ParameterCollection& own);

  void new_graph_impl(ComputationGraph& cg, bool update) override;
  void start_new_sequence_impl(const std::vector<Expression>& h_0) override;
  Expression set_h_impl(int prev, const std::vector<Expression>& h_new) override;

  /// Throws UsageError unless i is a state or -1.
  void check_state(RNNPointer i) const;
  void check_count(const char* what, std::size_t count, std::size_t need) const;
  bool has_state(int prev) const { return prev >= 0 || !h0.empty(); }
  /// The output in state `prev`, in the initial state, or zeros.
  Expression h_before(int prev, unsigned layer) const;
  /// {hid}
  Expression zero_state() const;
  /// The graph of new_graph. Throws UsageError if there is none, or it has been cleared.
  dynet_like::ComputationGraph& graph() const;
  unsigned inputs_of(unsigned layer) const { return layer == 0 ? input_dim : hid; }
};

/// A builder whose layers have no state other than their output.
struct OutputBuilder : LayeredBuilder {
  std::vector<Expression> final_s() const override { return final_h(); }
  std::vector<Expression> get_s(RNNPointer i) const override { return get_h(i); }
  unsigned num_h0_components() const override { return layers; }

 protected:
  using LayeredBuilder::LayeredBuilder;

  Expression add_input_impl(int prev, const Expression& x) override;
  Expression set_s_impl(int prev, const std::vector<Expression>& s_new) override {
    return set_h_impl(prev, s_new);
  }
  /// The output of a layer that reads x after state `prev`.
  virtual Expression step(unsigned layer, const Expression& x, int prev) = 0;
};

/// Dropout with the same mask over a whole sequence, of the inputs of all layers and of their
/// outputs where they read them again (Gal and Ghahramani 2016).
template <class Base>
struct VariationalDropout : Base {
  using Base::Base;

  void set_dropout(float d) override { set_dropout(d, d); }
  /// The rates for inputs and for outputs.
  void set_dropout(float d, float d_h) {
    Base::set_dropout(d);
    dropout_rate_h = checked_dropout_rate("set_dropout", d_h);
  }
  void disable_dropout() override { set_dropout(0); }
  /// Draws masks for the sequence that has just begun. If you do not call it, the first input draws
  /// them, with its number of minibatch elements.
  virtual void set_dropout_masks(unsigned batch_size = 1) {
    masks.clear();
    for (unsigned layer = 0; layer < this->layers; ++layer) {
      masks.push_back({mask(this->inputs_of(layer), this->dropout_rate, batch_size),
                       mask(this->hid, dropout_rate_h, batch_size)});
    }
    dropout_masks_valid = true;
  }

  std::vector<std::vector<Expression>> masks;  ///< by layer: for the input, for the output
  float dropout_rate_h = 0;
  bool dropout_masks_valid = false;

 protected:
  void start_new_sequence_impl(const std::vector<Expression>& h_0) override {
    Base::start_new_sequence_impl(h_0);
    dropout_masks_valid = false;
  }
  Expression add_input_impl(int prev, const Expression& x) override {
    prepare_masks(x);
    return Base::add_input_impl(prev, x);
  }
  virtual bool drops() const { return this->dropout_rate > 0 || dropout_rate_h > 0; }
  void prepare_masks(const Expression& x) {
    if (drops() && !dropout_masks_valid) set_dropout_masks(x.dim().bd);
  }
  Expression mask(unsigned size, float rate, unsigned batch_size) const {
    return random_bernoulli(this->graph(), Dim({size}, batch_size), 1 - rate, 1 / (1 - rate));
  }
  Expression dropped(const Expression& x, float rate, unsigned layer, unsigned which) const {
    return rate > 0 ? cmult(x, masks[layer][which]) : x;
  }
};

}  // namespace detail

/// h' = tanh(W x + U h + b) in every layer (Elman 1990). Parameters of a layer: x2h {hidden,
/// inputs}, h2h {hidden, hidden}, hb {hidden} and, with lags, l2h {hidden, hidden}.
struct SimpleRNNBuilder : detail::VariationalDropout<detail::OutputBuilder> {
  SimpleRNNBuilder() = default;
  explicit SimpleRNNBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                            ParameterCollection& model, bool support_lags = false);

  /// Reads x after state(), and adds L aux in all layers. Shapes: aux {hidden}. Throws UsageError
  /// without lags.
  Expression add_auxiliary_input(const Expression& x, const Expression& aux);

 protected:
  Expression step(unsigned layer, const Expression& x, int prev) override;

 private:
  std::vector<Expression> terms(unsigned layer, const Expression& x, int prev) const;
};

}  // namespace dynet
