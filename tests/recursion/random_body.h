// Random functions of vertices for tests: a pure function of a seed.
#pragma once

#include <array>
#include <random>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::testing {

using State = std::array<Expression, 2>;
using Dice = std::mt19937_64;

constexpr unsigned kSize = 6, kWords = 9;

inline unsigned roll(Dice& dice, unsigned sides) { return static_cast<unsigned>(dice() % sides); }

inline Dim random_shape(Dice& dice) {
  static const std::array shapes{Dim({6}), Dim({2, 3}), Dim({3, 2}), Dim({6, 1}), Dim({1, 6})};
  return shapes[roll(dice, shapes.size())];
}

inline Expression vector_of(const Expression& x) { return reshape(x, Dim({kSize})); }

struct Model {
  explicit Model(DType dtype) : collection(5, dtype) {
    words = collection.add_lookup_parameters(kWords, {kSize});
    for (unsigned i = 0; i < 3; ++i) {
      square.push_back(collection.add_parameters({kSize, kSize}));
      bias.push_back(collection.add_parameters({kSize}, ParameterInitUniform(-1, 1)));
    }
    twos = collection.add_parameters({2, 2});
    threes = collection.add_parameters({3, 3});
  }

  std::vector<float> all(const Gradients& gradients) const {
    std::vector<float> numbers;
    for (const auto& storage : collection.storages()) {
      std::vector<float> values = gradients.all_values(*storage);
      values.resize(storage->dim.size());  // of what nothing depends on there may be none
      numbers.insert(numbers.end(), values.begin(), values.end());
    }
    return numbers;
  }

  ParameterCollection collection;
  LookupParameter words;
  std::vector<Parameter> square, bias;
  Parameter twos, threes;
};

/// What a vertex of one kind does: new values of those that there are, each read in shapes that
/// differ from reader to reader; some by halves, some in one half alone.
class Body {
 public:
  /// `overlap`: states may have elements in common.
  Body(const Model& model, std::uint64_t seed, bool noise, bool overlap = true)
      : model_(model), seed_(seed), noise_(noise), overlap_(overlap) {}

  State operator()(unsigned kind, const Expression& x, const std::vector<State>& before,
                   const Dim& first, const Dim& second) const {
    Dice dice(seed_ + 77 * kind);
    Values values;
    const auto add = [&](const Expression& e) {
      values.push_back({e, std::max(roll(dice, 5), 2u) - 2});
    };
    if (!x.empty()) add(x);
    for (const State& state : before) {
      for (const Expression& part : state) add(part);
    }
    const unsigned steps = 2 + roll(dice, 10);
    for (unsigned step = 0; step < steps; ++step) add(operation(values, dice));
    return results(values, dice, first, second);
  }

 private:
  /// Used as a whole, by halves, or its first half alone.
  struct Part {
    Expression e;
    unsigned use;
  };
  using Values = std::vector<Part>;

  static Expression half(const Part& part, unsigned which, Dice& dice) {
    static const std::array shapes{Dim({3}), Dim({1, 3}), Dim({3, 1})};
    const Expression h = pick_range(vector_of(part.e), 3 * which, 3 * which + 3);
    const Expression read = reshape(h, shapes[roll(dice, 3)]);
    return reshape(roll(dice, 2) == 0 ? tanh(read) : read * 0.5f, Dim({3}));
  }
  static Expression read(const Part& part, Dice& dice) {
    if (part.use == 0) return part.e;
    const Expression first = half(part, 0, dice);
    return concatenate({first, half(part, part.use == 1, dice)});
  }
  /// Now and then as a constant.
  static Expression read(ComputationGraph& graph, const Parameter& p, Dice& dice) {
    const unsigned how = roll(dice, 8);
    if (how == 0) return const_parameter(graph, p);
    return how == 1 ? nobackprop(parameter(graph, p)) : parameter(graph, p);
  }
  static Expression any(const Values& values, Dice& dice) {
    return read(values[roll(dice, static_cast<unsigned>(values.size()))], dice);
  }
  static Expression any(const Values& values, Dice& dice, const Dim& shape) {
    return reshape(any(values, dice), shape);
  }

  Expression operation(const Values& values, Dice& dice) const {
    ComputationGraph& graph = *values[0].e.pg;
    const Dim all({kSize}), wide({2, 3}), high({3, 2}), shape = random_shape(dice);
    const auto matrix = [&] { return read(graph, model_.square[roll(dice, 3)], dice); };
    const auto bias = [&] { return read(graph, model_.bias[roll(dice, 3)], dice); };
    switch (roll(dice, noise_ ? 17 : 15)) {
      case 0:
        return matrix() * any(values, dice, all);
      case 1: {
        const Expression w = matrix(), u = matrix(), a = any(values, dice, all);
        return affine_transform({bias(), w, a, u, any(values, dice, all)});
      }
      case 2:
        return parameter(graph, model_.twos) * any(values, dice, wide);
      case 3:
        return parameter(graph, model_.threes) * any(values, dice, high);
      case 4: {  // the same argument on both sides, perhaps
        const Expression a = any(values, dice), b = roll(dice, 2) == 0 ? a : any(values, dice);
        const Expression four = reshape(reshape(a, wide) * reshape(b, high), Dim({4}));
        return concatenate({tanh(four), pick_range(tanh(four), 1, 3)});
      }
      case 5: {
        const Expression a = any(values, dice);
        const Expression dot = reshape(a, Dim({1, kSize})) * vector_of(a);
        return tanh(bias() * reshape(dot, Dim({1})));
      }
      case 6:
        return softmax(any(values, dice, shape));
      case 7:
        return transpose(any(values, dice, wide));
      case 8: {
        const Expression a = any(values, dice, shape);
        return cmult(sigmoid(a), reshape(nobackprop(any(values, dice)), shape));
      }
      case 9: {
        const Expression a = any(values, dice, shape);
        return max(a, any(values, dice, shape));
      }
      case 10: {
        const Expression a = any(values, dice, shape);
        return a + any(values, dice, shape);
      }
      case 11: {
        const Expression a = any(values, dice, shape);
        return cmult(a, any(values, dice, shape));
      }
      case 12:
        return tanh(any(values, dice, shape));
      case 13:
        return layer_norm(any(values, dice, all), bias(), bias());
      case 14:
        return any(values, dice, shape) * 0.75f;
      default: {  // in inference it is the argument itself, which may be read in other parts
        const Expression a = any(values, dice, shape), dropped = dropout(a, 0.3f);
        return dropped.i == a.i ? a * 1.0f : dropped;
      }
    }
  }

  /// Values, parts of one value that may overlap, and, where nothing is compared with direct calls,
  /// whose results are not values of their own then, arguments as they are.
  State results(const Values& values, Dice& dice, const Dim& first, const Dim& second) const {
    const Expression a = any(values, dice), b = read(values.back(), dice);
    switch (overlap_ ? roll(dice, 4) : 3) {
      case 0: {
        const Expression both = concatenate({vector_of(tanh(a)), vector_of(b)});
        const unsigned begin = 2 * roll(dice, 4);
        return {reshape(pick_range(both, 0, kSize), first),
                reshape(pick_range(both, begin, begin + kSize), second)};
      }
      case 1:
        return {reshape(noise_ ? a : tanh(a), first), reshape(tanh(b), second)};
      case 2: {
        const Expression c = tanh(b);
        return {reshape(c, first), reshape(c, second)};
      }
      default:
        return {reshape(tanh(b), first), reshape(tanh(a), second)};
    }
  }

  const Model& model_;
  std::uint64_t seed_;
  bool noise_, overlap_;
};

}  // namespace dynet_like::testing
