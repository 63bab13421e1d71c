// CharacterCNN: a word as a vector, from windows of its characters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/activation.h"
#include "nn/embedding.h"

namespace dynet_like::nn {

/// So many filters that see so many characters that follow each other.
struct CharacterFilters {
  unsigned width = 3, count = 32;
};

struct CharacterCNNOptions {
  std::vector<CharacterFilters> filters = {CharacterFilters()};
  Activation activation = tanh;
  std::string name = {};
};

/// Filters of several widths over the vectors of a word's characters, for every filter its largest
/// value in the word, and an activation of that (Kim et al. 2016, section 2.2; tanh of the largest
/// is the largest tanh). At both ends of the word a character of its own stands as often as half of
/// the widest filter says, rounded down.
class CharacterCNN {
 public:
  /// Adds the Embedding "characters", and per width the filters "F" {count, width * size} and the
  /// bias "b" ("F_1", "b_1" for the second width, and so on), to a subcollection of `model`. Throws
  /// ShapeError for size 0, UsageError for no filters and for a width above 16.
  CharacterCNN(ParameterCollection& model, unsigned characters, unsigned size,
               const CharacterCNNOptions& options = {});

  // To move is to copy: it never has no filters.
  CharacterCNN(const CharacterCNN&) = default;
  CharacterCNN& operator=(const CharacterCNN&) = default;

  /// Shapes: {outputs}. Throws UsageError for a word without characters, or with one that is not
  /// there.
  Expression operator()(ComputationGraph& graph, ListOf<std::uint32_t> word) const;

  /// The number of all filters.
  unsigned outputs() const;

 private:
  struct Filters {
    unsigned width;
    Parameter weights, bias;
  };

  Expression sums_of_windows(const Filters& filters, const Expression& columns) const;

  unsigned characters_, ends_;
  ParameterCollection own_;  // has the parameters of the layers below
  Embedding embedding_;
  std::vector<Filters> filters_;
  Activation activation_;
};

}  // namespace dynet_like::nn
