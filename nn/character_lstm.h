// CharacterLSTM: a word as a vector, from its characters read from both ends.
#pragma once

#include <cstdint>
#include <string>

#include "nn/bidirectional.h"
#include "nn/embedding.h"

namespace dynet_like::nn {

struct CharacterLSTMOptions {
  /// The size of an LSTM's states. It has no default.
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

  /// Shapes: {2 * hidden}. Throws UsageError for a word without characters, or with one that is not
  /// there.
  Expression operator()(ComputationGraph& graph, ListOf<std::uint32_t> word) const;

  /// 2 * hidden.
  unsigned outputs() const { return 2 * lstm_.hidden(); }

 private:
  ParameterCollection own_;  // has the parameters of the layers below
  Embedding embedding_;
  BidirectionalLSTM lstm_;
};

}  // namespace dynet_like::nn
