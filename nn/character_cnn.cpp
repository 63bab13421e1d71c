// CharacterCNN: per width a convolution, and the largest values of its outputs.
#include "nn/character_cnn.h"

#include <algorithm>
#include <cmath>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

namespace {

unsigned checked(unsigned characters, const std::vector<CharacterFilters>& filters) {
  if (characters == 0) throw ShapeError("[CharacterCNN] need at least 1 character; got 0");
  if (filters.empty()) throw UsageError("[CharacterCNN] need at least 1 width; got 0");
  return characters;
}

}  // namespace

CharacterCNN::CharacterCNN(ParameterCollection& model, unsigned characters, unsigned size,
                           const std::vector<CharacterFilters>& filters, Activation activation,
                           const std::string& name)
    : characters_(checked(characters, filters)),
      own_(model.add_subcollection(name)),
      embedding_(own_, characters + 1, size, "characters"),  // the last row is for both ends
      activation_(activation) {
  unsigned widest = 0;
  for (const CharacterFilters& each : filters) {
    widest = std::max(widest, each.width);
    const float scale = std::sqrt(6.0f / static_cast<float>(size * each.width + each.count));
    const Parameter weights =
        own_.add_parameters({size, each.width, each.count}, ParameterInitUniform(scale), "F");
    filters_.push_back({weights, own_.add_parameters({each.count}, ParameterInitConst(0), "b")});
  }
  ends_ = widest / 2;
}

Expression CharacterCNN::operator()(ComputationGraph& graph,
                                    std::span<const std::uint32_t> word) const {
  if (word.empty()) throw UsageError("[CharacterCNN] need at least 1 character; got 0");
  std::vector<std::uint32_t> characters(ends_, characters_);
  for (const std::uint32_t character : word) {
    if (character >= characters_) {
      throw UsageError("[CharacterCNN] need characters below " + std::to_string(characters_) +
                       "; got " + std::to_string(character));
    }
    characters.push_back(character);
  }
  characters.insert(characters.end(), ends_, characters_);
  const Expression columns = embedding_.columns(graph, characters);
  std::vector<Expression> outputs;
  for (const Filters& each : filters_) {
    const Expression sums = filter1d_narrow(columns, parameter(graph, each.weights));
    outputs.push_back(activation_(max_dim(sums, 1) + parameter(graph, each.bias)));
  }
  return outputs.size() == 1 ? outputs[0] : concatenate(outputs);
}

unsigned CharacterCNN::outputs() const {
  unsigned count = 0;
  for (const Filters& each : filters_) count += each.bias.dim()[0];
  return count;
}

}  // namespace dynet_like::nn
