// DyNet's c2w.h: words from their characters.
#pragma once

#include <unordered_map>
#include <vector>

#include "dynet/lstm.h"

namespace dynet {

/// What two LSTMs have read of a word's characters, from left to right and from right to left, one
/// behind the other (Ling et al. 2015, without the linear map behind it).
struct C2WBuilder {
  /// Characters are 0 to vocab_size - 1.
  explicit C2WBuilder(int vocab_size, unsigned layers, unsigned input_dim, unsigned hidden_dim,
                      ParameterCollection& m);

  void new_graph(ComputationGraph* cg);
  /// A word that has been read in this graph is not read again. Shapes: {2 hidden}. Throws
  /// UsageError for a word without characters, and for one that is no character.
  VariableIndex add_word(int word_id, const std::vector<int>& chars, ComputationGraph* cg);
  ParameterCollection& get_parameter_collection() { return local_model; }

  ParameterCollection local_model;
  LSTMBuilder fc2w, rc2w;
  LookupParameter p_lookup;
  std::unordered_map<int, VariableIndex> words;  ///< those of this graph
};

}  // namespace dynet
