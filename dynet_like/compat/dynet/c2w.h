// DyNet's c2w.h: vectors of words from their characters.
#pragma once

#include <unordered_map>
#include <vector>

#include "dynet/lstm.h"

namespace dynet {

/// The last outputs of two LSTMs that read a word's characters from left to right and from right to
/// left, concatenated (Ling et al. 2015, without its final linear map).
struct C2WBuilder {
  /// Characters are 0 to vocab_size - 1.
  explicit C2WBuilder(int vocab_size, unsigned layers, unsigned input_dim, unsigned hidden_dim,
                      ParameterCollection& m);

  void new_graph(ComputationGraph* cg);
  /// The vector of a word, computed once per graph. Shapes: {2 hidden}. Throws UsageError for a
  /// word without characters, and for an invalid character.
  VariableIndex add_word(int word_id, const std::vector<int>& chars, ComputationGraph* cg);
  ParameterCollection& get_parameter_collection() { return local_model; }

  ParameterCollection local_model;
  LSTMBuilder fc2w, rc2w;
  LookupParameter p_lookup;
  std::unordered_map<int, VariableIndex> words;  ///< of this graph
};

}  // namespace dynet
