// The common parts of ops along one dimension.
#include "dynet_like/ops/axis.h"
#include "dynet_like/core/counted.h"

namespace dynet_like::ops {

void check_axis(std::string_view op, Inputs in, Attributes attributes, std::size_t count) {
  if (attributes.size() != count) {
    throw_shape_error(op,
                      detail::counted(count, "attribute") +
                          ", the first of them a dimension, not " +
                          std::to_string(attributes.size()),
                      in);
  }
  if (attributes[0] >= in[0].nd) {
    throw_shape_error(op, "an existing dimension, not dimension " + std::to_string(attributes[0]),
                      in);
  }
}

Dim without_axis(Inputs in, Attributes attributes) {
  Dim result = in[0];
  result.delete_dim(attributes[0]);
  return result;
}

Dim with_axis(Inputs in, Attributes attributes, unsigned size) {
  Dim result = in[0];
  result.d[attributes[0]] = size;
  return result;
}

Op along_axis(std::string_view name, std::string_view formula, Needs needs,
              double (*cost)(const Signature&)) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.gradient.needs = needs;
  op.batching.by_column = [](unsigned, unsigned rank, Attributes a) {
    return !a.empty() && a[0] + 1 < rank;
  };
  op.cost = cost;
  return op;
}

}  // namespace dynet_like::ops
