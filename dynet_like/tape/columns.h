// Columns as minibatch elements: matrices with different numbers of columns in one batch.
#pragma once

#include <optional>

#include "dynet_like/tape/tape.h"

namespace dynet_like::detail {

class TapeWriter;

/// Records an op that does the same to every column (Op::by_column) with each column as a minibatch
/// element, so that the number of columns is not part of the node's type. Returns nothing if the
/// inputs stay as they are: for vectors, for parameters alone, for matrices of the graph's own that
/// all columns need, and for columns of few elements. Throws ShapeError if the op does not accept
/// these inputs.
std::optional<ValueId> add_by_column(TapeWriter& writer, const OpCall& call);

/// Throws ShapeError unless inputs with any number of columns (Op::open_inputs) have as many
/// columns as the first integer of every item says, since kernels read as many.
void check_open_inputs(const Tape& tape, const OpCall& call);
/// Whether nodes with inputs of these shapes may be recorded so; other facts decide then.
bool may_go_by_column(const Op& op, std::span<const Dim> inputs,
                      std::span<const std::uint32_t> attributes);

}  // namespace dynet_like::detail
