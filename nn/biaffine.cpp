// Biaffine scorers: products of all pairs, and sums over given pairs.
#include "nn/biaffine.h"

#include <cmath>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"

namespace dynet_like::nn {

BiaffineArcs::BiaffineArcs(ParameterCollection& model, unsigned inputs,
                           const LayerOptions& options) {
  ParameterCollection own = add_layer(model, options.name, "biaffine_arcs");
  weights_ = own.add_parameters({inputs, inputs}, "U");
  bias_ = own.add_parameters({inputs}, ParameterInitConst(0), "u");
}

Expression BiaffineArcs::operator()(const Expression& heads, const Expression& dependants) const {
  for (const Expression& words : {heads, dependants}) {
    check_input("BiaffineArcs", words, bias_.dim()[0], weights_.get_storage(), true);
  }
  return transpose(heads) * affine_transform({bias_, weights_, dependants});
}

BiaffineLabels::BiaffineLabels(ParameterCollection& model, unsigned inputs, unsigned labels,
                               const LayerOptions& options) {
  ParameterCollection own = add_layer(model, options.name, "biaffine_labels");
  // Initialises the matrix of each label separately.
  const float scale = std::sqrt(3.0f / static_cast<float>(inputs));
  weights_ = own.add_parameters({inputs * labels, inputs}, ParameterInitUniform(scale), "U");
  head_weights_ = own.add_parameters({labels, inputs}, "V");
  dependant_weights_ = own.add_parameters({labels, inputs}, "W");
  bias_ = own.add_parameters({labels}, ParameterInitConst(0), "b");
}

Expression BiaffineLabels::operator()(const Expression& heads, const Expression& dependants) const {
  for (const Expression& words : {heads, dependants}) {
    check_input("BiaffineLabels", words, head_weights_.dim()[1], weights_.get_storage(), true);
  }
  const Dim& dim = heads.dim();
  if (dim.single_batch() != dependants.dim().single_batch()) {
    throw ShapeError("[BiaffineLabels] need as many heads as dependants; got " + to_string(dim) +
                     ' ' + to_string(dependants.dim()));
  }
  const unsigned inputs = dim.rows(), pairs = dim.cols(), labels = bias_.dim()[0];
  // Column j of the product has U_l d_j for all labels l, one after the other.
  const Expression products = weights_ * dependants;
  const Dim by_label({inputs, labels, pairs}, products.dim().bd);
  const Expression both = sum_dim(
      cmult(reshape(products, by_label), reshape(heads, Dim({inputs, 1, pairs}, dim.bd))), {0});
  const Expression alone =
      affine_transform({bias_, head_weights_, heads, dependant_weights_, dependants});
  return reshape(both, alone.dim()) + alone;
}

Expression BiaffineLabels::all_pairs(const Expression& heads, const Expression& dependants) const {
  ComputationGraph& graph = heads.graph("BiaffineLabels");
  for (const Expression& words : {heads, dependants}) {
    check_input("BiaffineLabels", words, head_weights_.dim()[1], weights_.get_storage(), true);
  }
  const unsigned inputs = head_weights_.dim()[1], labels = bias_.dim()[0];
  const unsigned m = heads.dim().cols(), n = dependants.dim().cols();
  // Column j has U_l d_j + V_l' for all labels l: its product with a head has all terms of that
  // head.
  const Expression of_heads =
      reshape(transpose(parameter(graph, head_weights_)), {inputs * labels});
  const Expression products = affine_transform({of_heads, weights_, dependants});
  const Expression by_head =
      transpose(heads) * reshape(products, Dim({inputs, labels * n}, products.dim().bd));
  const Expression alone = affine_transform({bias_, dependant_weights_, dependants});
  return transpose(reshape(by_head, Dim({m, labels, n}, by_head.dim().bd)), {1, 0, 2}) +
         reshape(alone, Dim({labels, 1, n}, alone.dim().bd));
}

}  // namespace dynet_like::nn
