// CharacterCNN: for each width a convolution, and the maxima of its outputs.
#include "nn/character_cnn.h"

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

namespace {

constexpr unsigned kMostProducts = 16;  // of an affine_transform

unsigned checked(unsigned characters, const std::vector<CharacterFilters>& filters) {
  if (characters == 0) throw ShapeError("[CharacterCNN] need at least 1 character; got 0");
  if (filters.empty()) throw UsageError("[CharacterCNN] need at least 1 width; got 0");
  for (const CharacterFilters& each : filters) {
    if (each.width > kMostProducts) {
      throw UsageError("[CharacterCNN] need widths of at most " + std::to_string(kMostProducts) +
                       "; got " + std::to_string(each.width));
    }
  }
  return characters;
}

}  // namespace

CharacterCNN::CharacterCNN(ParameterCollection& model, unsigned characters, unsigned size,
                           const CharacterCNNOptions& options)
    : characters_(checked(characters, options.filters)),
      own_(add_layer(model, options.name, "character_cnn")),
      embedding_(own_, characters + 1, size, {.name = "characters"}),  // the last: padding
      activation_(options.activation) {
  unsigned widest = 0;
  for (const CharacterFilters& each : options.filters) {
    widest = std::max(widest, each.width);
    const Parameter weights = own_.add_parameters({each.count, each.width * size}, "F");
    const Parameter bias = own_.add_parameters({each.count}, ParameterInitConst(0), "b");
    filters_.push_back({each.width, weights, bias});
  }
  ends_ = widest / 2;
}

Expression CharacterCNN::operator()(ComputationGraph& graph, ListOf<std::uint32_t> word) const {
  if (word.size() == 0) throw UsageError("[CharacterCNN] need at least 1 character; got 0");
  std::vector<std::uint32_t> characters(ends_, characters_);
  for (const std::uint32_t character : word) {
    if (character >= characters_) {
      throw UsageError("[CharacterCNN] need characters below " + std::to_string(characters_) +
                       "; got " + detail::index_text(character));
    }
    characters.push_back(character);
  }
  characters.insert(characters.end(), ends_, characters_);
  const Expression columns = embedding_.columns(graph, characters);
  std::vector<Expression> outputs;
  for (const Filters& each : filters_) {
    outputs.push_back(activation_(max_dim(sums_of_windows(each, columns), 1)));
  }
  return outputs.size() == 1 ? outputs[0] : concatenate(outputs);
}

// The first characters of all windows are a range of columns, the second characters the range
// shifted by one, and so on. So each place in the window takes one product, without copies.
Expression CharacterCNN::sums_of_windows(const Filters& filters, const Expression& columns) const {
  ComputationGraph& graph = columns.graph("CharacterCNN");
  const unsigned size = columns.dim().rows(), windows = columns.dim().cols() - filters.width + 1;
  const Expression weights = parameter(graph, filters.weights);
  std::vector<Expression> terms = {filters.bias};
  for (unsigned place = 0; place < filters.width; ++place) {
    terms.push_back(pick_range(weights, place * size, (place + 1) * size, 1));
    terms.push_back(pick_range(columns, place, place + windows, 1));
  }
  return affine_transform(terms);
}

unsigned CharacterCNN::outputs() const {
  unsigned count = 0;
  for (const Filters& each : filters_) count += each.bias.dim()[0];
  return count;
}

}  // namespace dynet_like::nn
