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

template <class Builder, auto... more>
SequenceBuilder entry(std::string name, std::string own_name, Strings shapes,
                      SequenceBuilder::Cell cell) {
  BuilderPointer (*empty)() = nullptr;
  if constexpr (std::is_default_constructible_v<Builder>) empty = make_empty<Builder>;
  return {std::move(name),
          make<Builder, more...>,
          make<Derived<Builder>, more...>,
          empty,
          std::move(own_name),
          std::move(shapes),
          cell};
}

// ---------------------------------------------------------------------------- plain formulas

PlainState simple(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                  const PlainState& before, unsigned) {
  const std::vector<Parameter>& p = builder.params[layer];
  return {plain_tanh(plain_affine(p[2], {{p[0], x}, {p[1], before.h}})), {}};
}

PlainState gru(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
               const PlainState& before, unsigned) {
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
                   const PlainState& before, unsigned) {
  return plain_vanilla_cell(builder.params[layer], x, before, forget_bias);
}

/// The gains and biases of a normalisation, and what it makes of x.
Doubles plain_layer_norm(const Doubles& x, const Parameter& gain, const Parameter& bias) {
  double mean = 0, variance = 0;
  for (const double e : x) mean += e / static_cast<double>(x.size());
  for (const double e : x) variance += (e - mean) * (e - mean) / static_cast<double>(x.size());
  const Doubles normal = each([&](double e) { return (e - mean) / std::sqrt(variance); }, x);
  return numbers(gain) * normal + numbers(bias);
}

Doubles plain_product(const Parameter& w, const Doubles& x) {
  Doubles y(w.dim().rows());
  dynet_like::nn::add_product(y, numbers(w), x);
  return y;
}

// Without a state before it, the first step has no term of one.
PlainState normalised(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                      const PlainState& before, unsigned step) {
  const auto& lstm = static_cast<const VanillaLSTMBuilder&>(builder);
  const std::vector<Parameter>&p = lstm.params[layer], &ln = lstm.ln_params[layer];
  Doubles sums = numbers(p[2]) + plain_layer_norm(plain_product(p[0], x), ln[2], ln[3]);
  if (step > 0) sums = sums + plain_layer_norm(plain_product(p[1], before.h), ln[0], ln[1]);
  const PlainGates gates(sums, before.c, static_cast<double>(lstm.forget_bias));
  return {gates.o * plain_tanh(plain_layer_norm(gates.c, ln[4], ln[5])), gates.c};
}

PlainState coupled(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                   const PlainState& before, unsigned) {
  return plain_coupled_cell(builder.params[layer], x, before);
}
// Without the peepholes that it has.
PlainState fast(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                const PlainState& before, unsigned) {
  return plain_coupled_cell(builder.params[layer], x, before, {false, false});
}
PlainState deep(const LayeredBuilder& builder, unsigned layer, const Doubles& x,
                const PlainState& before, unsigned step) {
  return plain_coupled_cell(builder.params[layer], x, before, {true, step > 0});
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

PlainState plain_vanilla_cell(const std::vector<Parameter>& p, const Doubles& x,
                              const PlainState& before, double forget_bias) {
  const PlainGates gates(plain_affine(p[2], {{p[0], x}, {p[1], before.h}}), before.c, forget_bias);
  return {gates.o * plain_tanh(gates.c), gates.c};
}

const std::vector<SequenceBuilder>& sequence_builders() {
  static const std::vector<SequenceBuilder> all = all_builders();
  return all;
}

}  // namespace dynet
