// Columns as minibatch elements: matrices of different numbers of columns in one batch.
#pragma once

#include <optional>

#include "dynet_like/tape/tape.h"

namespace dynet_like::detail {

class TapeWriter;

/// Records an op that does the same to every column (Op::by_column) with each column as a minibatch
/// element, so that the number of columns is no part of the node's type. Nothing if the inputs stay
/// as they are: vectors, parameters alone, matrices of the graph's own that all columns need,
/// columns that are few elements. Throws ShapeError if the op does not take these inputs.
std::optional<ValueId> add_by_column(TapeWriter& writer, const OpCall& call);

/// Throws ShapeError unless inputs with any number of columns (Op::open_inputs) have as many as the
/// first integer of every item says: kernels read so many.
void check_open_inputs(const Tape& tape, const OpCall& call);
/// Whether a node with inputs of these shapes may be taken so: what else they are then decides.
bool may_go_by_column(const Op& op, std::span<const Dim> inputs,
                      std::span<const std::uint32_t> attributes);

}  // namespace dynet_like::detail
