// Vectors of words and sentences from those of pieces, and mixtures of layers.
#pragma once

#include <cstdint>
#include <span>

#include "dynet_like/graph/expression.h"
#include "dynet_like/params/parameter_collection.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

/// Which pieces stand for a word, or for a sentence.
enum class Pooling : std::uint8_t { first, mean };

/// A column for every word: the vector of its first piece, or the mean of its pieces; zeros for a
/// word without pieces. `word_of_piece` has the number of each piece's word, or -1 for pieces of
/// none, such as [CLS]. Shapes: {size, pieces} -> {size, words}. Throws UsageError unless there is
/// a number for every piece, they are below `words` and never decrease, and for no words.
Expression pool_words(const Expression& pieces, std::span<const std::int32_t> word_of_piece,
                      unsigned words, Pooling pooling = Pooling::first);

/// The vector of the first piece, such as [CLS], or the mean of all. Shapes: {size, pieces} ->
/// {size}.
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
