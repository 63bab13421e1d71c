// CharacterCNN: for each width a convolution, and the maxima of its outputs.
#include "nn/character_cnn.h"

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/conv1d.h"

namespace dynet_like::nn {

namespace {

unsigned checked(unsigned characters, const std::vector<CharacterFilters>& filters) {
  if (characters == 0) throw ShapeError("[CharacterCNN] need at least 1 character; got 0");
  if (filters.empty()) throw UsageError("[CharacterCNN] need at least 1 width; got 0");
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
    const Expression sums = convolve(each.weights, each.bias, columns, each.width);
    outputs.push_back(activation_(max_dim(sums, 1)));
  }
  return outputs.size() == 1 ? outputs[0] : concatenate(outputs);
}

unsigned CharacterCNN::outputs() const {
  unsigned count = 0;
  for (const Filters& each : filters_) count += each.bias.dim()[0];
  return count;
}

}  // namespace dynet_like::nn
