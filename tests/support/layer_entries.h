// How entries of the list of layers are made: objects of a class, calls, and what these read.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nn/nn.h"
#include "tests/support/layer_cases.h"

namespace dynet_like::nn::layer_entries {

using Model = ParameterCollection;
using Rows = std::vector<std::uint32_t>;

template <class Layer>
std::shared_ptr<Layer> object_of(Layer layer, Origin origin) {
  const auto shared = [](Layer of) { return std::make_shared<Layer>(std::move(of)); };
  if (origin == Origin::constructed) return shared(std::move(layer));
  if (origin == Origin::by_default) {
    if constexpr (std::is_default_constructible_v<Layer>) return shared(Layer());
    return nullptr;
  }
  if (origin == Origin::copied) {
    const auto copy = shared(layer);
    [[maybe_unused]] const Layer gone = std::move(layer);
    return copy;
  }
  const auto original = shared(std::move(layer));
  Layer taken = std::move(*original);
  if (origin == Origin::moved) return shared(std::move(taken));
  if (origin == Origin::assigned) *original = std::move(taken);
  return original;
}

/// `make` gives an object of the class, `use` calls it in all ways and lists the results.
template <class Make, class Use>
LayerCase entry(std::string name, unsigned rows, std::vector<Dim> dims, const Make& make,
                const Use& use) {
  return {std::move(name), rows, std::move(dims), [=](Model& model, Origin origin) -> UseLayer {
            const auto layer = object_of(make(model), origin);
            if (layer == nullptr) return nullptr;
            return [=](const Expression& columns) { return use(*layer, columns); };
          }};
}

/// A function without parameters.
template <class Use>
LayerCase function(std::string name, unsigned rows, std::vector<Dim> dims, const Use& use) {
  return {std::move(name), rows, std::move(dims), [=](Model&, Origin origin) -> UseLayer {
            return origin == Origin::constructed ? UseLayer(use) : nullptr;
          }};
}

/// A layer that maps columns, or a vector, one by one.
template <class Make>
LayerCase map(std::string name, unsigned rows, unsigned outputs, const Make& make) {
  LayerCase each = entry(std::move(name), rows, {Dim({outputs, 3}), Dim({outputs})}, make,
                         [](const auto& layer, const Expression& xs) -> std::vector<Expression> {
                           return {layer(xs), layer(pick(xs, 0, 1))};
                         });
  each.by_column = true;
  return each;
}

// ----------------------------------------------------------------------------------- results

inline void append(std::vector<Expression>& all, const Expression& x) { all.push_back(x); }
inline void append(std::vector<Expression>& all, const CellState& state) {
  all.insert(all.end(), {state.h, state.c});
}
template <class T>
inline void append(std::vector<Expression>& all, const std::vector<T>& several) {
  for (const T& each : several) append(all, each);
}
template <class State>
inline void append(std::vector<Expression>& all, const States<State>& states) {
  append(all, states.all());
}
template <class... T>
std::vector<Expression> list(const T&... results) {
  std::vector<Expression> all;
  (append(all, results), ...);
  return all;
}

// ---------------------------------------------------------------------------- what layers read

inline unsigned count_of(const Expression& xs) { return xs.dim().cols(); }
inline Expression first_of(const Expression& xs) { return pick(xs, 0, 1); }
inline Expression last_of(const Expression& xs) { return pick(xs, count_of(xs) - 1, 1); }

/// As many numbers as there are columns, below `limit`; some come twice.
inline Rows numbers_of(const Expression& xs, unsigned limit) {
  Rows numbers(count_of(xs));
  for (unsigned i = 0; i < numbers.size(); ++i) numbers[i] = (i * i + 1) % limit;
  return numbers;
}

/// The first word is the root, the second and the third are its children, the third has all others.
inline std::vector<unsigned> heads_of(unsigned words) {
  std::vector<unsigned> heads(words);
  for (unsigned word = 0; word < words; ++word) heads[word] = std::min(word, word < 3 ? 1u : 3u);
  return heads;
}

/// Entries of pretrained encoders and of structured outputs.
void add_encoders(std::vector<LayerCase>& all);
void add_structured(std::vector<LayerCase>& all);

}  // namespace dynet_like::nn::layer_entries
