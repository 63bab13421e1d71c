// All builders of sequences: how they are made, and their formulas in plain doubles.
#pragma once

#include <dynet/rnn.h>

#include "tests/compat/builders.h"
#include "tests/support/precompiled.h"

namespace dynet {

using BuilderPointer = std::unique_ptr<RNNBuilder>;

/// Of a layer: for the input, for the output and, if it has cells that gates see, for these.
using Masks = std::vector<std::vector<Expression>>;

/// What a formula needs to know beside its input and state.
struct Step {
  unsigned number;
  Doubles cell_mask = {};  ///< of cells where gates see them, if there is one
};

struct SequenceBuilder {
  using Make = BuilderPointer (*)(unsigned layers, unsigned inputs, unsigned hidden,
                                  ParameterCollection&);
  using Cell = PlainState (*)(const detail::LayeredBuilder&, unsigned layer, const Doubles& x,
                              const PlainState& before, const Step&);

  std::string name;
  Make make, make_derived;            ///< the latter: of a class that is derived from it
  BuilderPointer (*make_empty)();     ///< may be null
  std::string own_name;               ///< of its collection
  std::vector<std::string> shapes;    ///< of a layer's parameters; x is the number of inputs
  Cell cell;                          ///< what a layer makes of an input and a state
  std::vector<unsigned> unread = {};  ///< parameters of a layer that nothing reads
  /// Sets the rates for inputs and for outputs and cells, and draws masks, if batch_size is not 0;
  /// null for builders without masks.
  const Masks& (*masks)(RNNBuilder&, float of_inputs, float of_outputs,
                        unsigned batch_size) = nullptr;
  bool is_deep = false;  ///< upper layers read the input, too; the output is that of all
};

inline void PrintTo(const SequenceBuilder& each, std::ostream* out) { *out << each.name; }

const std::vector<SequenceBuilder>& sequence_builders();

}  // namespace dynet
