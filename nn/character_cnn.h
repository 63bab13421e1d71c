// CharacterCNN: a vector for a word, from windows of its characters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/activation.h"
#include "nn/embedding.h"

namespace dynet_like::nn {

/// `count` filters over `width` consecutive characters.
struct CharacterFilters {
  unsigned width = 3, count = 32;
};

struct CharacterCNNOptions {
  std::vector<CharacterFilters> filters = {CharacterFilters()};
  Activation activation = tanh;
  std::string name = {};
};

/// Applies filters of several widths to the vectors of a word's characters, takes the maximum of
/// every filter over the word, and applies the activation to that (Kim et al. 2016, section 2.2;
/// tanh of the maximum is the maximum of tanh). Both ends of the word are padded with a special
/// character: half the width of the widest filter, rounded down.
class CharacterCNN {
 public:
  /// Adds the Embedding "characters", and for each width the filters "F" {count, width * size} and
  /// the bias "b" ("F_1", "b_1" for the second width, and so on), to a subcollection of `model`.
  /// Throws ShapeError for size 0, UsageError for no filters.
  CharacterCNN(ParameterCollection& model, unsigned characters, unsigned size,
               const CharacterCNNOptions& options = {});

  // Moving copies, so that a moved-from object still has its filters.
  CharacterCNN(const CharacterCNN&) = default;
  CharacterCNN& operator=(const CharacterCNN&) = default;

  /// Shapes: {outputs}. Throws UsageError for a word without characters, or with a number that is
  /// too large.
  Expression operator()(ComputationGraph& graph, ListOf<std::uint32_t> word) const;

  /// The number of all filters.
  unsigned outputs() const;

 private:
  struct Filters {
    unsigned width;
    Parameter weights, bias;
  };

  unsigned characters_, ends_;
  ParameterCollection own_;  // with the parameters of the members below
  Embedding embedding_;
  std::vector<Filters> filters_;
  Activation activation_;
};

}  // namespace dynet_like::nn
