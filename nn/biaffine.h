// Biaffine scorers: how likely one word is the head of another, and with which label.
#pragma once

#include "dynet_like/graph/expression.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

/// The score of every head for every dependant, h' U d + h' u (Dozat and Manning 2017, equation 6).
/// The first term scores the pair, the second how likely the head has any dependant.
class BiaffineArcs {
 public:
  /// Adds its parameters "U" and "u" to a subcollection of `model`. Throws ShapeError for size 0.
  BiaffineArcs(ParameterCollection& model, unsigned inputs, const LayerOptions& options = {});

  /// A column of scores per dependant. Shapes: {inputs, m} {inputs, n} -> {m, n}; m is n + 1 if the
  /// first head is a root. Throws ShapeError unless they fit.
  Expression operator()(const Expression& heads, const Expression& dependants) const;

 private:
  Parameter weights_, bias_;
};

/// The scores of all labels of given pairs, h' U_l d + V_l h + W_l d + b_l for label l (Dozat and
/// Manning 2017, equation 3).
class BiaffineLabels {
 public:
  /// Adds its parameters "U" {inputs * labels, inputs}, label by label, "V", "W" {labels, inputs}
  /// and "b" {labels} to a subcollection of `model`. Throws ShapeError for size 0.
  BiaffineLabels(ParameterCollection& model, unsigned inputs, unsigned labels,
                 const LayerOptions& options = {});

  /// Column j has the scores of head j with dependant j. Shapes: {inputs} {inputs} -> {labels};
  /// {inputs, n} {inputs, n} -> {labels, n}. Throws ShapeError unless they fit.
  Expression operator()(const Expression& heads, const Expression& dependants) const;
  /// The scores of every head with every dependant, as best_labels() takes them. Shapes: {inputs,
  /// m} {inputs, n} -> {labels, m, n}. Throws ShapeError unless they fit.
  Expression all_pairs(const Expression& heads, const Expression& dependants) const;

 private:
  Parameter weights_, head_weights_, dependant_weights_, bias_;
};

}  // namespace dynet_like::nn
