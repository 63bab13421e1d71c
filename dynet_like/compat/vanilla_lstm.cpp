// VanillaLSTMBuilder and the builders with the same formula: one node per step and layer.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "dynet/lstm.h"
#include "dynet_like/core/errors.h"

namespace dynet {

using detail::CellState;
using dynet_like::UsageError;

namespace {

enum { X2GATES, H2GATES, B_GATES, X_MASK, H_MASK };
enum { LN_GH, LN_BH, LN_GX, LN_BX, LN_GC, LN_BC };

std::vector<Parameter> add_weights(ParameterCollection& own, unsigned inputs, unsigned hidden) {
  return {own.add_parameters({4 * hidden, inputs}), own.add_parameters({4 * hidden, hidden}),
          own.add_parameters({4 * hidden}, ParameterInitConst(0))};
}

std::vector<Parameter> add_normalisation(ParameterCollection& own, unsigned hidden) {
  std::vector<Parameter> all;
  for (const unsigned size : {4 * hidden, 4 * hidden, hidden}) {
    all.push_back(own.add_parameters({size}, ParameterInitConst(1)));
    all.push_back(own.add_parameters({size}, ParameterInitConst(0)));
  }
  return all;
}

// Depends on parameters alone, so it is computed once for all steps.
Expression with_forget_bias(const Expression& bias, unsigned hidden, float forget_bias) {
  if (forget_bias == 0) return bias;
  return concatenate({pick_range(bias, 0, hidden),
                      pick_range(bias, hidden, 2 * hidden) + forget_bias,
                      pick_range(bias, 2 * hidden, 4 * hidden)});
}

}  // namespace

VanillaLSTMBuilder::VanillaLSTMBuilder(unsigned layer_count, unsigned input_size,
                                       unsigned hidden_size, ParameterCollection& model,
                                       bool normalise, float bias)
    : VanillaLSTMBuilder(layer_count, input_size, hidden_size,
                         model.add_subcollection("vanilla-lstm-builder"), normalise, bias) {
  for (unsigned layer = 0; layer < layers; ++layer) {
    params.push_back(add_weights(local_model, inputs_of(layer), hid));
    if (ln_lstm) ln_params.push_back(add_normalisation(local_model, hid));
  }
}

VanillaLSTMBuilder::VanillaLSTMBuilder(unsigned layer_count, unsigned input_size,
                                       unsigned hidden_size, const ParameterCollection& own,
                                       bool normalise, float bias)
    : VariationalDropout(layer_count, input_size, hidden_size, own),
      ln_lstm(normalise),
      forget_bias(bias) {}

void VanillaLSTMBuilder::copy(const RNNBuilder& other) {
  VariationalDropout::copy(other);
  detail::copy_values(static_cast<const VanillaLSTMBuilder&>(other).ln_params, ln_params);
}

void VanillaLSTMBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  VariationalDropout::new_graph_impl(cg, update);
  ln_param_vars = detail::in_graph(cg, ln_params, update);
  biases_.clear();
  for (const std::vector<Expression>& w : param_vars) {
    biases_.push_back(with_forget_bias(w[B_GATES], hid, forget_bias));
  }
}

CellState VanillaLSTMBuilder::cell(unsigned layer, const Expression& input, int prev) {
  const std::vector<Expression>& w = param_vars[layer];
  const Expression x = dropped(input, dropout_rate, layer, 0);
  Expression output = h_before(prev, layer);
  if (has_state(prev)) output = dropped(output, dropout_rate_h, layer, 1);
  if (ln_lstm) return normalised_cell(layer, x, output, prev);
  const Expression xs[] = {w[X2GATES], x, w[H2GATES], output}, cells[] = {c_before(prev, layer)};
  return lstm_cell(biases_[layer], xs, cells, true);
}

CellState VanillaLSTMBuilder::normalised_cell(unsigned layer, const Expression& x,
                                              const Expression& output, int prev) const {
  const std::vector<Expression>&w = param_vars[layer], &ln = ln_param_vars[layer];
  Expression sums = biases_[layer] + layer_norm(w[X2GATES] * x, ln[LN_GX], ln[LN_BX]);
  if (has_state(prev)) sums = sums + layer_norm(w[H2GATES] * output, ln[LN_GH], ln[LN_BH]);
  const Expression gates = logistic(pick_range(sums, 0, 3 * hid));
  const auto gate = [&](unsigned block) {
    return pick_range(gates, block * hid, (block + 1) * hid);
  };
  Expression c_new = cmult(gate(0), tanh(pick_range(sums, 3 * hid, 4 * hid)));
  if (has_state(prev)) c_new = cmult(gate(1), c_before(prev, layer)) + c_new;
  return {cmult(gate(2), tanh(layer_norm(c_new, ln[LN_GC], ln[LN_BC]))), c_new};
}

SparseLSTMBuilder::SparseLSTMBuilder(unsigned layer_count, unsigned input_size,
                                     unsigned hidden_size, ParameterCollection& model,
                                     bool normalise, float bias)
    : VanillaLSTMBuilder(layer_count, input_size, hidden_size,
                         model.add_subcollection("vanilla-lstm-builder"), normalise, bias) {
  for (unsigned layer = 0; layer < layers; ++layer) {
    const Dim inputs = {4 * hid, inputs_of(layer)}, outputs = {4 * hid, hid};
    const Parameter x2i = local_model.add_parameters(inputs);
    const Parameter h2i = local_model.add_parameters(outputs);
    const Parameter x2i_mask = local_model.add_parameters(inputs, ParameterInitConst(1));
    const Parameter h2i_mask = local_model.add_parameters(outputs, ParameterInitConst(1));
    const Parameter gate_biases = local_model.add_parameters({4 * hid}, ParameterInitConst(0));
    for (const Parameter& mask : {x2i_mask, h2i_mask}) mask.set_updated(false);
    params.push_back({x2i, h2i, gate_biases, x2i_mask, h2i_mask});
    if (ln_lstm) ln_params.push_back(add_normalisation(local_model, hid));
  }
}

namespace {

// 0 for this share of the numbers, the smallest ones (of equal numbers the first), 1 for the
// others.
std::vector<float> mask_of(const std::vector<float>& sizes, float share) {
  const auto zeros = static_cast<std::size_t>(static_cast<float>(sizes.size()) * share);
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
  std::vector<float> mask(sizes.size(), 1.0f);
  for (std::size_t i = 0; i < zeros; ++i) mask[order[i]] = 0;
  return mask;
}

}  // namespace

void SparseLSTMBuilder::set_sparsity(float percent) {
  if (!(percent >= 0 && percent <= 1)) {
    throw UsageError("[set_sparsity] need a share from 0 to 1; got " + std::to_string(percent));
  }
  std::vector<float> sizes;  // of all weights, one matrix after the other
  for (const std::vector<Parameter>& all : params) {
    for (const unsigned i : {X2GATES, H2GATES}) {
      const dynet_like::Parameter& weights = all[i];
      for (const float w : as_vector(weights.get_storage().tensor())) sizes.push_back(std::abs(w));
    }
  }
  const std::vector<float> mask = mask_of(sizes, percent);
  auto at = mask.begin();
  for (const std::vector<Parameter>& all : params) {
    for (const unsigned i : {X_MASK, H_MASK}) {
      const auto end = at + static_cast<std::ptrdiff_t>(all[i].dim().size());
      all[i].set_value({at, end});
      at = end;
    }
  }
}

void SparseLSTMBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  VanillaLSTMBuilder::new_graph_impl(cg, update);
  for (unsigned layer = 0; layer < layers; ++layer) {
    std::vector<Expression>& w = param_vars[layer];
    for (const unsigned i : {X2GATES, H2GATES}) {
      Expression& mask = w[i + X_MASK];
      mask = const_parameter(cg, params[layer][i + X_MASK]);
      w[i] = cmult(w[i], mask);
    }
  }
}

CompactVanillaLSTMBuilder::CompactVanillaLSTMBuilder(unsigned layer_count, unsigned input_size,
                                                     unsigned hidden_size,
                                                     ParameterCollection& model)
    : VariationalDropout(layer_count, input_size, hidden_size,
                         model.add_subcollection("compact-vanilla-lstm-builder")) {
  for (unsigned layer = 0; layer < layers; ++layer) {
    params.push_back(add_weights(local_model, inputs_of(layer), hid));
  }
}

void CompactVanillaLSTMBuilder::set_weightnoise(float std) {
  if (!(std >= 0)) {
    throw UsageError("[set_weightnoise] need a deviation of at least 0; got " +
                     std::to_string(std));
  }
  weightnoise_std = std;
}

void CompactVanillaLSTMBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  VariationalDropout::new_graph_impl(cg, update);
  biases_.clear();
  for (const std::vector<Expression>& w : param_vars) {
    biases_.push_back(with_forget_bias(w[B_GATES], hid, 1));
  }
}

CellState CompactVanillaLSTMBuilder::cell(unsigned layer, const Expression& input, int prev) {
  const std::vector<Expression>& w = param_vars[layer];
  const auto noisy = [&](const Expression& weights) {
    return weightnoise_std > 0 ? noise(weights, weightnoise_std) : weights;
  };
  Expression output = h_before(prev, layer);
  if (has_state(prev)) output = dropped(output, dropout_rate_h, layer, 1);
  const Expression xs[] = {noisy(w[X2GATES]), dropped(input, dropout_rate, layer, 0),
                           noisy(w[H2GATES]), output};
  const Expression cells[] = {c_before(prev, layer)};
  return lstm_cell(noisy(biases_[layer]), xs, cells, true);
}

}  // namespace dynet
