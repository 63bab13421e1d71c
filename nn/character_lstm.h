// CharacterLSTM: a vector for a word, from its characters read in both directions.
#pragma once

#include <cstdint>
#include <string>

#include "nn/bidirectional.h"
#include "nn/embedding.h"

namespace dynet_like::nn {

struct CharacterLSTMOptions {
  /// The size of the states of each LSTM. It has no default.
  unsigned hidden = 0;
  std::string name = {};
};

/// The final states of a bidirectional LSTM over the vectors of a word's characters (Lample
/// et al. 2016).
class CharacterLSTM {
 public:
  /// Adds the Embedding "characters" and the layer "lstm" to a subcollection of `model`. Throws
  /// ShapeError for size 0, UsageError without `hidden`.
  CharacterLSTM(ParameterCollection& model, unsigned characters, unsigned size,
                const CharacterLSTMOptions& options);

  /// Shapes: {2 * hidden}. Throws UsageError for a word without characters, or with a number that
  /// is too large.
  Expression operator()(ComputationGraph& graph, ListOf<std::uint32_t> word) const;

  /// The size of the vector: 2 * hidden.
  unsigned outputs() const { return 2 * lstm_.hidden(); }

 private:
  ParameterCollection own_;  // with the parameters of the members below
  Embedding embedding_;
  BidirectionalLSTM lstm_;
};

}  // namespace dynet_like::nn
