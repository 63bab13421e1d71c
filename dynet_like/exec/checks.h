// Modes that check every batch when it runs.
#pragma once

#include <functional>
#include <string>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Recomputes a batch item by item. Throws NumericError at the first number whose bits differ.
void verify_forward(RunState& run, const Batch& batch);
/// The same for recursions, node by node. Backward passes of recursions are not compared.
void verify_recursions(RunState& run, const Batch& batch);
/// The same for a backward call, before it runs. `nodes` are those that take part.
void verify_backward(RunState& run, const BackwardCall& call, Kernels::Backward kernel,
                     std::span<const NodeRef> nodes);

/// Says who has an element, by its number among those that are checked, which becomes its number
/// there.
using OwnerOfElement = std::function<std::string(std::size_t& element)>;
/// Throws NumericError, with `what` and its owner, at the first of n elements that is not finite.
void check_finite(const CommonState& common, const char* what, DType dtype, const std::byte* values,
                  std::size_t n, const OwnerOfElement& owner);
/// Throws NumericError at the first value that is not finite.
void check_values(const RunState& run, const Batch& batch);
/// Throws NumericError if a node's gradient is not finite.
void check_gradient(const RunState& run, NodeRef ref, const std::byte* gradient);

}  // namespace dynet_like::detail
