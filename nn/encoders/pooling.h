// Vectors of words and sentences from those of pieces, and mixtures of layers.
#pragma once

#include <cstdint>
#include <span>

#include "dynet_like/graph/expression.h"
#include "dynet_like/params/parameter_collection.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

/// What stands for a word, or for a text, of the vectors of its pieces.
enum class Pooling : std::uint8_t {
  first,          ///< of a text [CLS], for example
  mean,           ///< the sum, divided by the number of pieces
  max,            ///< the largest number of each row
  mean_sqrt,      ///< the sum, divided by the root of the number of pieces
  weighted_mean,  ///< the mean with weights 1, 2, 3 and so on
  last
};

/// A column for every word, from its pieces; zeros for a word without pieces. `word_of_piece` has
/// the number of each piece's word, or -1 for pieces of none, such as [CLS]. Shapes: {size, pieces}
/// -> {size, words}. Throws UsageError unless there is a number for every piece, they are below
/// `words` and never decrease, and for no words.
Expression pool_words(const Expression& pieces, std::span<const std::int32_t> word_of_piece,
                      unsigned words, Pooling pooling = Pooling::first);

/// The vector of a text from all its pieces. Shapes: {size, pieces} -> {size}.
Expression pool_sentence(const Expression& pieces, Pooling pooling = Pooling::first);

/// A mixture of layers (Peters et al. 2018, equation 1): gamma times the sum of softmax(s)_k h_k,
/// where s and gamma are learned. Initially it is the mean.
class ScalarMix {
 public:
  /// Adds its parameters "s" and "gamma" to a subcollection of `model`. Throws ShapeError for 0
  /// layers.
  ScalarMix(ParameterCollection& model, unsigned layers, const LayerOptions& options = {});

  /// Shapes: as many {size, n} as there are layers -> {size, n}. Throws UsageError for another
  /// number, ShapeError unless their shapes are equal.
  Expression operator()(std::span<const Expression> layers) const;

 private:
  Parameter scores_, gamma_;
};

}  // namespace dynet_like::nn
