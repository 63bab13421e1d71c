// Columns as minibatch elements: matrices of different numbers of columns in one batch.
#pragma once

#include <optional>

#include "dynet_like/tape/tape.h"

namespace dynet_like::detail {

/// What an op that does the same to every column (Op::by_column) gets in place of these inputs:
/// each column as a minibatch element. The number of columns is then no part of the node's type.
struct ByColumn {
  std::vector<ValueId> inputs;
  std::vector<std::uint32_t> integers;
  std::vector<double> reals;
  Dim result;  ///< the shape that the result is to have, with the minibatch
  /// There are no inputs here, since one column or one matrix serves several minibatch elements:
  /// every element is to be recorded by itself.
  bool splits = false;
};

/// Nothing if the inputs stay as they are: vectors, parameters alone, matrices of the graph's own
/// that all columns need, columns that are few elements. Throws ShapeError if the op does not take
/// these inputs.
std::optional<ByColumn> by_column(Tape& tape, const Op& op, std::span<const ValueId> inputs,
                                  std::span<const std::uint32_t> attributes,
                                  const Numbers& numbers);

/// Throws ShapeError unless inputs with any number of columns (Op::open_inputs) have as many as the
/// first integer of every item says: kernels read so many.
void check_open_inputs(const Tape& tape, const Op& op, std::span<const ValueId> inputs,
                       std::span<const std::uint32_t> attributes, const Numbers& numbers);
/// Whether a node with inputs of these shapes may be taken so: what else they are then decides.
bool may_go_by_column(const Op& op, std::span<const Dim> inputs,
                      std::span<const std::uint32_t> attributes);

}  // namespace dynet_like::detail
