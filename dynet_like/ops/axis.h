// What ops along one dimension have in common: attribute 0 is the dimension.
#pragma once

#include "dynet_like/ops/op.h"

namespace dynet_like::ops {

using Inputs = std::span<const Dim>;
using Attributes = std::span<const std::uint32_t>;

/// Throws ShapeError unless there are `count` attributes and the first is a dimension of the input.
void check_axis(std::string_view op, Inputs in, Attributes attributes, std::size_t count = 1);

/// The shape of the input without that dimension, or with size `size` along it.
Dim without_axis(Inputs in, Attributes attributes);
Dim with_axis(Inputs in, Attributes attributes, unsigned size);

/// An op with one input, whose columns batch unless the dimension is the last one. The caller adds
/// the shape rule. `cost`: floating-point operations per element of the input.
Op along_axis(std::string_view name, std::string_view formula, Needs needs,
              double (*cost)(const Signature&));
template <int per_element>
double cost_per_element(const Signature& type) {
  return per_element * static_cast<double>(type.inputs[0].size());
}

}  // namespace dynet_like::ops
