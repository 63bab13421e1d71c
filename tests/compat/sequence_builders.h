// All builders of sequences: how they are made, and their formulas in plain doubles.
#pragma once

#include <dynet/rnn.h>

#include "tests/compat/coupled_cells.h"
#include "tests/support/precompiled.h"

namespace dynet {

using BuilderPointer = std::unique_ptr<RNNBuilder>;

struct SequenceBuilder {
  using Make = BuilderPointer (*)(unsigned layers, unsigned inputs, unsigned hidden,
                                  ParameterCollection&);
  using Cell = PlainState (*)(const detail::LayeredBuilder&, unsigned layer, const Doubles& x,
                              const PlainState& before, unsigned step);

  std::string name;
  Make make, make_derived;            ///< the latter: of a class that is derived from it
  BuilderPointer (*make_empty)();     ///< may be null
  std::string own_name;               ///< of its collection
  std::vector<std::string> shapes;    ///< of a layer's parameters; x is the number of inputs
  Cell cell;                          ///< what a layer makes of an input and a state
  std::vector<unsigned> unread = {};  ///< parameters of a layer that nothing reads
  bool is_deep = false;  ///< upper layers read the input, too; the output is that of all
};

inline void PrintTo(const SequenceBuilder& each, std::ostream* out) { *out << each.name; }

const std::vector<SequenceBuilder>& sequence_builders();

/// p: X, H, b, with the gates i, f, o, c.
PlainState plain_vanilla_cell(const std::vector<Parameter>& p, const Doubles& x,
                              const PlainState& before, double forget_bias);

}  // namespace dynet
