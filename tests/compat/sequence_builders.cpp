// The list of builders of sequences, and their formulas.
#include "tests/compat/sequence_builders.h"

#include <dynet/deep-lstm.h>
#include <dynet/fast-lstm.h>
#include <dynet/gru.h>
#include <dynet/lstm.h>

namespace dynet {

namespace {

using detail::LayeredBuilder;
using Strings = std::vector<std::string>;

template <class Builder>
struct Derived : Builder {
  using Builder::Builder;
};

template <class Builder, auto... more>
BuilderPointer make(unsigned layers, unsigned inputs, unsigned hidden, ParameterCollection& model) {
  return std::make_unique<Builder>(layers, inputs, hidden, model, more...);
}
template <class Builder>
BuilderPointer make_empty() {
  return std::make_unique<Builder>();
}

template <class Builder>
const Masks& masks_of(RNNBuilder& any, float of_inputs, float of_outputs, unsigned batch_size) {
  auto& builder = static_cast<Builder&>(any);
  if constexpr (requires { builder.dropout_rate_c; }) {
    builder.set_dropout(of_inputs, of_outputs, of_outputs);
  } else {
    builder.set_dropout(of_inputs, of_outputs);
  }
  if (batch_size > 0) builder.set_dropout_masks(batch_size);
  return builder.masks;
}

template <class Builder, auto... more>
SequenceBuilder entry(std::string name, std::string own_name, Strings shapes,
                      SequenceBuilder::Cell cell) {
  BuilderPointer (*empty)() = nullptr;
  if constexpr (std::is_default_constructible_v<Builder>) empty = make_empty<Builder>;
  SequenceBuilder result = {std::move(name),
                            make<Builder, more...>,
                            make<Derived<Builder>, more...>,
                            empty,
                            std::move(own_name),
                            std::move(shapes),
                            cell};
  if constexpr (requires(Builder builder) { builder.masks; }) result.masks = masks_of<Builder>;
  return result;
}

// ---------------------------------------------------------------------------- plain formulas

PlainState simple(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                  const PlainState& before, const Step&) {
  const std::vector<Parameter>& p = builder.params[layer];
  return {plain_tanh(plain_affine(p[2], {{p[0], x}, {p[1], before.h}})), {}};
}

PlainState gru(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
               const PlainState& before, const Step&) {
  const std::vector<Parameter>& p = builder.params[layer];
  const Doubles z = plain_logistic(plain_affine(p[2], {{p[0], x}, {p[1], before.h}}));
  const Doubles r = plain_logistic(plain_affine(p[5], {{p[3], x}, {p[4], before.h}}));
  const Doubles reset = r * before.h;
  const Doubles n = plain_tanh(plain_affine(p[8], {{p[6], x}, {p[7], reset}}));
  return {one_minus(z) * before.h + z * n, {}};
}

/// The gates from the sums, and the new cell.
struct PlainGates {
  PlainGates(const Doubles& sums, const Doubles& c_before, double forget_bias) {
    const std::size_t n = c_before.size();
    const Doubles f = plain_logistic(forget_bias + rows(sums, n, 2 * n));
    o = plain_logistic(rows(sums, 2 * n, 3 * n));
    c = f * c_before + plain_logistic(rows(sums, 0, n)) * plain_tanh(rows(sums, 3 * n, 4 * n));
  }
  Doubles o, c;
};

template <int forget_bias>
PlainState vanilla(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                   const PlainState& before, const Step&) {
  const std::vector<Parameter>& p = builder.params[layer];
  const PlainGates gates(plain_affine(p[2], {{p[0], x}, {p[1], before.h}}), before.c, forget_bias);
  return {gates.o * plain_tanh(gates.c), gates.c};
}

/// The gains and biases of a normalisation, and what it makes of x.
Doubles plain_layer_norm(const Doubles& x, const Parameter& gain, const Parameter& bias) {
  double mean = 0, variance = 0;
  for (const double e : x) mean += e / static_cast<double>(x.size());
  for (const double e : x) variance += (e - mean) * (e - mean) / static_cast<double>(x.size());
  // Behind masks all sums may be 0.
  const Doubles normal =
      each([&](double e) { return variance == 0 ? 0 : (e - mean) / std::sqrt(variance); }, x);
  return numbers(gain) * normal + numbers(bias);
}

Doubles plain_product(const Parameter& w, const Doubles& x) {
  Doubles y(w.dim().rows());
  dynet_like::nn::add_product(y, numbers(w), x);
  return y;
}

// Without a state before it, the first step has no term of one.
PlainState normalised(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                      const PlainState& before, const Step& step) {
  const auto& lstm = static_cast<const VanillaLSTMBuilder&>(builder);
  const std::vector<Parameter>&p = lstm.params[layer], &ln = lstm.ln_params[layer];
  Doubles sums = numbers(p[2]) + plain_layer_norm(plain_product(p[0], x), ln[2], ln[3]);
  if (step.number > 0) sums = sums + plain_layer_norm(plain_product(p[1], before.h), ln[0], ln[1]);
  const PlainGates gates(sums, before.c, static_cast<double>(lstm.forget_bias));
  return {gates.o * plain_tanh(plain_layer_norm(gates.c, ln[4], ln[5])), gates.c};
}

/// Which gates see cells.
struct Seen {
  bool by_input_gate = true, by_output_gate = true;
};

/// p: X_i, H_i, C_i, b_i, X_o, H_o, C_o, b_o, X_c, H_c, b_c.
PlainState coupled_cell(const std::vector<Parameter>& p, const Doubles& x, const PlainState& before,
                        const Step& step, Seen seen) {
  const auto masked = [&](const Doubles& c) {
    return step.cell_mask.empty() ? c : c * step.cell_mask;
  };
  Doubles i = plain_affine(p[3], {{p[0], x}, {p[1], before.h}});
  if (seen.by_input_gate) dynet_like::nn::add_product(i, numbers(p[2]), masked(before.c));
  i = plain_logistic(i);
  const Doubles candidate = plain_tanh(plain_affine(p[10], {{p[8], x}, {p[9], before.h}}));
  const Doubles c = one_minus(i) * before.c + i * candidate;
  Doubles o = plain_affine(p[7], {{p[4], x}, {p[5], before.h}});
  if (seen.by_output_gate) dynet_like::nn::add_product(o, numbers(p[6]), masked(c));
  return {plain_logistic(o) * plain_tanh(c), c};
}

PlainState coupled(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                   const PlainState& before, const Step& step) {
  return coupled_cell(builder.params[layer], x, before, step, {});
}
// Without the peepholes that it has.
PlainState fast(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                const PlainState& before, const Step& step) {
  return coupled_cell(builder.params[layer], x, before, step, {false, false});
}
PlainState deep(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                const PlainState& before, const Step& step) {
  return coupled_cell(builder.params[layer], x, before, step, {true, step.number > 0});
}

Strings operator+(Strings a, const Strings& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<SequenceBuilder> all_builders() {
  const Strings map = {"{4,x}", "{4,4}", "{4}"}, gates = {"{16,x}", "{16,4}", "{16}"};
  const Strings norms = {"{16}", "{16}", "{16}", "{16}", "{4}", "{4}"};
  const Strings masked = {"{16,x}", "{16,4}", "{16,x}", "{16,4}", "{16}"};
  const auto coupled_shapes = [](const std::string& peephole) {
    const Strings gate = {"{4,x}", "{4,4}", peephole, "{4}"};
    return gate + gate + Strings{"{4,x}", "{4,4}", "{4}"};
  };
  const std::string vanilla_name = "vanilla-lstm-builder";
  std::vector<SequenceBuilder> all = {
      entry<SimpleRNNBuilder>("simple", "simple-rnn-builder", map, simple),
      entry<SimpleRNNBuilder, true>("lagging", "simple-rnn-builder", map + Strings{"{4,4}"},
                                    simple),
      entry<GRUBuilder>("gru", "gru-builder", map + map + map, gru),
      entry<VanillaLSTMBuilder>("vanilla", vanilla_name, gates, vanilla<1>),
      entry<VanillaLSTMBuilder, false, -2>("vanilla_that_forgets", vanilla_name, gates,
                                           vanilla<-2>),
      entry<VanillaLSTMBuilder, false, 0>("vanilla_without_bias", vanilla_name, gates, vanilla<0>),
      entry<VanillaLSTMBuilder, true>("normalised", vanilla_name, gates + norms, normalised),
      entry<SparseLSTMBuilder>("sparse", vanilla_name, masked, vanilla<1>),
      entry<SparseLSTMBuilder, true, 2>("sparse_normalised", vanilla_name, masked + norms,
                                        normalised),
      entry<CompactVanillaLSTMBuilder>("compact", "compact-" + vanilla_name, gates, vanilla<1>),
      entry<CoupledLSTMBuilder>("coupled", "lstm-builder", coupled_shapes("{4,4}"), coupled),
      entry<FastLSTMBuilder>("fast", "fast-lstm-builder", coupled_shapes("{4,1}"), fast),
      entry<DeepLSTMBuilder>("deep", "deep-lstm-builder", coupled_shapes("{4,4}"), deep)};
  for (SequenceBuilder& each : all) {
    if (each.name == "lagging") each.unread = {3};
    if (each.name == "fast") each.unread = {2, 6};
    each.is_deep = each.name == "deep";
  }
  return all;
}

}  // namespace

const std::vector<SequenceBuilder>& sequence_builders() {
  static const std::vector<SequenceBuilder> all = all_builders();
  return all;
}

}  // namespace dynet
