// Common parts of builders: the order of calls, states, and parameters by layer.
#include "dynet/rnn.h"

#include <string>
#include <typeinfo>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet {

using dynet_like::UsageError;

RNNBuilder& RNNBuilder::operator=(RNNBuilder&& other) noexcept {
  cur = std::exchange(other.cur, -1);
  dropout_rate = other.dropout_rate;
  phase_ = std::exchange(other.phase_, Phase::moved_from);
  heads_ = std::move(other.heads_);
  return *this;
}

void RNNBuilder::new_graph(ComputationGraph& cg, bool update) {
  if (phase_ == Phase::moved_from) {
    throw UsageError("[new_graph] need a builder with layers; got one that was moved from");
  }
  new_graph_impl(cg, update);
  phase_ = Phase::has_graph;
}

void RNNBuilder::start_new_sequence(const std::vector<Expression>& h_0) {
  if (phase_ == Phase::created || phase_ == Phase::moved_from) {
    throw UsageError("[start_new_sequence] need new_graph first; got a builder without a graph");
  }
  start_new_sequence_impl(h_0);
  phase_ = Phase::reads;
  cur = -1;
  heads_.clear();
}

Expression RNNBuilder::set_h(const RNNPointer& prev, const std::vector<Expression>& h_new) {
  check_can_follow(prev);
  const Expression output = set_h_impl(prev, h_new);
  follow(prev);
  return output;
}

Expression RNNBuilder::set_s(const RNNPointer& prev, const std::vector<Expression>& s_new) {
  check_can_follow(prev);
  const Expression output = set_s_impl(prev, s_new);
  follow(prev);
  return output;
}

Expression RNNBuilder::add_input(const RNNPointer& prev, const Expression& x) {
  check_can_follow(prev);
  const Expression output = add_input_impl(prev, x);
  follow(prev);
  return output;
}

void RNNBuilder::rewind_one_step() { cur = get_head(cur); }

RNNPointer RNNBuilder::get_head(const RNNPointer& p) const {
  if (p < 0 || p >= static_cast<int>(heads_.size())) {
    throw UsageError("[get_head] need a state of the " + std::to_string(heads_.size()) +
                     " after inputs; got " + std::to_string(p));
  }
  return heads_[static_cast<std::size_t>(p)];
}

void RNNBuilder::set_dropout(float d) {
  dropout_rate = detail::checked_dropout_rate("set_dropout", d);
}

void RNNBuilder::check_can_follow(RNNPointer prev) const {
  if (phase_ != Phase::reads) {
    throw UsageError("[add_input] need new_graph and start_new_sequence first; got a builder " +
                     std::string(phase_ == Phase::has_graph ? "that has not begun a sequence"
                                                            : "without a graph"));
  }
  if (prev < -1 || prev >= static_cast<int>(heads_.size())) {
    throw UsageError("[add_input] need -1 or one of " +
                     dynet_like::detail::counted(heads_.size(), "state") + "; got " +
                     std::to_string(prev));
  }
}

// `prev` is a copy, since the caller may pass `cur` itself.
void RNNBuilder::follow(RNNPointer prev) {
  heads_.push_back(prev);
  cur = static_cast<RNNPointer>(heads_.size()) - 1;
}

namespace detail {

float checked_dropout_rate(const char* user, float rate) {
  if (!(rate >= 0 && rate < 1)) {
    throw UsageError("[" + std::string(user) + "] need a rate of at least 0 and below 1; got " +
                     std::to_string(rate));
  }
  return rate;
}

std::vector<std::vector<Expression>> in_graph(ComputationGraph& cg,
                                              const std::vector<std::vector<Parameter>>& params,
                                              bool update) {
  std::vector<std::vector<Expression>> result;
  for (const std::vector<Parameter>& of_layer : params) {
    result.emplace_back();
    for (const Parameter& p : of_layer) {
      result.back().push_back(update ? parameter(cg, p) : const_parameter(cg, p));
    }
  }
  return result;
}

namespace {

std::string shapes_of(const std::vector<std::vector<Parameter>>& params) {
  std::string shapes = dynet_like::detail::counted(params.size(), "layer");
  for (const std::vector<Parameter>& of_layer : params) {
    for (const Parameter& p : of_layer) shapes += " " + to_string(p.dim());
  }
  return shapes;
}

}  // namespace

void copy_values(const std::vector<std::vector<Parameter>>& from,
                 const std::vector<std::vector<Parameter>>& to) {
  if (shapes_of(from) != shapes_of(to)) {
    throw UsageError("[copy] need " + shapes_of(to) + "; got " + shapes_of(from));
  }
  for (std::size_t layer = 0; layer < to.size(); ++layer) {
    for (std::size_t i = 0; i < to[layer].size(); ++i) {
      const dynet_like::Parameter& source = from[layer][i];  // its memory is not handed out
      to[layer][i].set_value(as_vector(source.get_storage().tensor()));
    }
  }
}

LayeredBuilder::LayeredBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_size,
                               const ParameterCollection& own)
    : local_model(own), layers(layer_count), input_dim(input_size), hid(hidden_size) {}

Expression LayeredBuilder::back() const {
  const std::vector<Expression> outputs = get_h(cur);
  if (outputs.empty()) {
    throw UsageError("[back] need an input or an initial state first; got neither");
  }
  return outputs.back();
}

std::vector<Expression> LayeredBuilder::get_h(RNNPointer i) const {
  check_state(i);
  return i < 0 ? h0 : h[static_cast<std::size_t>(i)];
}

void LayeredBuilder::copy(const RNNBuilder& other) {
  if (typeid(*this) != typeid(other)) {
    throw UsageError("[copy] need a builder of the same type; got another");
  }
  copy_values(static_cast<const LayeredBuilder&>(other).params, params);
}

void LayeredBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  if (layers == 0) throw UsageError("[new_graph] need a builder with layers; got an empty one");
  param_vars = in_graph(cg, params, update);
}

void LayeredBuilder::start_new_sequence_impl(const std::vector<Expression>& h_0) {
  if (!h_0.empty()) check_count("initial state", h_0.size(), layers);
  h.clear();
  h0 = h_0;
}

Expression OutputBuilder::add_input_impl(int prev, const Expression& x) {
  std::vector<Expression> outputs;
  for (unsigned layer = 0; layer < layers; ++layer) {
    outputs.push_back(step(layer, layer == 0 ? x : outputs.back(), prev));
  }
  h.push_back(std::move(outputs));
  return h.back().back();
}

Expression LayeredBuilder::set_h_impl(int prev, const std::vector<Expression>& h_new) {
  if (!h_new.empty()) check_count("output", h_new.size(), layers);
  std::vector<Expression> outputs = h_new;
  for (unsigned layer = 0; h_new.empty() && layer < layers; ++layer) {
    outputs.push_back(h_before(prev, layer));
  }
  h.push_back(std::move(outputs));
  return h.back().back();
}

void LayeredBuilder::check_state(RNNPointer i) const {
  if (i >= -1 && i < static_cast<int>(h.size())) return;
  throw UsageError("[RNNBuilder] need -1 or one of " +
                   dynet_like::detail::counted(h.size(), "state") + "; got " + std::to_string(i));
}

void LayeredBuilder::check_count(const char* what, std::size_t count, std::size_t need) const {
  if (count == need) return;
  throw UsageError("[RNNBuilder] need " + dynet_like::detail::counted(need, what) + " for " +
                   dynet_like::detail::counted(layers, "layer") + "; got " + std::to_string(count));
}

Expression LayeredBuilder::h_before(int prev, unsigned layer) const {
  if (prev >= 0) return h[static_cast<std::size_t>(prev)][layer];
  return h0.empty() ? zero_state() : h0[layer];
}

Expression LayeredBuilder::zero_state() const { return zeros(graph(), {hid}); }

dynet_like::ComputationGraph& LayeredBuilder::graph() const {
  if (param_vars.empty()) throw UsageError("[RNNBuilder] need new_graph first; got no graph");
  return param_vars.front().front().graph("RNNBuilder");
}

}  // namespace detail
}  // namespace dynet
