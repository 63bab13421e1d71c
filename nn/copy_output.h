// CopyOutput: a decoder's distribution over words, which it generates or copies from the source.
#pragma once

#include <string>
#include <vector>

#include "nn/attention.h"

namespace dynet_like::nn {

struct CopyOutputOptions {
  /// The size of the mean that attention returns. It has no default.
  unsigned means = 0;
  std::string name = {};
};

/// The output of a pointer-generator (See et al. 2017): P = g softmax(W s + V m + b) + (1 - g)
/// copied, for the state s of a decoder and its attention to the source: the mean m, and weights.
/// `copied` has for each word the sum of the weights of its places in the source. The gate g =
/// sigmoid(w s + v m + c) uses one more row of the same maps.
class CopyOutput {
 public:
  /// Adds its parameters "W", "V" and "b", with a last row for the gate, to a subcollection of
  /// `model`. Throws ShapeError for size 0, UsageError without `means`.
  CopyOutput(ParameterCollection& model, unsigned states, unsigned words,
             const CopyOutputOptions& options);

  /// ln P of all words; source[i] is the word of weight i. Numbers from `words` on are words of
  /// this source alone, which it copies but cannot generate (Gu et al. 2016): SourceVocabulary
  /// numbers them. Shapes: {states} -> {words}, or {number of all words} with words of the source's
  /// own. Throws ShapeError unless sizes fit, UsageError for a number of words + the source's
  /// length or more.
  Expression operator()(const Expression& state, const Attended& found,
                        const std::vector<unsigned>& source) const;
  /// -ln P of a word. Sources with any number of own words share batches. Shapes: {states} -> {1}.
  /// Throws UsageError for a word that is neither in the vocabulary nor in the source.
  Expression loss(const Expression& state, const Attended& found,
                  const std::vector<unsigned>& source, unsigned word) const;

 private:
  /// ln P of all words and of `more` further ones, which can only be copied.
  Expression log_probabilities(const Expression& state, const Attended& found,
                               const std::vector<unsigned>& source, unsigned more) const;

  unsigned words_;
  Parameter state_weights_, mean_weights_, bias_;
};

}  // namespace dynet_like::nn
